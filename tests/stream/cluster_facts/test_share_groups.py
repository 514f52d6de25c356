"""Share groups: each poll reads their topic, and the lag on a real broker equals that of Kafka's tool."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import Producer

from decoders.log.batch import LogRecord
from decoders.tables import SHARE_STATE_TYPES, share
from sandbox.clients.java_clients import JavaClients
from sandbox.kafka.broker import create_topics
from sandbox.kafka.tools import table_rows
from sandbox.waiting import LIMIT, wait_until
from stream.cluster.partition_offsets import ENDS
from stream.cluster.records.ranges import OffsetRange
from stream.cluster.topology import read_topology
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import NotAuthorised, Unreachable
from stream.cluster_facts import share_groups
from stream.cluster_facts.share_groups import NAME, ShareGroups
from stream.cluster_facts.tables import Unknown
from stream.groups.placement import InstancePart, owner_of
from tests.conftest import MakeBroker
from tests.decoders.writing import write_key, write_value
from tests.exporters.snapshots import table
from tests.support.scripted_cluster import says

TOOL = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
ID, OTHER_ID = b"t" * 16, b"o" * 16
NOW = 1_700_000_000.0
SNAPSHOT, UPDATE = SHARE_STATE_TYPES.values()


def record(
    start: int,
    finished: int,
    *batches: tuple[int, int, int, int],
    topic_id: bytes = ID,
    group: str = "g",
    partition: int = 0,
) -> tuple[bytes, bytes]:
    rows = tuple(
        {"first_offset": first, "last_offset": last, "delivery_state": state, "delivery_count": count}
        for first, last, state, count in batches
    )
    fields = {"snapshot_epoch": 0, "leader_epoch": 0, "start_offset": start, "state_batches": rows}
    key = write_key(UPDATE, {"group_id": group, "topic_id": topic_id, "partition": partition})
    return key, write_value(share.UPDATE_VALUE, 0, {**fields, "delivery_complete_count": finished})


class StateTopic:
    """The topic `__share_group_state` with one partition, in place of the requests that read it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[tuple[bytes | None, bytes | None]] = []
        self.offsets_read: list[int] = []
        self.failure: Exception | None = None
        self.epoch: int | None = 3
        self.epoch_ends: dict[int, int | None] = {}
        self.ends = [{"topic": "jobs", "partition": 0, "high_watermark": 50}]
        monkeypatch.setattr("stream.cluster.partition_offsets.read_ends", self.read_ends)
        for name in ("unread_ranges", "read_records", "read_epoch_ends"):
            monkeypatch.setattr(share_groups, name, getattr(self, name))

    def unread_ranges(self, _cluster: Any, topic: str, after: dict[int, int]) -> list[OffsetRange]:
        """Return the part of the log that has not been read."""
        assert topic == NAME
        return [OffsetRange(0, after.get(0, -1) + 1, len(self.log), self.epoch)]

    def read_epoch_ends(self, _cluster: Any, topic: str, epochs: dict[int, int]) -> dict[int, int | None]:
        """Return where the epoch that was read ends now."""
        assert topic == NAME
        assert epochs in ({}, {0: 3})
        return self.epoch_ends if epochs else {}

    def read_records(self, _cluster: Any, _topic: str, ranges: list[OffsetRange], **_: Any) -> Any:
        if self.failure is not None:
            raise self.failure
        offsets = range(ranges[0].position, ranges[0].end)
        self.offsets_read += offsets
        rows = [(0, LogRecord(at, 0, *self.log[at])) for at in offsets]
        yield says(rows=lambda: rows, positions={0: len(self.log)})

    def read_ends(self, _cluster: Any, topics: set[str]) -> Any:
        """Return the ends of the topics that share groups read."""
        assert topics <= {"jobs"}
        return table(ENDS, self.ends)


def topology(offsets_partitions: int = 50) -> Any:
    return says(ids=lambda: {NAME: b"s" * 16, "jobs": ID}, partitions_of=lambda _: offsets_partitions)


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> StateTopic:
    """Return an empty topic that is read in place of a real one."""
    return StateTopic(monkeypatch)


def poll(reader: ShareGroups, of: Any = None, now: float = NOW) -> tuple[list[Any], list[Any], Unknown]:
    """Return the rows of partitions (lag, acknowledged, archived) and of groups, and what is unknown."""
    unknown = Unknown()
    found = reader.poll(of or topology(), unknown, now)
    partitions, groups = found.share_partitions, found.share_groups
    found = [
        (row["group"], row["topic"], row["lag"], row["acknowledged"], row["archived"]) for row in partitions.to_pylist()
    ]
    return found, [tuple(row.values()) for row in groups.to_pylist()], +unknown


