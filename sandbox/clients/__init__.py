"""Real Kafka clients that tests and scenarios start, poll and stop: librdkafka in this process, Kafka's own in a JVM.

Belongs here: what joins a group, reads, commits or produces. What happens to which group is in the scenario packages.
"""
