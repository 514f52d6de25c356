"""The demo: ten groups with live traffic, lagwarden on the same broker, and the comparison with Kafka's own tool.

Belongs here: the groups of the demo, the traffic that tests share with it, and what the demo prints.
"""
