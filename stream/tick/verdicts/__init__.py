"""Runs the evaluation each tick; keeps verdict history and what must survive a restart."""
