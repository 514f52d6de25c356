"""The proof of the verdicts: groups sick and healthy but odd, all alive at once, and what must be said of each when."""
