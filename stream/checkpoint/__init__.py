"""The checkpoint directory: its format, its lock, and the checks that it is consistent with the topic."""
