"""Selects the series of `/metrics`, within the series budget."""