def test_each_poll_reads_what_is_new(topic: StateTopic) -> None:
    """The lag changes with the new records, and counts begin with the second poll. Each record is read once."""
    reader = ShareGroups(says())
    topic.log.append(record(0, 10, (0, 9, 2, 1)))
    assert poll(reader) == ([("g", "jobs", 40, 0, 0)], [("g", 1, 40)], {})
    topic.log += [record(10, 5, (10, 14, 2, 1)), record(15, 1, (15, 15, 4, 1))]
    assert poll(reader) == ([("g", "jobs", 34, 5, 1)], [("g", 1, 34)], {})
    assert topic.offsets_read == [0, 1, 2]


def test_the_lag_of_a_group_is_the_sum_of_its_partitions(topic: StateTopic) -> None:
    """A group has the number of its partitions, and their lag in total; another group does not count.

    A deleted topic, whose records may stay in the log for a while, does not count either.
    """
    topic.log += [record(0, 10), record(0, 3, partition=1), record(0, 50, group="h"), record(0, 10, topic_id=OTHER_ID)]
    topic.ends.append({"topic": "jobs", "partition": 1, "high_watermark": 20})
    partitions, groups, _ = poll(ShareGroups(says()))
    assert [row[:3] for row in partitions] == [("g", "jobs", 40), ("g", "jobs", 17), ("h", "jobs", 0)]
    assert groups == [("g", 2, 57), ("h", 1, 0)]


def test_a_topic_that_lost_its_end_is_read_from_its_start(topic: StateTopic) -> None:
    """A new leader whose log is longer, but has not all that was read, is noticed by its epochs (KIP-320)."""
    reader = ShareGroups(cast("Cluster", None), kept_seconds=60.0)
    topic.log = [record(1, 0), record(7, 0), record(9, 0)]
    assert poll(reader)[0] == [("g", "jobs", 41, 0, 0)]
    topic.log, topic.epoch = [*topic.log[:1], *[record(2, 0)] * 3], 5
    assert poll(reader)[2]["share group read", "unreachable"], "the new leader has not answered"
    topic.epoch_ends = {0: 1}
    assert poll(reader)[0] == [("g", "jobs", 48, 0, 0)]
    assert topic.offsets_read == [0, 1, 2, 0, 1, 2, 3]


def test_a_group_with_an_unknown_lag_of_a_partition_has_an_unknown_lag(topic: StateTopic) -> None:
    """An unknown lag is null, not 0 and not the lag of the other partitions. An undecodable record is counted."""
    topic.log += [record(0, 10), record(0, 10, partition=1), (b"\x00\x63", b"")]
    topic.ends.append({"topic": "jobs", "partition": 1, "error": "no_leader"})
    partitions, groups, unknown = poll(ShareGroups(says()))
    assert partitions == [("g", "jobs", 40, 0, 0), ("g", "jobs", None, 0, 0)]
    assert (groups, unknown) == ([("g", 2, None)], {("share group record", "invalid"): 1})


def test_a_missing_right_is_counted(topic: StateTopic) -> None:
    """The poll raises no error, and the next poll tries again."""
    reader = ShareGroups(says())
    topic.log.append(record(0, 10))
    topic.failure = NotAuthorised("no right", "grant it")
    assert poll(reader) == ([], [], {("share groups", "not_authorized"): 1})
    topic.failure = None
    assert poll(reader)[1] == [("g", 1, 40)]


def test_the_last_numbers_stay_for_a_while(topic: StateTopic) -> None:
    """After failed reads the numbers keep their read time until the limit, and each failure is counted."""
    reader = ShareGroups(says(), kept_seconds=100)
    topic.log.append(record(0, 10))
    known = poll(reader)
    topic.failure = Unreachable("no answer", "see")
    unknown = Unknown()
    kept = reader.poll(topology(), unknown, NOW + 100)
    assert kept.share_read_time == NOW * 1000
    assert poll(reader, now=NOW + 100) == (*known[:2], {("share group read", "unreachable"): 1})
    assert poll(reader, now=NOW + 101) == ([], [], {("share groups", "unreachable"): 1})
    topic.failure = None
    assert poll(reader, now=NOW + 102) == known


