"""Benchmarks that print a table and a ratio; not tests."""
