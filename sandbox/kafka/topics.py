"""Creates topics, and waits until they can be written to."""

from collections.abc import Mapping, Sequence

from confluent_kafka.admin import AdminClient, NewTopic

from sandbox.waiting import LIMIT, wait_until


def create_topics(bootstrap: str, partitions: Mapping[str, int], config: Mapping[str, str] | None = None) -> None:
    """Create topics (name -> number of partitions) and wait until every partition has a leader.

    Raises KafkaException when a topic exists already, and TimeoutError when a partition has no leader in time.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    new_topics = [
        NewTopic(name, count, replication_factor=1, config=dict(config or {})) for name, count in partitions.items()
    ]
    for done in admin.create_topics(new_topics).values():
        done.result(LIMIT)
    wait_until(lambda: _have_leaders(admin, partitions), f"leaders of {', '.join(partitions)}")


def create_topic_led_by(bootstrap: str, topic: str, *, leader: int, followers: Sequence[int] = ()) -> None:
    """Create a topic with one partition on these brokers, given by node number, and wait until all are in sync.

    Raises KafkaException, or TimeoutError when the replicas are not in sync in time.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    replicas = [leader, *followers]
    admin.create_topics([NewTopic(topic, num_partitions=1, replica_assignment=[replicas])])[topic].result(LIMIT)

    def in_sync() -> bool:
        found = admin.list_topics(topic, timeout=LIMIT).topics[topic].partitions.get(0)
        return found is not None and found.leader == leader and set(found.isrs) == set(replicas)

    wait_until(in_sync, f"broker {leader} to lead {topic}")


def _have_leaders(admin: AdminClient, partitions: Mapping[str, int]) -> bool:
    topics = admin.list_topics(timeout=LIMIT).topics
    return all(
        name in topics and [each.leader >= 0 for each in topics[name].partitions.values()] == [True] * count
        for name, count in partitions.items()
    )
