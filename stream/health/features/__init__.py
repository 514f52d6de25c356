"""Columns computed from the inputs: lag, time lag, trends and histories. One concern per module."""
