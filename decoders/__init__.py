"""Bytes to records to events. No Spark, no clock, no I/O but log files: a leaf."""
