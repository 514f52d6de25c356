"""Producers with a long transaction timeout."""

from confluent_kafka import Producer

from sandbox.waiting import LIMIT, eventually


def patient_producer(bootstrap: str, transactional_id: str) -> Producer:
    """Return a producer whose transactions do not time out within a test, even on a slow machine."""
    options = {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "log_level": 0}
    producer = Producer({**options, "transaction.timeout.ms": 600_000})
    eventually(lambda: producer.init_transactions(LIMIT))
    return producer
