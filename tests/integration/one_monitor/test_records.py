"""Effects of single records of the offsets topic: deletions, undecodable records, open transactions."""

import dataclasses
import random
import struct
from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

from sandbox.kafka import tools
from sandbox.kafka.broker import Broker
from stream.groups.placement import partition_for
from tests.integration.traffic import (
    begin_transaction,
    commit,
    commit_in,
    end_transaction,
    make_topic,
    offsets_ends,
    tool_offsets_and_lags,
    write_raw,
)
from tests.support.monitor import Monitor
from tests.support.processes import patience
from tests.support.raw import commit_key, commit_value, group_key, group_value
from tests.support.scrape import Metrics

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(400))]

COMMIT: Final = commit_value(7, 1_700_000_000_000)
GARBAGE_PARTITION: Final = 1
"""The partition of undecodable records. Its coordinator cannot load it again, so no group of these tests uses it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Garbage:
    """An undecodable record, and the reason with which it is counted."""

    key: bytes
    value: bytes | None
    record_type: str
    version: str
    reason: str


GARBAGE: Final = {
    "no byte at all": Garbage(b"", b"x", "none", "", "short"),
    "half a type": Garbage(b"\x00", b"x", "none", "", "short"),
    "a type that no Kafka writes": Garbage(struct.pack(">h", 99) + b"x", b"x", "99", "", "unknown_type"),
    "a negative type": Garbage(b"\xff\xfe\xfd\xfc", b"x", "-2", "", "unknown_type"),
    "a version of tomorrow": Garbage(
        commit_key("ghost", "t", 0), struct.pack(">h", 99) + COMMIT[2:], "OFFSET_COMMIT", "99", "unknown_version"
    ),
    "a key cut in its partition": Garbage(commit_key("ghost", "t", 0)[:-2], COMMIT, "OFFSET_COMMIT", "", "short"),
    "a key cut in its topic": Garbage(commit_key("ghost", "t", 0)[:-5], COMMIT, "OFFSET_COMMIT", "", "length_past_end"),
    "a value cut in its time": Garbage(commit_key("ghost", "t", 0), COMMIT[:-3], "OFFSET_COMMIT", "3", "short"),
    "a value of one byte": Garbage(commit_key("ghost", "t", 0), b"\x00", "OFFSET_COMMIT", "", "short"),
    "a tombstone with a key cut off": Garbage(commit_key("ghost", "t", 0)[:-2], None, "OFFSET_COMMIT", "", "short"),
    "a group cut in its members": Garbage(
        group_key("ghost"), group_value(1, ["m"])[:-9], "GROUP_METADATA", "3", "short"
    ),
}


@pytest.fixture(scope="module")
def spoilt() -> Iterator[Broker]:
    """Return a separate broker, because its coordinator cannot load a partition with undecodable records."""
    with Broker() as broker:
        make_topic(broker.bootstrap, "t", 3, records=100)
        commit(broker.bootstrap, "among-garbage", "t", {0: 1})
        yield broker


@pytest.fixture(scope="module")
def witness(spoilt: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    with Monitor(spoilt.bootstrap, tmp_path_factory.mktemp("witness")) as running:
        yield running.wait_ready()


def _errors(shown: Metrics) -> dict[tuple[str, str, str], int]:
    rows = shown.rows("lagwarden_decode_errors_total")
    return {(own["record_type"], own["version"], own["reason"]): int(count) for own, count in rows}


def _known(shown: Metrics) -> tuple[object, ...]:
    """Return all series of groups."""
    infos = sorted(tuple(sorted(own.items())) for own, _ in shown.rows("lagwarden_group_info"))
    return shown.committed, shown.lags, infos, shown.by_place("lagwarden_partition_commit_timestamp_seconds")


def test_undecodable_record_is_counted_by_reason_and_changes_nothing(spoilt: Broker, witness: Monitor) -> None:
    """The counter of the record's reason grows by one, and all series of groups stay the same."""
    before = witness.wait_read(offsets_ends(spoilt.bootstrap))
    spoiling = [(garbage.key, garbage.value) for garbage in GARBAGE.values()]
    assert write_raw(spoilt.bootstrap, GARBAGE_PARTITION, spoiling) == []
    after = witness.wait_read(offsets_ends(spoilt.bootstrap))
    counted = Counter(_errors(after))
    counted.subtract(_errors(before))
    wanted = Counter((garbage.record_type, garbage.version, garbage.reason) for garbage in GARBAGE.values())
    assert +counted == wanted
    assert after.records_read == before.records_read + len(GARBAGE)
    assert _known(after) == _known(before)


def test_commits_among_random_bytes_are_shown(spoilt: Broker, witness: Monitor) -> None:
    """All of 500 records of random bytes are counted as errors, and the commits before and after them are shown."""
    generator = random.Random(4)  # noqa: S311 - no secret
    partition = partition_for("among-garbage", 4)
    assert partition != GARBAGE_PARTITION
    before = witness.wait_read(offsets_ends(spoilt.bootstrap))
    commit(spoilt.bootstrap, "among-garbage", "t", {0: 5, 1: 6})
    noise = [
        (generator.randbytes(generator.randint(2, 60)), generator.randbytes(generator.randint(0, 200)))
        for _ in range(500)
    ]
    assert write_raw(spoilt.bootstrap, partition, noise) == []
    commit(spoilt.bootstrap, "among-garbage", "t", {1: 7})
    after = witness.wait_read(offsets_ends(spoilt.bootstrap))
    assert sum(_errors(after).values()) - sum(_errors(before).values()) == len(noise)
    committed, lags = tool_offsets_and_lags(spoilt.bootstrap)
    assert committed["among-garbage", "t", 1] == 7
    assert (after.committed, after.lags) == (committed, lags)


