"""Verdicts on share groups (KIP-932), from the progress that the brokers record. Pure.

A share group commits no offsets, so none of `stream.health.rules` applies to it. What is known of it is written by the
brokers into `__share_group_state`: a start offset per partition, and which records after it are finished or were
returned. Which records a member holds now is in the memory of the leader only, so no verdict depends on it.
"""
