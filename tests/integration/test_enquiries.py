"""What is asked beside the ends, on a real broker: tails, open transactions, and the groups that these hide.

The log is read as the job reads it, committed records only, though without Spark: what is asked about is the broker's
doing. Ticks are ten seconds apart by the clock that they are given, and follow each other at once.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka.protocol.producer import ProduceRequest

from sandbox.broker import Broker
from sandbox.patience import LIMIT, eventually, wait_until
from sandbox.tools import describe_groups, run_tool
from sandbox.topics import create_topics
from stream.cluster.client import Cluster
from stream.cluster.offsets_topic import NAME
from stream.cluster.records import read_records, stretches
from stream.cluster.watermarks import read_ends
from stream.enquiries import Enquiries
from stream.groups.fleet import Fleet
from stream.groups.fold import Batch, Fold
from stream.groups.placement import Placement, partition_for
from stream.groups.reduce import Rules, reduce
from stream.groups.shard import empty_shard
from stream.health.history import NOT_ANSWERED
from stream.health.judge import Judge
from stream.health.verdict import VERDICTS, Verdict
from stream.observed import observed
from stream.surroundings import NOWHERE
from tests.decoders.log import logwriter
from tests.integration.traffic import commit, consumer
from tests.support.commits import KEEP, SLOT_MS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.groups.fleet import FleetColumns
    from stream.health.judge import Judged
    from stream.held_back import HeldBack, OffsetsHeldBack
    from stream.observed import Asked

pytestmark = pytest.mark.kafka

PARTITIONS: Final = 4
TICK: Final = 10.0
TRANSACTIONAL: Final = 0x10


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """Give a broker of our own, whose offsets topic gets held back, and which lets a transaction hang."""
    with Broker(properties={"transaction.partition.verification.enable": "false"}) as started:
        create_topics(started.bootstrap, {"first": 1})
        commit(started.bootstrap, "first", "first", {0: 0})
        yield started


@pytest.fixture
def monitor(broker: Broker) -> Iterator[Monitor]:
    """Give a monitor that has seen nothing yet."""
    with Cluster([broker.bootstrap]) as cluster:
        cluster.connect(LIMIT)
        yield Monitor(cluster)


class Monitor:
    """Reads the offsets topic and does what a tick does."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.enquiries = Enquiries(cluster)
        self.judge = Judge()
        self.now = time.time()
        self._states = {partition: empty_shard() for partition in range(PARTITIONS)}
        self._fleet = Fleet()
        self._read_to: dict[int, int] = {}
        self.held: HeldBack
        self.asked: Asked

    def read(self) -> FleetColumns:
        """Read the log on, up to its last stable offsets."""
        for fetched in read_records(self.cluster, NAME, stretches(self.cluster, NAME, self._read_to)):
            self._read_to[fetched.partition] = fetched.position - 1
            if fetched.records:
                self._take(fetched.partition, fetched.records)
        return self._fleet.columns()

    def _take(self, partition: int, records: list[Any]) -> None:
        fold = Fold(Placement(1, 1), slot_ms=SLOT_MS, keep_slots=KEEP)
        fold.add(
            Batch(
                np.zeros(len(records), np.int32),
                np.array([record.offset for record in records], np.int64),
                np.array([record.timestamp for record in records], np.int64),
                pa.array([record.key for record in records], pa.binary()),
                pa.array([record.value for record in records], pa.binary()),
            )
        )
        ((_, delta),) = fold.drain()
        self._states[partition], change = reduce(self._states[partition], [delta], Rules(KEEP))
        self._fleet.apply(partition, change)

    def tick(self) -> Judged:
        """Do what the tick does, ten seconds later."""
        self.now += TICK
        fleet = self.read()
        self.enquiries.ask_first(fleet, self.now)
        topics = {NAME, *fleet.topic.dictionary.to_pylist()} | self.enquiries.topics
        ends = read_ends(self.cluster, topics)
        self.held = self.enquiries.held_back(fleet, ends, NOWHERE, self.now)
        self.asked = self.enquiries.asked(self.held.fleet, ends, NOWHERE, self.now)
        self.seen = observed(self.held.fleet, ends, NOWHERE, self.now, self.asked)
        self.judged = self.judge.judge(self.seen)
        self.enquiries.note(self.judged.window)
        return self.judged

    def row(self, group: str, topic: str, partition: int = 0) -> int:
        """Give the row of a group's partition, as it was judged."""
        seen = self.seen
        (row,) = np.flatnonzero(
            (seen.group == list(seen.groups.names).index(group))
            & (seen.topic == list(seen.topics).index(topic))
            & (seen.partition == partition)
        )
        return int(row)

    def lag(self, group: str, topic: str) -> int:
        """Give the lag that is shown."""
        return int(self.judged.window.lag[self.row(group, topic)])

    def verdict(self, group: str, topic: str) -> Verdict:
        """Give the verdict that is shown."""
        return VERDICTS[int(self.judged.verdict[self.row(group, topic)])]

    def shown(self, group: str) -> dict[tuple[str, int], tuple[int, bool]]:
        """Give a group's commits by place: the offset, and whether it was asked for."""
        fleet = self.held.fleet
        rows = zip(
            fleet.group.to_pylist(),
            fleet.topic.to_pylist(),
            fleet.partition.tolist(),
            fleet.runs.spans.last_offset.tolist(),
            self.held.asked.tolist(),
            strict=True,
        )
        return {(topic, p): (offset, asked) for name, topic, p, offset, asked in rows if name == group}

    def culprit(self) -> OffsetsHeldBack | None:
        """Give who holds the offsets topic back, if anybody does."""
        return next(iter(self.enquiries.offsets_held_back), None)


