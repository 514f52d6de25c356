"""Histories of groups on a real broker, driven with real clients, and what must be found of each: ground truth."""
