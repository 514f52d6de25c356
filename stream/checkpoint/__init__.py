"""The checkpoint directory: its format, its owner, and whether it still fits the topic."""