def transactional(broker: Broker, name: str) -> Producer:
    """Give a producer that is ready to begin."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name, "log_level": 0})
    eventually(lambda: producer.init_transactions(LIMIT))
    return producer


def write(producer: Producer, topic: str, count: int) -> None:
    """Write records in a transaction that is begun by it."""
    producer.begin_transaction()
    for number in range(count):
        producer.produce(topic, str(number), partition=0)
    assert producer.flush(LIMIT) == 0


def high_watermark(broker: Broker, topic: str) -> int:
    """Ask another client where partition 0 ends."""
    with contextlib.closing(Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "nobody"})) as asking:
        return int(asking.get_watermark_offsets(TopicPartition(topic, 0), LIMIT, cached=False)[1])


def groups_of(partition: int, *stems: str) -> list[str]:
    """Give a group name per stem that lives in this offsets partition."""
    return [
        next(name for number in range(1000) if partition_for(name := f"{stem}-{number}", PARTITIONS) == partition)
        for stem in stems
    ]


def test_a_group_that_has_read_all_of_a_transactional_topic_has_no_lag(broker: Broker, monitor: Monitor) -> None:
    """The client stands before markers and aborted records, which nobody will ever be given; a record is one again."""
    create_topics(broker.bootstrap, {"tails": 1})
    producer = transactional(broker, "tails")
    write(producer, "tails", 5)
    producer.commit_transaction(LIMIT)
    write(producer, "tails", 3)
    producer.abort_transaction(LIMIT)
    wait_until(lambda: high_watermark(broker, "tails") == 10, "the markers")
    with consumer(broker.bootstrap, "reads-all", isolation_level="read_committed") as reader:
        reader.assign([TopicPartition("tails", 0, 0)])
        read = [reader.poll(LIMIT) for _ in range(5)]
        assert read[-1] is not None
        last = [TopicPartition("tails", 0, (read[-1].offset() or 0) + 1)]
        reader.commit(offsets=last, asynchronous=False)
    commit(broker.bootstrap, "one-behind", "tails", {0: 4})
    lags = []
    for _ in range(4):
        monitor.tick()
        lags.append((monitor.lag("reads-all", "tails"), monitor.lag("one-behind", "tails")))
    assert (lags[0], lags[-1]) == ((5, 6), (0, 1))
    assert monitor.verdict("reads-all", "tails") is Verdict.CAUGHT_UP
    write(producer, "tails", 1)
    monitor.tick()
    assert monitor.lag("reads-all", "tails") == 6, "a record of an open transaction may come"
    producer.commit_transaction(LIMIT)


def test_an_open_transaction_on_a_topic_is_named(broker: Broker, monitor: Monitor) -> None:
    """By its leader and its coordinator, in the verdict of the group that waits for it."""
    create_topics(broker.bootstrap, {"open": 1})
    producer = transactional(broker, "left-open")
    write(producer, "open", 4)
    commit(broker.bootstrap, "waits", "open", {0: 0})
    commit(broker.bootstrap, "does-not-wait", "open", {0: 2})
    verdicts = []
    for _ in range(16):
        monitor.tick()
        verdicts.append(monitor.verdict("waits", "open"))
    assert verdicts[10] is not Verdict.HELD_BACK, "a transaction may take two minutes"
    assert verdicts[-1] is Verdict.HELD_BACK, "one commit shows no habit of the group, and none is needed"
    assert monitor.verdict("does-not-wait", "open") is not Verdict.HELD_BACK, "it has read from the open transaction"
    finding = monitor.judged.of_row(monitor.row("waits", "open"))
    assert "left-open" in finding.sentence
    (row,) = monitor.asked.transactions["open"].to_pylist()
    assert (row["transactional_id"], row["state"], row["hanging"]) == ("left-open", "Ongoing", False)
    producer.abort_transaction(LIMIT)
    wait_until(lambda: high_watermark(broker, "open") == 5, "the marker")
    monitor.tick()
    assert "open" not in monitor.asked.transactions


def test_a_transaction_that_no_coordinator_knows(broker: Broker, monitor: Monitor) -> None:
    """It hangs for ever, for the log of the transactions does not know it either.

    Its producer is named all the same, with what a person needs to abort it by Kafka's tool.
    """
    transactional(broker, "somebody-else")
    create_topics(broker.bootstrap, {"hanging": 1})
    partition = ProduceRequest.TopicProduceData.PartitionProduceData
    records = logwriter.batch(
        0,
        [logwriter.Rec(0, 0, b"k", b"v")],
        attributes=TRANSACTIONAL,
        producer_id=4_711,
        producer_epoch=0,
        base_sequence=0,
    )
    topic = ProduceRequest.TopicProduceData(name="hanging", partition_data=[partition(index=0, records=records)])
    request = ProduceRequest(transactional_id="ghost", acks=-1, timeout_ms=5_000, topic_data=[topic], max_version=11)
    told = monitor.cluster.call(request, 1).responses[0].partition_responses[0]
    assert told.error_code == 0, told
    commit(broker.bootstrap, "waits-for-a-ghost", "hanging", {0: 0})
    for _ in range(4):
        monitor.tick()
    (row,) = monitor.asked.transactions["hanging"].to_pylist()
    assert (row["start_offset"], row["producer_id"], row["transactional_id"], row["hanging"]) == (0, 4_711, None, True)
    abort = ("abort", "--topic", "hanging", "--partition", "0", "--start-offset", str(row["start_offset"]))
    run_tool("org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", broker.bootstrap, *abort)
    wait_until(lambda: high_watermark(broker, "hanging") == 2, "the abort marker")
    monitor.tick()
    assert "hanging" not in monitor.asked.transactions


def test_groups_behind_an_open_transaction_are_answered_by_their_coordinator(broker: Broker, monitor: Monitor) -> None:
    """They are seen as Kafka's own tool sees them, until the log can be read again and tells the same."""
    create_topics(broker.bootstrap, {"gap": 2, "gap-new": 1})
    holder, hidden = groups_of(2, "holder", "hidden")
    (free,) = groups_of(3, "free")
    for group in (holder, hidden, free):
        commit(broker.bootstrap, group, "gap", {0: 1})
    monitor.tick()
    assert monitor.shown(hidden) == {("gap", 0): (1, False)}

    producer = transactional(broker, "holds-offsets")
    producer.begin_transaction()
    with consumer(broker.bootstrap, holder) as member:
        metadata = member.consumer_group_metadata()
        eventually(lambda: producer.send_offsets_to_transaction([TopicPartition("gap", 0, 77)], metadata, LIMIT))
    commit(broker.bootstrap, hidden, "gap", {0: 5, 1: 6})
    commit(broker.bootstrap, hidden, "gap-new", {0: 7})
    commit(broker.bootstrap, free, "gap", {0: 9})
    for _ in range(3):
        monitor.tick()
    assert monitor.shown(hidden) == {("gap", 0): (5, True), ("gap", 1): (6, True), ("gap-new", 0): (7, True)}
    assert monitor.shown(free) == {("gap", 0): (9, False)}, "its offsets partition is not held back"
    assert monitor.shown(holder) == {("gap", 0): (1, False)}, "what is only pending does not count"
    assert set(monitor.held.partitions) == {2}
    assert [group in monitor.held.groups for group in (holder, hidden, free)] == [True, True, False]
    agree(broker, monitor, holder, hidden, free)

    culprit = monitor.culprit()
    assert culprit is not None
    assert (culprit.offsets_partition, culprit.transactional_id, culprit.hanging) == (2, "holds-offsets", False)
    assert abs(culprit.since / 1000 - time.time()) < 60

    commit(broker.bootstrap, hidden, "gap", {0: 8})
    monitor.tick()
    assert monitor.shown(hidden)["gap", 0] == (8, True)

    producer.commit_transaction(LIMIT)
    wait_until(lambda: not _held(monitor), "the marker")
    monitor.tick()
    assert monitor.shown(hidden) == {("gap", 0): (8, False), ("gap", 1): (6, False), ("gap-new", 0): (7, False)}
    assert monitor.shown(holder) == {("gap", 0): (77, False)}
    assert (monitor.culprit(), monitor.held.groups, bool(monitor.held.asked.any())) == (None, frozenset(), False)
    agree(broker, monitor, holder, hidden, free)


