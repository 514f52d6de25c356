"""Executors in processes of their own: the settings of a cluster, the code that they get, and how many there are."""
