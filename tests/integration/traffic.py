"""Traffic of the integration tests: topics, commits of every kind of group, and queries of the cluster."""

import contextlib
import itertools
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from confluent_kafka import (
    OFFSET_INVALID,
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, OffsetSpec

from sandbox.kafka import tools
from sandbox.kafka.broker import create_topics
from sandbox.kafka.jars import BROKER
from stream.groups.placement import partition_for
from tests.support.processes import LIMIT, eventually, wait_until
from tests.support.producers import patient_producer
from tests.support.scrape import Place

OFFSETS_TOPIC: Final = "__consumer_offsets"
FAST_RETENTION: Final = {"log.retention.check.interval.ms": "300", "log.initial.task.delay.ms": "100"}
"""Properties of a broker that checks retention continuously."""
FAST_HEARTBEATS: Final = {
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "500",
}
"""Properties of a broker whose groups of the consumer protocol settle within a second instead of five."""


def groups_in(partition: int, partitions: int, stem: str) -> Iterator[str]:
    """Yield names of groups in this one of the partitions of the offsets topic."""
    named = (f"{stem}-{number}" for number in itertools.count())
    return (name for name in named if partition_for(name, partitions) == partition)


def make_topic(bootstrap: str, name: str, partitions: int, records: int = 10) -> None:
    """Create a topic with records; each partition has a different number, so that tests notice a mix-up."""
    create_topics(bootstrap, {name: partitions})
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for partition in range(partitions):
        for number in range(records + partition):
            producer.produce(name, str(number), partition=partition)
    assert producer.flush(LIMIT) == 0


@contextlib.contextmanager
def consumer(bootstrap: str, group: str, **options: str | int | bool) -> Iterator[Consumer]:
    """Return a consumer without auto-commit; it leaves its group at the end."""
    own = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "log_level": 0,
    }
    client = Consumer({**own, **{name.replace("_", "."): value for name, value in options.items()}})
    try:
        yield client
    finally:
        client.close()


def commit(bootstrap: str, group: str, topic: str, offsets: Mapping[int, int], times: int = 1) -> None:
    """Commit as a simple group does: offsets without membership. Each time writes one record per partition."""
    with consumer(bootstrap, group) as client:
        for _ in range(times):
            eventually(lambda: client.commit(offsets=places(topic, offsets), asynchronous=False))


def join_and_commit(client: Consumer, topic: str, offsets: Mapping[int, int]) -> None:
    """Join the group, wait for the partitions, and commit these offsets as a member."""
    client.subscribe([topic])

    def has_joined() -> bool:
        client.poll(0.05)
        return {each.partition for each in client.assignment()} >= offsets.keys()

    wait_until(has_joined, "the assignment", pause=0)
    eventually(lambda: client.commit(offsets=places(topic, offsets), asynchronous=False))


def begin_transaction(bootstrap: str, transactional_id: str) -> Producer:
    """Return a producer with an open transaction that lasts longer than a slow machine needs to start a monitor."""
    producer = patient_producer(bootstrap, transactional_id)
    producer.begin_transaction()
    return producer


def end_transaction(bootstrap: str, producer: Producer, *, commit: bool) -> None:
    """Commit or abort a producer's transaction, and wait until no transaction is open on the offsets topic.

    The coordinator answers before the markers are written; until then the last stable offsets stay where they are.
    """
    if commit:
        producer.commit_transaction(LIMIT)
    else:
        producer.abort_transaction(LIMIT)
    wait_until(lambda: offsets_ends(bootstrap) == high_watermarks(bootstrap), "the markers of the transaction")


def commit_in(producer: Producer, bootstrap: str, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    """Send offsets to a producer's open transaction; they count once it is committed."""
    with consumer(bootstrap, group) as client:
        metadata = client.consumer_group_metadata()
        eventually(lambda: producer.send_offsets_to_transaction(places(topic, offsets), metadata, LIMIT))


def write_raw(bootstrap: str, partition: int, records: Collection[tuple[bytes | None, bytes | None]]) -> list[str]:
    """Write records to the offsets topic without the group coordinator; return the errors of refused records."""
    # The only client id that a broker allows to write to an internal topic.
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": "__admin_client", "log_level": 0})
    refused: list[str] = []
    for key, value in records:
        producer.produce(
            OFFSETS_TOPIC,
            key=key,
            value=value,
            partition=partition,
            on_delivery=lambda error, _: refused.append(str(error)) if error else None,
        )
    assert producer.flush(LIMIT) == 0
    return refused


def offsets_ends(bootstrap: str) -> dict[int, int]:
    """Return the last stable offset of each partition of the offsets topic."""
    return _list_ends(bootstrap, IsolationLevel.READ_COMMITTED)


def high_watermarks(bootstrap: str) -> dict[int, int]:
    """Return the high watermark of each partition of the offsets topic."""
    return _list_ends(bootstrap, IsolationLevel.READ_UNCOMMITTED)


def _list_ends(bootstrap: str, isolation: IsolationLevel) -> dict[int, int]:
    admin = _admin(bootstrap)
    partitions = admin.list_topics(OFFSETS_TOPIC, timeout=LIMIT).topics[OFFSETS_TOPIC].partitions
    latest = {TopicPartition(OFFSETS_TOPIC, number): OffsetSpec.latest() for number in partitions}
    answers = admin.list_offsets(latest, isolation_level=isolation, request_timeout=LIMIT)
    return {place.partition: answer.result(LIMIT).offset for place, answer in answers.items()}


def set_topic(bootstrap: str, topic: str, config: Mapping[str, str]) -> None:
    entries = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in config.items()]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    admin = _admin(bootstrap)  # keep a reference: the answer needs its client
    admin.incremental_alter_configs([resource])[resource].result(LIMIT)


