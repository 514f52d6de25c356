"""The transactional producer of the sandbox's clients."""

from collections.abc import Mapping
from typing import Final

from confluent_kafka import Producer

from sandbox.clients.members import REQUEST_TIMEOUT, client_config

LONGEST_TIMEOUT_MS: Final = 900_000
"""The largest transaction timeout that brokers accept by default (`transaction.max.timeout.ms`)."""


def transactional_producer(
    bootstrap: str,
    transactional_id: str,
    *,
    timeout_ms: int = 60_000,
    settings: Mapping[str, str | int | float | bool] | None = None,
) -> Producer:
    """Return a producer with initialised transactions; the broker aborts a transaction that its id has left open.

    `timeout_ms` is the time after which the broker aborts a transaction, `settings` are librdkafka's. Raises
    KafkaException, for example while the coordinator is loading.
    """
    producer = Producer(
        {
            **client_config(bootstrap),
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
            **(settings or {}),
        }
    )
    producer.init_transactions(REQUEST_TIMEOUT)
    return producer
