"""Builds the columns that health evaluation reads, one row per group partition."""
