"""Rules about the log of a partition: its leader, its end, its start, and transactions in it."""
