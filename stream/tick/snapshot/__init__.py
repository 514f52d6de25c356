"""Builds the read model that all outputs show."""
