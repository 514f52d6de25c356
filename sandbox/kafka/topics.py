"""Making topics, and waiting until they can be written to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined] # its stubs do not re-export it

from sandbox.waiting import LIMIT, wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping


def create_topics(bootstrap: str, partitions: Mapping[str, int], config: Mapping[str, str] | None = None) -> None:
    """Create topics (name -> number of partitions) and wait until every partition has a leader.

    A topic that exists is an error of confluent_kafka (KafkaException), no leaders in time a TimeoutError.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    wanted = [NewTopic(name, count, config=dict(config or {})) for name, count in partitions.items()]
    for done in admin.create_topics(wanted).values():
        done.result(LIMIT)
    wait_until(lambda: _led(admin, partitions), f"leaders of {', '.join(partitions)}")


def _led(admin: AdminClient, partitions: Mapping[str, int]) -> bool:
    topics = admin.list_topics(timeout=LIMIT).topics
    return all(
        name in topics and [each.leader >= 0 for each in topics[name].partitions.values()] == [True] * count
        for name, count in partitions.items()
    )
