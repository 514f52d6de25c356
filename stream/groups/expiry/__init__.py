"""Offset expiration by the broker's rules: prediction, check of predictions, and cause of a removal."""
