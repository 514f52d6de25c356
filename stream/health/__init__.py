"""Lag and verdicts as pure functions over whole columns of (state, watermarks, now)."""
