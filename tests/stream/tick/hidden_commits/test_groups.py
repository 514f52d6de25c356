"""Hidden groups: fetched in turn, shown from the answers, and from the log again when nothing is hidden any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from decoders.log.batch import LogRecord
from stream.cluster.fetch_offsets import GROUP_OFFSETS
from stream.cluster.hidden_records import HiddenBatch, HiddenRead
from stream.cluster.offsets_topic import NAME
from stream.groups.membership.memberships import Memberships
from stream.groups.placement import partition_for
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits import groups as groups_module
from stream.tick.hidden_commits import log_reader
from stream.tick.hidden_commits.commits import offset_key
from stream.tick.hidden_commits.groups import HiddenGroups
from stream.tick.hidden_commits.model import BlockedOffsetsPartition
from stream.tick.lookups.budget import LookupLimits
from tests.stream.groups import written
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value, group_key, group_value, text
from tests.support.scripted_cluster import no_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.tick.hidden_commits.model import HiddenCommits

NOON = 1_700_000_000_000
TICK = 10_000
PARTITIONS = 4
IN_0 = [name for name in "abcdefghijklmnopqrstuvwxyz" if partition_for(name, PARTITIONS) == 0]
IN_1 = [name for name in "abcdefghijklmnopqrstuvwxyz" if partition_for(name, PARTITIONS) == 1]
GROUP, OTHER = IN_0[0], IN_1[0]


class Cluster:
    """Coordinators that answer from a table, and an offsets topic with a hidden part, tick after tick."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **limits: Any) -> None:
        self.shard = ShardReader()
        self.offsets: dict[tuple[str, str, int], int] = {}
        self.errors: dict[str, str] = {}
        self.requested: list[list[str]] = []
        self.stable, self.high = 10, 10
        self.ends: list[tuple[str, int, int | None, int | None, int | None, str | None]] = [("t", 0, 99, 99, 0, None)]
        self.now = NOON
        self.groups = HiddenGroups(no_cluster(), LookupLimits(**limits))
        monkeypatch.setattr(groups_module, "fetch_offsets", self._fetch)
        monkeypatch.setattr(log_reader, "read_hidden", self._read)
        self.log: list[HiddenBatch] = []
        self.gone, self.wrote, self.complete = False, False, True

    def _fetch(self, _: object, __: object, groups: Sequence[str]) -> pa.Table:
        self.requested.append(list(groups))
        rows = [
            {"group": group, "topic": topic, "partition": partition, "committed_offset": offset}
            for (group, topic, partition), offset in sorted(self.offsets.items())
            if group in groups and group not in self.errors
        ]
        rows += [{"group": group, "error": self.errors[group]} for group in groups if group in self.errors]
        return pa.Table.from_pylist(rows, schema=GROUP_OFFSETS)

    def _read(self, _: object, topic: str, positions: dict[int, int], **__: object) -> dict[int, HiddenRead]:
        assert topic == NAME
        batches, self.log = self.log, []
        last = [record.offset for batch in batches for record in batch.records][-1:]
        return {
            p: HiddenRead(max([at, *(n + 1 for n in last)]), batches, self.complete, self.gone)
            for p, at in positions.items()
        }

    def write(self, *records: tuple[bytes, bytes | None], producer: int | None = None) -> None:
        """Write records behind the last stable offset; with a `producer` they belong to its transaction."""
        self.wrote = True
        rows = []
        for key, value in records:
            rows.append(LogRecord(self.high, self.now, key, value))
            self.high += 1
        self.log.append(HiddenBatch(tuple(rows), producer))

    def end(self, producer: int, *, committed: bool) -> None:
        """End a transaction."""
        self.log.append(HiddenBatch(producer_id=producer, committed=committed))
        self.high += 1

    def commit(self, group: str, offset: int, topic: str = "t", *, hidden: bool = False) -> None:
        """Commit an offset; a hidden one is known to the coordinator only."""
        self.offsets[group, topic, 0] = offset
        if not hidden:
            self.shard.read([(commit_key(group, topic, 0), commit_value(offset, self.now))], time=self.now)

    def tick(self, *blocked: int, fetch_first: bool = False) -> HiddenCommits:
        """Run a tick while these offsets partitions are blocked; `fetch_first`: fetch before the ends are read."""
        self.now += TICK
        state = self.shard.driver_state.columns(self.groups.groups_with_records)
        self.groups.set_read_positions({0: self.shard._position})
        if fetch_first:
            self.groups.fetch(state, self.now)
        own = [(NAME, p, self.high, self.stable if p in blocked else self.high, 0, None) for p in range(PARTITIONS)]
        ends = EndsIndex(ends_of([*own, *self.ends]))
        shown = self.groups.apply(state, ends, {p: BlockedOffsetsPartition(p, NOON) for p in blocked}, self.now)
        if not shown.fetched.any() and not self.wrote:
            assert shown.state is state, "unchanged state is the same object"
        return shown


