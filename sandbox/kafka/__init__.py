"""A Kafka broker on this machine, from pinned jars, and Kafka's own command-line tools.

Belongs here: what fetches jars, starts Java and brokers, creates topics, or runs one of Kafka's tools.
"""
