"""Decoders for Kafka's internal topics: bytes to records to events.

No Spark, no clock, and no I/O except log files. Imports no other package of the product.
"""
