"""Expiry of offsets by the broker's rules: prediction, check, and cause of a removal."""
