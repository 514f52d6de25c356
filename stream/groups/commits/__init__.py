"""Commit runs: keys, slots, merged summaries and offset tombstones."""
