"""Chooses which series are exposed, within the series budget."""
