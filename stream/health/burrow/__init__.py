"""The rules of Burrow, evaluated over the same inputs for comparison."""
