"""Measures a monitor of very many groups: a generated topic, a real process, the steps of one tick.

Benchmarks of single parts are in `bench`.
"""
