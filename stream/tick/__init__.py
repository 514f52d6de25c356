"""Evaluates all groups once per tick, in the order of `run_tick`."""
