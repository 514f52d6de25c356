"""Bounded requests to the cluster that make verdicts more exact: log tails, open transactions, offsets by time."""