def test_an_instance_has_the_groups_that_it_owns(topic: StateTopic) -> None:
    """Each group has exactly one instance, also after partitions were added to the offsets topic."""
    names = [f"g{number}" for number in range(20)]
    topic.log += [record(0, 10, group=name) for name in names]
    readers = [ShareGroups(says(), InstancePart(index, 3)) for index in range(3)]
    for partitions in (50, 60):
        found = [poll(reader, topology(offsets_partitions=partitions))[1] for reader in readers]
        assert all(found)
        assert sorted(row[0] for rows in found for row in rows) == sorted(names)
        for index, rows in enumerate(found):
            assert {owner_of(row[0], partitions, 3).index for row in rows} == {index}


ACKNOWLEDGE = {"accepts": None, "rejects": "REJECT", "releases": "RELEASE", "never": "NEVER"}
"""What the member of each group does with its records."""
PATIENCE = 120.0
"""Seconds in which groups form and records are delivered five times, on a busy machine."""
SHORT_LOCKS = {"group.share.record.lock.duration.ms": "1000", "group.share.min.record.lock.duration.ms": "1000"}


def _reads_every_fact(poll: Callable[[], object], unknown: Unknown) -> bool:
    """Return whether a new poll adds no unknown fact; on a busy machine a request may fail now and then."""
    unknown.clear()
    poll()
    return not +unknown


@pytest.mark.kafka
@pytest.mark.long
def test_lag_is_that_of_the_tool(make_broker: MakeBroker, tmp_path: Path) -> None:
    """Start offsets and lag of share groups are those of `kafka-share-groups`.

    The members accept, reject, or release until the last delivery, or hang. The counts distinguish accepted records
    from archived ones.
    """
    broker = make_broker(properties=SHORT_LOCKS)
    # The member that hangs has the records of its first poll, which may be those of one partition.
    create_topics(broker.bootstrap, {"jobs": 2, "held": 1})
    producer = Producer({"bootstrap.servers": broker.bootstrap})

    def produce() -> bool:
        for number in range(40):
            producer.produce("jobs", b"x", partition=number % 2)
            producer.produce("held", b"x", partition=0)
        producer.flush(LIMIT)
        return False

    with JavaClients(broker.bootstrap, tmp_path / "java.log") as clients, Cluster([broker.bootstrap]) as cluster:
        for group, how in ACKNOWLEDGE.items():
            explicit = {"share.acknowledgement.mode": "explicit", "acknowledge": how} if how else {}
            topic = "held" if how == "NEVER" else "jobs"
            clients.open(group, {"group.id": group, **explicit}, [topic], kind="share")
        reader, unknown = ShareGroups(cluster), Unknown()

        def rows() -> list[dict[str, Any]]:
            found = reader.poll(read_topology(cluster), unknown, time.time()).share_partitions
            return cast("list[dict[str, Any]]", found.to_pylist())

        assigned = "all groups to be assigned"
        wait_until(lambda: {row["group"] for row in rows()} == {*ACKNOWLEDGE}, assigned, limit=PATIENCE)
        produce()

        def delivered() -> bool:
            return all(row["returned"] for row in rows() if row["group"] == "never")

        # A group that has never fetched begins at the end.
        wait_until(lambda: produce() or delivered(), "deliveries", limit=PATIENCE)

        def settled() -> bool:
            by_group = {group: [row for row in rows() if row["group"] == group] for group in ACKNOWLEDGE}
            hangs = all(row["returned"] and row["lag"] == row["end"] - row["start_offset"] for row in by_group["never"])
            return hangs and all(
                row["lag"] == 0 for group in ("accepts", "rejects", "releases") for row in by_group[group]
            )

        def shown() -> dict[tuple[str, ...], tuple[str, str]]:
            return {
                (row["group"], row["topic"], str(row["partition"])): (str(row["start_offset"]), str(row["lag"]))
                for row in rows()
            }

        def agree() -> bool:
            """Compare with the tool, unless the group that hangs released records while the tool ran."""
            before = shown()
            output = "".join(clients.tool(TOOL, "--describe", "--offsets", "--group", group) for group in ACKNOWLEDGE)
            if shown() != before:
                return False
            assert before == {
                (row["GROUP"], row["TOPIC"], row["PARTITION"]): (row["START-OFFSET"], row["LAG"])
                for row in table_rows(output)
            }
            return True

        wait_until(settled, "the last acknowledgements", limit=PATIENCE)
        wait_until(agree, "the tool to run between two changes", limit=PATIENCE)
        assert {
            (row["group"], row["acknowledged"] > 0, row["archived"] > 0) for row in rows() if row["group"] != "never"
        } == {("accepts", True, False), ("rejects", False, True), ("releases", False, True)}
        wait_until(lambda: _reads_every_fact(rows, unknown), "a poll that reads every fact", limit=PATIENCE)