def _held(monitor: Monitor) -> bool:
    ends = read_ends(monitor.cluster, [NAME])
    return not ends.column("high_watermark").equals(ends.column("last_stable_offset"))


def agree(broker: Broker, monitor: Monitor, *groups: str) -> None:
    """Hold what is shown against Kafka's tool."""
    theirs = {
        (row.group, row.topic, row.partition): row.current_offset
        for row in describe_groups(broker.bootstrap)
        if row.group in groups
    }
    ours = {(group, *place): offset for group in groups for place, (offset, _) in monitor.shown(group).items()}
    assert ours == theirs


def test_the_settings_and_the_past_of_topics(broker: Broker, monitor: Monitor) -> None:
    """Retention as Kafka has it in force, and where a partition ended an hour ago by its records' times."""
    create_topics(broker.bootstrap, {"kept": 1}, {"retention.ms": "987654321"})
    create_topics(broker.bootstrap, {"compacted": 1}, {"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    now = time.time()
    for ago in (7_000, 5_000, 3_000, 1_000):
        producer.produce("kept", b"v", partition=0, timestamp=int((now - ago) * 1000))
    assert producer.flush(LIMIT) == 0
    commit(broker.bootstrap, "settings", "kept", {0: 1})
    commit(broker.bootstrap, "settings", "compacted", {0: 0})
    monitor.tick()
    assert monitor.asked.retention is not None
    told = {topic: monitor.asked.retention[topic] for topic in ("kept", "compacted", NAME)}
    assert told == {"kept": 987_654_321, "compacted": -1, NAME: -1}
    seed = monitor.enquiries.seeding(monitor.seen)
    assert seed is not None
    times, offsets = seed
    row = int(np.flatnonzero(monitor.seen.ends.place == list(monitor.seen.topics).index("kept") << 32)[0])
    ends = {round(now - at / 1000, -2): int(end) for at, end in zip(times.tolist(), offsets[row].tolist(), strict=True)}
    assert ends[3_600] == 2
    assert ends[14_400] == 0
    assert NOT_ANSWERED not in ends.values()
