"""Commits and memberships hidden behind open transactions on `__consumer_offsets`, read from the log."""
