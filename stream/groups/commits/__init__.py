"""Offset commits: canonical keys, runs, slots and offset tombstones."""