def offsets(shown: HiddenCommits) -> dict[tuple[str, str], tuple[int, bool]]:
    """Return (offset, is fetched) by group and topic."""
    state = shown.state
    rows = zip(
        state.group.to_pylist(), state.topic.to_pylist(), state.runs.spans.last_offset, shown.fetched, strict=True
    )
    return {(group, topic): (int(offset), bool(fetched)) for group, topic, offset, fetched in rows}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Return a cluster with a group in offsets partition 0 and one in partition 1."""
    made = Cluster(monkeypatch)
    made.commit(GROUP, 10)
    made.commit(OTHER, 20)
    return made


def test_nothing_is_fetched_while_no_partition_is_blocked(cluster: Cluster) -> None:
    """The driver state is returned unchanged."""
    for _ in range(3):
        shown = cluster.tick(fetch_first=True)
        assert (shown.answered_groups, shown.unanswered_groups, dict(shown.blocked_partitions)) == (
            frozenset(),
            frozenset(),
            {},
        )
    assert cluster.requested == []


def test_groups_of_a_blocked_partition_are_fetched(cluster: Cluster) -> None:
    """Others are not; offsets fetched at one tick are compared with the ends of the next."""
    cluster.commit(GROUP, 30, hidden=True)
    cluster.commit(OTHER, 50, hidden=True)
    before = cluster.tick(0)
    assert (before.unanswered_groups, before.answered_groups) == (frozenset({GROUP}), frozenset())
    assert offsets(before)[GROUP, "t"] == (10, False)
    shown = cluster.tick(0)
    assert offsets(shown) == {(GROUP, "t"): (30, True), (OTHER, "t"): (20, False)}
    assert (shown.answered_groups, shown.unanswered_groups) == (frozenset({GROUP}), frozenset())
    assert dict(shown.blocked_partitions) == {0: BlockedOffsetsPartition(0, NOON)}
    assert cluster.requested == [[GROUP], [GROUP]]


def test_offsets_fetched_before_the_ends_are_used_at_once(cluster: Cluster) -> None:
    """They are not newer than the ends."""
    cluster.tick(0, fetch_first=True)
    cluster.commit(GROUP, 30, hidden=True)
    assert offsets(cluster.tick(0, fetch_first=True))[GROUP, "t"] == (30, True)
    assert cluster.requested == [[GROUP]], "not fetched again in the same tick"


def test_an_answer_equal_to_the_log_changes_nothing(cluster: Cluster) -> None:
    """The group counts as answered."""
    cluster.tick(0)
    shown = cluster.tick(0)
    assert (shown.answered_groups, bool(shown.fetched.any())) == (frozenset({GROUP}), False)


def test_the_log_counts_again_once_it_has_been_read(cluster: Cluster) -> None:
    """An answer stays valid until the job has read what is readable now; then it is dropped."""
    cluster.commit(GROUP, 30, hidden=True)
    cluster.tick(0)
    cluster.high = 20
    cluster.tick(0)
    closed = cluster.tick()
    assert offsets(closed)[GROUP, "t"] == (30, True), "the log has not been read yet"
    cluster.shard._position = 15
    cluster.commit(GROUP, 25)
    again = cluster.tick()
    assert (offsets(again)[GROUP, "t"], again.answered_groups) == ((25, False), frozenset())


def test_an_answer_stays_valid_while_the_log_is_read_in_part(cluster: Cluster) -> None:
    """The tick that first sees the partition unblocked has a driver state from before; the next one has the log's."""
    cluster.commit(GROUP, 30, hidden=True)
    cluster.tick(0)
    cluster.high = 20
    cluster.tick(0)
    cluster.shard._position = 12
    cluster.commit(GROUP, 15)
    assert offsets(cluster.tick())[GROUP, "t"] == (30, True)
    assert offsets(cluster.tick())[GROUP, "t"] == (15, False)


