"""States and transitions of groups, and their stored history."""