def test_the_broker_refuses_null_keys(cluster: Broker) -> None:
    """The broker refuses null keys, so no test above writes one."""
    refused = write_raw(cluster.bootstrap, 0, [(None, b"x")])
    assert len(refused) == 1
    assert "INVALID_RECORD" in refused[0] or "Broker failed to validate record" in refused[0]


def test_deleted_group_leaves_metrics_within_two_ticks(cluster: Broker, monitor: Monitor) -> None:
    """A deleted group has no series except the one with its cause of death, once its tombstones are read."""
    commit(cluster.bootstrap, "deleted", "t", {0: 1, 1: 2})
    commit(cluster.bootstrap, "neighbour", "t", {0: 3})
    assert {"deleted", "neighbour"} <= monitor.wait_read(offsets_ends(cluster.bootstrap)).groups
    tools.delete_group(cluster.bootstrap, "deleted")
    shown = monitor.wait_read(offsets_ends(cluster.bootstrap))
    (series,) = [line for line in shown.text.splitlines() if 'group="deleted"' in line]
    assert series.startswith("lagwarden_group_died_timestamp_seconds{")
    ((died, _),) = shown.rows("lagwarden_group_died_timestamp_seconds", group="deleted")
    assert "deleted" in died["death_cause"]
    dead = monitor.get("/api/v1/groups/deleted").json
    assert (dead["state"], dead["death_cause"]) == ("Dead", died["death_cause"])
    assert dead["by_partition"] == []
    assert shown.committed["neighbour", "t", 0] == 3


def test_deleted_partition_offset_leaves_metrics_within_two_ticks(cluster: Broker, monitor: Monitor) -> None:
    """The partition has no series once its tombstone is read. The group keeps its others."""
    commit(cluster.bootstrap, "trimmed", "t", {0: 1, 1: 2, 2: 3})
    monitor.wait_read(offsets_ends(cluster.bootstrap))
    tools.delete_offsets(cluster.bootstrap, "trimmed", "t", 1)
    shown = monitor.wait_read(offsets_ends(cluster.bootstrap))
    offsets = {place: offset for place, offset in shown.committed.items() if place[0] == "trimmed"}
    assert offsets == {("trimmed", "t", 0): 1, ("trimmed", "t", 2): 3}
    assert {place for place in shown.lags if place[0] == "trimmed"} == set(offsets)
    assert shown.value("lagwarden_group_partitions", group="trimmed") == 2


def test_group_that_commits_after_its_deletion_is_new(cluster: Broker, monitor: Monitor) -> None:
    """Deleted offsets do not return with the next commit of the same group."""
    commit(cluster.bootstrap, "phoenix", "t", {0: 1, 1: 2})
    tools.delete_group(cluster.bootstrap, "phoenix")
    commit(cluster.bootstrap, "phoenix", "t", {2: 9})
    shown = monitor.wait_read(offsets_ends(cluster.bootstrap))
    assert {place: o for place, o in shown.committed.items() if place[0] == "phoenix"} == {("phoenix", "t", 2): 9}


def test_open_transaction_shows_a_stable_gap_until_its_end(cluster: Broker, monitor: Monitor) -> None:
    """The partition has a gap and no offsets of the transaction until it ends.

    Other commits in the gap are shown after some ticks: see test_blocked_partitions.
    """
    partition = partition_for("held", 4)
    commit(cluster.bootstrap, "held", "t", {0: 1})
    monitor.wait_read(offsets_ends(cluster.bootstrap))
    producer = begin_transaction(cluster.bootstrap, "holds-back")
    commit_in(producer, cluster.bootstrap, "held", "t", {1: 2})
    commit(cluster.bootstrap, "held", "t", {0: 3})
    # A later commit in another partition: once shown, the blocked partition is read up to its last stable offset.
    assert partition_for("passer-by", 4) != partition
    commit(cluster.bootstrap, "passer-by", "t", {0: 7})
    shown = monitor.wait_read(offsets_ends(cluster.bootstrap))
    assert shown.offsets_partitions("stable_gap")[partition] == 2
    assert shown.offsets_partitions("distance")[partition] == 0
    assert shown.committed["held", "t", 0] in {1, 3}
    assert ("held", "t", 1) not in shown.committed
    assert monitor.get("/readyz").status == 200
    end_transaction(cluster.bootstrap, producer, commit=True)
    shown = monitor.wait_read(offsets_ends(cluster.bootstrap))
    assert set(shown.offsets_partitions("stable_gap").values()) == {0}
    offsets = {place: offset for place, offset in shown.committed.items() if place[0] == "held"}
    assert offsets == {("held", "t", 0): 3, ("held", "t", 1): 2}
