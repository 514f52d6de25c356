"""Producers whose transactions stay open for as long as a test needs."""

from __future__ import annotations

from confluent_kafka import Producer

from sandbox.waiting import LIMIT, eventually


def patient_producer(bootstrap: str, transactional_id: str) -> Producer:
    """Give a producer whose transactions may stay open for longer than a slow machine needs for a test."""
    options = {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "log_level": 0}
    producer = Producer({**options, "transaction.timeout.ms": 600_000})
    eventually(lambda: producer.init_transactions(LIMIT))
    return producer
