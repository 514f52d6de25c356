"""What is remembered of each row from tick to tick: where it pauses, how fast it reads, what it skips."""