def expire_records(bootstrap: str, topic: str, partition: int) -> None:
    """Delete all records of the topic by retention, and wait until this partition is empty.

    Its offsets continue. The broker must check retention often (see FAST_RETENTION).
    """
    set_topic(bootstrap, topic, {"cleanup.policy": "delete", "retention.ms": "1"})
    place, admin = TopicPartition(topic, partition), _admin(bootstrap)

    def bound(of: OffsetSpec) -> int:
        return int(admin.list_offsets({place: of})[place].result(LIMIT).offset)

    wait_until(lambda: 0 < bound(OffsetSpec.earliest()) == bound(OffsetSpec.latest()), f"retention to empty {place}")
    set_topic(bootstrap, topic, {"cleanup.policy": "compact", "retention.ms": "-1"})


def topics_of(bootstrap: str) -> set[str]:
    """Return the topics of the cluster, including internal ones."""
    return set(_admin(bootstrap).list_topics(timeout=LIMIT).topics)


def tool_offsets_and_lags(bootstrap: str, version: str = BROKER) -> tuple[dict[Place, int], dict[Place, int]]:
    """Return committed offsets and lags of all groups from Kafka's own tool, for names that its table can show."""
    rows = [row for row in tools.describe_groups(bootstrap, version) if row.current_offset is not None]
    committed, lags = {}, {}
    for row in rows:
        assert row.topic is not None
        assert row.partition is not None
        place = (row.group, row.topic, row.partition)
        committed[place] = row.current_offset or 0
        if row.lag is not None:
            lags[place] = row.lag
    return committed, lags


def committed_at_broker(bootstrap: str, groups: Collection[str]) -> dict[Place, int]:
    """Return committed offsets from the group coordinator, for groups with any name."""
    admin = _admin(bootstrap)
    found: dict[Place, int] = {}
    for group in groups:
        # The client takes one group per call.
        answer = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(LIMIT)
        for each in answer.topic_partitions:
            if each.offset != OFFSET_INVALID:
                found[group, each.topic, each.partition] = each.offset
    return found


def delete_groups(bootstrap: str, groups: Collection[str]) -> None:
    """Delete groups, which must be without members."""
    admin = _admin(bootstrap)
    for group in groups:
        # One per call: with several, librdkafka leaves some unanswered.
        admin.delete_consumer_groups([group], request_timeout=LIMIT)[group].result(LIMIT)


def places(topic: str, offsets: Mapping[int, int]) -> list[TopicPartition]:
    """Return offsets of a topic as the client's type."""
    return [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]


def _admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def stop_reading(bootstrap: str, group: str) -> None:
    """Commit several times, one second apart, below the end offset, and then stop."""
    with consumer(bootstrap, group) as client:
        for offset in range(5):
            eventually(lambda offset=offset: client.commit(offsets=places("t", {0: offset}), asynchronous=False))
            time.sleep(1)


def write_history(bootstrap: str) -> None:
    """Create commits, members, a rewind, committed and aborted transactions, and a deleted group."""
    make_topic(bootstrap, "t", 3)
    for group in ("one", "two", "three"):
        commit(bootstrap, group, "t", {0: 5, 1: 6}, times=20)
    commit(bootstrap, "one", "t", {0: 2})
    with consumer(bootstrap, "classic") as client:
        join_and_commit(client, "t", {0: 1, 1: 1, 2: 1})
    with consumer(bootstrap, "modern", group_protocol="consumer") as client:
        join_and_commit(client, "t", {0: 1, 1: 1, 2: 1})
    producer = begin_transaction(bootstrap, "tx")
    commit_in(producer, bootstrap, "transactional", "t", {0: 7})
    end_transaction(bootstrap, producer, commit=True)
    producer.begin_transaction()
    commit_in(producer, bootstrap, "transactional", "t", {0: 99})
    end_transaction(bootstrap, producer, commit=False)
    commit(bootstrap, "deleted", "t", {0: 1})
    delete_groups(bootstrap, ["deleted"])
