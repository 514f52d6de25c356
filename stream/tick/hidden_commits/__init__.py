"""Commits hidden behind open transactions on `__consumer_offsets`, fetched from the coordinators."""
