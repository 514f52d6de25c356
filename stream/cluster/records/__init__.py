"""The committed records of a topic: which offsets to read, the fetch loop over partitions, and records as columns."""