def test_an_answer_expires_after_the_partition_is_unblocked(cluster: Cluster) -> None:
    """For keys without a later record in the log: the offset was deleted and compacted before it could be read."""
    cluster.commit(GROUP, 30, hidden=True)
    cluster.tick(0)
    cluster.tick(0)
    shown = [offsets(cluster.tick())[GROUP, "t"][1] for _ in range(8)]
    assert shown == [True] * 6 + [False] * 2


def test_a_commit_of_a_partition_that_is_not_in_the_log_gets_a_row(cluster: Cluster) -> None:
    """It gets one once its ends are known; the order of the rows is the same object from tick to tick."""
    cluster.commit(GROUP, 7, topic="new", hidden=True)
    cluster.tick(0)
    assert (GROUP, "new") not in offsets(cluster.tick(0)), "the ends of that topic were not requested"
    assert cluster.groups.topics == {"new"}
    cluster.ends.append(("new", 0, 9, 9, 0, None))
    shown = [cluster.tick(0) for _ in range(2)]
    assert offsets(shown[0])[GROUP, "new"] == (7, True)
    assert shown[0].state.row_order is shown[1].state.row_order
    assert shown[0].state.row_order.topics == ["new", "t"]
    assert len(shown[0].state.partition) == len(shown[0].state.runs) == 3
    assert offsets(cluster.tick(0)) == offsets(shown[0])


