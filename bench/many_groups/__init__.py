"""Measures a monitor over very many groups: a generated topic, a real process, one tick by its steps.

Benchmarks of single parts are in `bench`.
"""
