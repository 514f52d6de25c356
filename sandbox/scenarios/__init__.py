"""Histories of groups, driven with real clients on a real broker, and the transitions that must be found in each.

Belongs here: the catalogue of histories, their runner, the observers that are compared with Kafka's tools, recordings.
"""