def test_groups_per_tick_are_limited_longest_waiting_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every group is fetched in turn and keeps its answer until the next fetch."""
    cluster = Cluster(monkeypatch, fetched_groups=2)
    names = IN_0[:5]
    for name in names:
        cluster.commit(name, 1)
        cluster.commit(name, 2, hidden=True)
    for _ in range(4):
        shown = cluster.tick(0)
    assert [len(groups) for groups in cluster.requested] == [2, 2, 2, 2]
    assert {name for groups in cluster.requested[:3] for name in groups} == set(names)
    assert {offsets(shown)[name, "t"] for name in names} == {(2, True)}


def test_groups_without_an_answer_stay_hidden(cluster: Cluster) -> None:
    """The offset in the log is shown, marked as possibly outdated."""
    cluster.errors[GROUP] = "not_authorized"
    cluster.commit(GROUP, 30, hidden=True)
    cluster.tick(0)
    shown = cluster.tick(0)
    assert (shown.answered_groups, shown.unanswered_groups) == (frozenset(), frozenset({GROUP}))
    assert offsets(shown)[GROUP, "t"] == (10, False)


def test_share_groups_are_not_fetched(cluster: Cluster) -> None:
    """Their offsets are in another topic; a group with members and without commits is fetched."""
    share, members = IN_0[1], IN_0[2]
    record = written.record(11, {"group_id": share}, {"epoch": 1})
    cluster.shard.read([record])
    assert cluster.shard.driver_state.columns().memberships[share].kind == "share"
    cluster.shard.read([(group_key(members), group_value(1, ["m"]))])
    cluster.tick(0)
    assert sorted(cluster.requested[0]) == sorted([GROUP, members])


def records_of_group(*records: tuple[bytes, bytes | None]) -> list[tuple[bytes, bytes | None]]:
    """Return records of the KIP-848 group `g`, renamed to the hidden group."""
    return [(key[:2] + text(GROUP) + key[2 + len(text("g")) :], value) for key, value in records]


def test_a_deleted_group_is_dead_at_once(cluster: Cluster) -> None:
    """Its offset is removed although the job cannot read the tombstone; its history has the evidence."""
    cluster.tick(0)
    cluster.write((commit_key(GROUP, "t", 0), None))
    del cluster.offsets[GROUP, "t", 0]
    cluster.tick(0)
    shown = cluster.tick(0)
    assert offsets(shown) == {(OTHER, "t"): (20, False)}
    history = shown.state.histories[GROUP]
    assert (history.state, history.died) == ("Dead", cluster.now - 2 * TICK)
    removal = history.transitions[-1].removal
    assert removal is not None
    assert (removal.state, removal.offsets, removal.topics, removal.last_commit) == ("Empty", 1, ("t",), NOON)
    assert shown.state.row_order.groups == sorted([GROUP, OTHER]), "it is still shown as dead"
    assert cluster.tick(0).state.row_order is shown.state.row_order
    assert shown.unread_groups == {GROUP}


def test_an_older_answer_does_not_restore_a_deleted_offset(cluster: Cluster) -> None:
    """A commit after the tombstone is shown."""
    cluster.commit(GROUP, 30, hidden=True)
    cluster.tick(0)
    assert offsets(cluster.tick(0))[GROUP, "t"] == (30, True)
    cluster.write((commit_key(GROUP, "t", 0), None))
    del cluster.offsets[GROUP, "t", 0]
    assert (GROUP, "t") not in offsets(cluster.tick(0, fetch_first=True))
    assert (GROUP, "t") not in offsets(cluster.tick(0, fetch_first=True))
    cluster.commit(GROUP, 31, hidden=True)
    cluster.write((commit_key(GROUP, "t", 0), commit_value(31, cluster.now)))
    shown = cluster.tick(0, fetch_first=True)
    assert offsets(shown)[GROUP, "t"] == (31, True)
    assert shown.state.histories[GROUP].died is None


def test_the_hidden_part_counts_until_the_job_has_read_it(cluster: Cluster) -> None:
    """Then it is dropped, and the log has the same deletion."""
    cluster.tick(0)
    cluster.write((commit_key(GROUP, "t", 0), None))
    del cluster.offsets[GROUP, "t", 0]
    cluster.tick(0)
    assert (GROUP, "t") not in offsets(cluster.tick()), "readable, not read yet"
    cluster.shard._position = cluster.high - 1
    cluster.shard.read([(commit_key(GROUP, "t", 0), None)], time=cluster.now)
    shown = cluster.tick()
    assert (shown.unread_groups, shown.state.histories[GROUP].died) == (frozenset(), cluster.now - TICK)


def test_hidden_membership_records_are_applied(cluster: Cluster) -> None:
    """A static member leaves before the transaction and returns behind it; its details are available."""
    left = [
        written.group_epoch(2),
        written.member("m", "t", instance="i"),
        written.target_epoch(2),
        written.stands("m", -2, {}),
    ]
    cluster.shard.read(records_of_group(*left))
    before = cluster.tick(0).state.memberships[GROUP]
    assert (before.state, before.away) == ("Reconciling", 1)
    returned = [
        *map(written.gone, (written.stands("m", -2, {}), written.member("m", instance="i"))),
        written.member("n", "t", instance="i"),
        written.stands("n", 2, {}),
    ]
    cluster.write(*records_of_group(*returned))
    cluster.tick(0)
    shown = cluster.tick(0)
    membership = shown.state.memberships[GROUP]
    assert (membership.state, membership.members, membership.away) == ("Stable", 1, 0)
    assert [each.member_id for each in shown.memberships[GROUP].members(GROUP)] == ["n"]
    history = shown.state.histories[GROUP]
    assert (history.state, history.since) == ("Stable", cluster.now - 2 * TICK)
    assert cluster.tick(0).state.memberships[GROUP] is membership, "an unchanged membership is the same object"


def test_a_classic_group_without_its_record_is_a_simple_group(cluster: Cluster) -> None:
    """It keeps its offsets and is Empty."""
    cluster.shard.read([(group_key(GROUP), group_value(1, ["m"]))])
    cluster.tick(0)
    cluster.write((group_key(GROUP), None))
    cluster.tick(0)
    shown = cluster.tick(0)
    assert GROUP not in shown.state.memberships
    assert (shown.state.histories[GROUP].state, shown.state.histories[GROUP].died) == ("Empty", None)
    assert offsets(shown)[GROUP, "t"] == (10, False)


def test_a_group_created_behind_the_transaction_is_shown(cluster: Cluster) -> None:
    """The job has read none of its records; it is shown with members and offsets."""
    created = IN_0[3]
    cluster.tick(0)
    cluster.write((group_key(created), group_value(1, ["m"])))
    cluster.commit(created, 3, hidden=True)
    cluster.tick(0)
    cluster.tick(0)
    shown = cluster.tick(0)
    assert offsets(shown)[created, "t"] == (3, True)
    assert created in shown.answered_groups
    assert (shown.state.memberships[created].state, shown.state.histories[created].state) == ("Stable", "Stable")
    assert created in shown.state.row_order.groups


def test_pending_commits_are_known_by_key(cluster: Cluster) -> None:
    """As long as their transaction is open; a group that has only a pending commit is not dead."""
    cluster.tick(0)
    cluster.write((commit_key(GROUP, "t", 0), None))
    cluster.write((commit_key(GROUP, "t", 0), commit_value(40, NOON)), producer=5)
    del cluster.offsets[GROUP, "t", 0]
    cluster.tick(0)
    shown = cluster.tick(0)
    assert shown.state.pending == {offset_key(GROUP, "t", 0)}
    assert shown.state.histories[GROUP].died is None
    cluster.end(5, committed=False)
    cluster.tick(0)
    shown = cluster.tick(0)
    assert (shown.state.pending, shown.state.histories[GROUP].state) == (frozenset(), "Dead")


def test_a_truncated_log_is_read_again(cluster: Cluster) -> None:
    """The part that was read before is dropped."""
    cluster.tick(0)
    cluster.write((commit_key(GROUP, "t", 0), None))
    cluster.tick(0)
    cluster.gone = True
    cluster.tick(0)
    cluster.gone = False
    assert offsets(cluster.tick(0))[GROUP, "t"] == (10, False)


def test_the_hidden_part_counts_once_it_has_been_read_to_its_end(cluster: Cluster) -> None:
    """A part of it would be an old state of the group; after that, an incomplete read keeps what was read."""
    cluster.complete = False
    cluster.tick(0)
    cluster.write((group_key(GROUP), group_value(1, ["m"])))
    cluster.tick(0)
    assert GROUP not in cluster.tick(0).state.memberships
    cluster.complete = True
    cluster.tick(0)
    assert cluster.tick(0).state.memberships[GROUP].state == "Stable"
    cluster.complete = False
    assert cluster.tick(0).state.memberships[GROUP].state == "Stable"


def test_the_hidden_part_is_read_again_behind_a_new_last_stable_offset(cluster: Cluster) -> None:
    """The next transaction blocks the partition at an offset past what was read."""
    cluster.tick(0)
    cluster.write((commit_key(GROUP, "t", 0), None))
    cluster.tick(0)
    assert (GROUP, "t") not in offsets(cluster.tick(0))
    cluster.stable = cluster.high = cluster.high + 5
    cluster.high += 1
    cluster.tick(0)
    assert offsets(cluster.tick(0))[GROUP, "t"] == (10, False)


def test_records_that_cannot_be_evaluated_leave_the_group_unchanged(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An internal error removes no group and does not fail the tick."""
    cluster.shard.read([(group_key(GROUP), group_value(1, ["m"]))])
    cluster.tick(0)
    cluster.write((group_key(GROUP), group_value(2, ["m", "n"])))
    cluster.tick(0)

    def fail(*_: object) -> None:
        raise IndexError("internal error")

    monkeypatch.setattr(Memberships, "_evaluate", fail)
    state = cluster.tick(0).state
    assert (state.memberships[GROUP].generation, state.histories[GROUP].died) == (1, None)
