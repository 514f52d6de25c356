"""The columns of the window that the rules read, and the history they are computed from."""
