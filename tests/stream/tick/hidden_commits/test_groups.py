"""Hidden groups: commits behind the last stable offset are shown as not yet stable until the job has read them."""

from collections.abc import Iterator
from typing import Any

import pytest

from stream.cluster.hidden_records import HiddenPart
from stream.cluster.offsets_topic import NAME
from stream.groups.membership.memberships import Memberships
from stream.groups.placement import partition_for
from stream.tick.context import LookupResults, TickFacts
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits import groups as groups_module
from stream.tick.hidden_commits.groups import HiddenGroups
from stream.tick.hidden_commits.overlay import BlockedOffsetsPartition, HiddenCommits
from stream.tick.lookups.budget import LookupLimits
from tests.stream.groups import written
from tests.support.driver_states import ShardReader, Timed, delta_of, ends_of
from tests.support.hidden import HiddenWriter
from tests.support.raw import commit_key, commit_value, group_key, group_value, text
from tests.support.scripted_cluster import no_cluster

NOON = 1_700_000_000_000
TICK = 10_000
PARTITIONS = 4
STABLE = 10
IN_0 = [name for name in "abcdefghijklmnopqrstuvwxyz" if partition_for(name, PARTITIONS) == 0]
IN_1 = [name for name in "abcdefghijklmnopqrstuvwxyz" if partition_for(name, PARTITIONS) == 1]
GROUP, OTHER = IN_0[0], IN_1[0]


class Cluster:
    """An offsets partition 0 with a hidden part from offset STABLE on, tick after tick."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shard = ShardReader()
        self.ends: list[tuple[str, int, int | None, int | None, int | None, str | None]] = [("t", 0, 99, 99, 0, None)]
        self.now = NOON
        self.groups = HiddenGroups(no_cluster(), LookupLimits())
        monkeypatch.setattr(groups_module, "read_hidden", self._read)
        self.log = HiddenWriter(STABLE)
        self.stable = STABLE
        self.reads: list[dict[int, int]] = []
        self.is_away, self.is_lost, self.unread = False, False, 0
        self._records: list[Timed] = []

    def _read(self, _: object, topic: str, positions: dict[int, int], **limits: Any) -> Iterator[HiddenPart]:
        assert topic == NAME
        assert limits["most_bytes"] == LookupLimits().hidden_bytes
        self.reads.append(dict(positions))
        if self.is_away or positions.get(0) != self.log.read_to:
            return
        part = self.log.part(unread=self.unread)
        if self.is_lost:
            yield HiddenPart(0, part.start, part.start, part.batches, 0, position_lost=True)
        else:
            yield part

    def write(self, *records: tuple[bytes, bytes | None], producer: int | None = None) -> None:
        """Write records behind the last stable offset; with a `producer` they belong to its transaction."""
        self._records += [(self.now, *record) for record in records]
        self.log.write(*records, time=self.now, producer=producer)

    def end(self, producer: int, *, committed: bool) -> None:
        self._records.append((self.now, None, None))
        self.log.end(producer, committed=committed)

    def commit(self, group: str, offset: int, topic: str = "t", *, hidden: bool = False) -> None:
        """Commit an offset that the job reads at once, or a hidden one."""
        record = (commit_key(group, topic, 0), commit_value(offset, self.now))
        if hidden:
            self.write(record)
        else:
            self.shard.read([record], time=self.now)

    def job_reads(self, records: int | None = None) -> None:
        """Apply all, or the first `records`, of the records behind the last stable offset to the job's state."""
        until = len(self._records) if records is None else records
        begin = max(0, self.shard._position - STABLE)
        self.shard.apply(delta_of(self._records[begin:until], STABLE + begin))

    def tick(self, *blocked: int) -> HiddenCommits:
        """Run a tick while these offsets partitions are blocked."""
        self.now += TICK
        state = self.shard.driver_state.columns(self.groups.groups_with_records)
        self.groups.read()
        high = self.log.position
        own = [(NAME, p, high, self.stable if p in blocked else high, 0, None) for p in range(PARTITIONS)]
        ends = EndsIndex(ends_of([*own, *self.ends]))
        found = LookupResults(blocked={p: BlockedOffsetsPartition(p, NOON) for p in blocked})
        read = {0: self.shard._position}
        shown = self.groups.apply(state, TickFacts(state, ends, self.now / 1000, lookups=found, positions=read))
        if not self._records:
            assert shown.state is state, "unchanged state is the same object"
        return shown


def offsets(shown: HiddenCommits) -> dict[tuple[str, str], tuple[int, bool]]:
    """Return (offset, is hidden) by group and topic."""
    state = shown.state
    rows = zip(
        state.group.to_pylist(), state.topic.to_pylist(), state.runs.spans.last_offset, shown.is_hidden, strict=True
    )
    return {(group, topic): (int(offset), bool(hidden)) for group, topic, offset, hidden in rows}


def commits(shown: HiddenCommits, group: str = GROUP) -> int:
    names = zip(shown.state.group.to_pylist(), shown.state.topic.to_pylist(), strict=True)
    return int(shown.state.runs.spans.commits[[*names].index((group, "t"))])


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Return a cluster with a group in offsets partition 0 and one in partition 1."""
    made = Cluster(monkeypatch)
    made.commit(GROUP, 10)
    made.commit(OTHER, 20)
    return made


def test_a_blocked_partition_is_read_from_the_next_tick_on(cluster: Cluster) -> None:
    """Commits that are read before the ends are shown with them, with their own times; reads continue the last one."""
    cluster.commit(GROUP, 30, hidden=True)
    before = cluster.tick(0)
    assert (before.unread_groups, before.read_groups) == (frozenset({GROUP}), frozenset())
    assert offsets(before)[GROUP, "t"] == (10, False)
    assert before.blocked_partitions[0].unread is None
    shown = cluster.tick(0)
    assert offsets(shown) == {(GROUP, "t"): (30, True), (OTHER, "t"): (20, False)}
    assert (shown.read_groups, shown.unread_groups) == (frozenset({GROUP}), frozenset())
    assert dict(shown.blocked_partitions) == {0: BlockedOffsetsPartition(0, NOON, unread=0)}
    assert shown.state.runs.spans.last_time.tolist() == [NOON, NOON]
    cluster.tick(0)
    assert cluster.reads == [{0: STABLE}, {0: STABLE + 1}]


def test_the_log_counts_again_once_the_job_has_read_it(cluster: Cluster) -> None:
    """Hidden commits stay valid until the job has read the log; the job then has the same result."""
    cluster.tick(0)
    cluster.commit(GROUP, 30, hidden=True)
    cluster.commit(GROUP, 25, hidden=True)
    cluster.tick(0)
    assert offsets(cluster.tick())[GROUP, "t"] == (25, True), "the job has not read them yet"
    cluster.job_reads()
    after = cluster.tick()
    assert (offsets(after)[GROUP, "t"], after.read_groups, commits(after)) == ((25, False), frozenset(), 3)


def test_commits_are_counted_once_while_the_job_reads_them_in_part(cluster: Cluster) -> None:
    """Offsets and counts do not decrease, also for a partition that the job did not know."""
    cluster.tick(0)
    cluster.ends.append(("new", 0, 9, 9, 0, None))
    for offset in (30, 40, 50):
        cluster.commit(GROUP, offset, hidden=True)
        cluster.commit(GROUP, offset // 10, topic="new", hidden=True)
    shown = [cluster.tick(0)]
    for records in (1, 4, 5):
        cluster.job_reads(records)
        shown.append(cluster.tick())
    assert [commits(each) for each in shown] == [4, 4, 4, 4]
    assert [offsets(each)[GROUP, "t"] for each in shown] == [(50, True)] * 3 + [(50, False)]
    assert [offsets(each)[GROUP, "new"] for each in shown] == [(5, True)] * 4
    cluster.job_reads()
    assert offsets(cluster.tick())[GROUP, "new"] == (5, False)


def test_a_commit_of_a_partition_that_is_not_in_the_log_gets_a_row(cluster: Cluster) -> None:
    """The partition gets a row once its ends are known; the row order is the same object from tick to tick."""
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


def test_a_partition_that_is_not_read_to_its_end_stays_unread(cluster: Cluster) -> None:
    """Commits are shown only after one complete read; the offsets that were not read are counted."""
    cluster.unread = 5
    cluster.commit(GROUP, 30, hidden=True)
    cluster.tick(0)
    shown = cluster.tick(0)
    assert (shown.read_groups, shown.unread_groups) == (frozenset(), frozenset({GROUP}))
    assert (offsets(shown)[GROUP, "t"], shown.blocked_partitions[0].unread) == ((10, False), 5)
    cluster.unread = 0
    assert offsets(cluster.tick(0))[GROUP, "t"] == (30, True)
    cluster.unread = 3
    cluster.commit(GROUP, 31, hidden=True)
    shown = cluster.tick(0)
    assert (offsets(shown)[GROUP, "t"], shown.unread_groups) == ((31, True), frozenset({GROUP}))
    cluster.is_away = True
    shown = cluster.tick(0)
    assert (offsets(shown)[GROUP, "t"], shown.unread_groups) == ((31, True), frozenset({GROUP})), "no leader answers"


def records_of_group(*records: tuple[bytes, bytes | None]) -> list[tuple[bytes, bytes | None]]:
    """Return records of the KIP-848 group `g`, renamed to the hidden group."""
    return [(key[:2] + text(GROUP) + key[2 + len(text("g")) :], value) for key, value in records]


def test_a_deleted_group_is_dead_at_once(cluster: Cluster) -> None:
    """The offset is removed although the job cannot read the tombstone; the history of the group has the evidence."""
    cluster.tick(0)
    cluster.write((commit_key(GROUP, "t", 0), None))
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
    assert shown.hidden_groups == {GROUP}


def test_hidden_membership_records_are_applied(cluster: Cluster) -> None:
    """A static member leaves before the transaction and returns behind it; the details of the member are available."""
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


@pytest.mark.parametrize("committed", [True, False])
def test_a_group_with_only_a_commit_in_an_open_transaction_is_shown(cluster: Cluster, *, committed: bool) -> None:
    """The coordinator lists it as Empty since that commit; its offset counts once the transaction is committed."""
    new = IN_0[1]
    cluster.tick(0)
    cluster.write((commit_key(new, "t", 0), commit_value(30, cluster.now)), producer=7)
    since = cluster.now
    shown = cluster.tick(0)
    history = shown.state.histories[new]
    assert (history.kind, history.state, history.since, history.died) == ("simple", "Empty", since, None)
    assert new in shown.state.row_order.groups
    assert new in shown.hidden_groups
    assert (new, "t") not in offsets(shown)
    cluster.end(7, committed=committed)
    shown = cluster.tick(0)
    assert (new in shown.state.histories, (new, "t") in offsets(shown)) == (committed, committed)


def test_memberships_count_once_the_partition_was_read_to_its_end(cluster: Cluster) -> None:
    """A part of the records would be an old state of the group; a later incomplete read keeps the memberships."""
    cluster.unread = 1
    cluster.tick(0)
    cluster.write((group_key(GROUP), group_value(1, ["m"])))
    cluster.tick(0)
    assert GROUP not in cluster.tick(0).state.memberships
    cluster.unread = 0
    assert cluster.tick(0).state.memberships[GROUP].state == "Stable"
    cluster.unread = 1
    assert cluster.tick(0).state.memberships[GROUP].state == "Stable"


@pytest.mark.parametrize("lost", [True, False])
def test_the_hidden_part_is_read_again(cluster: Cluster, *, lost: bool) -> None:
    """The records that were read before are dropped if the log was truncated.

    They are also dropped if the next transaction blocks the partition at an offset beyond them.
    """
    cluster.tick(0)
    cluster.write((commit_key(GROUP, "t", 0), None))
    cluster.tick(0)
    assert (GROUP, "t") not in offsets(cluster.tick(0))
    if lost:
        cluster.is_lost = True
        cluster.tick(0)
        cluster.is_lost = False
    else:
        cluster.stable = cluster.log.position + 5
        cluster.log = HiddenWriter(cluster.stable)
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


def test_a_commit_whose_marker_the_job_has_read_first_is_not_deleted(cluster: Cluster) -> None:
    """In the hidden part, which ends before the marker, the commit is pending behind a tombstone."""
    cluster.tick(0)
    cluster.write((commit_key(GROUP, "t", 0), None))
    cluster.write((commit_key(GROUP, "t", 0), commit_value(40, NOON)), producer=5)
    cluster.commit(OTHER, 21, hidden=True)
    assert (GROUP, "t") not in offsets(cluster.tick(0))
    cluster.job_reads(2)
    assert offsets(cluster.tick())[GROUP, "t"] == (40, False)


def test_a_classic_group_without_its_record_is_a_simple_group(cluster: Cluster) -> None:
    """A group without its record keeps its offsets and is Empty."""
    cluster.shard.read([(group_key(GROUP), group_value(1, ["m"]))])
    cluster.tick(0)
    cluster.write((group_key(GROUP), None))
    cluster.tick(0)
    shown = cluster.tick(0)
    assert GROUP not in shown.state.memberships
    assert (shown.state.histories[GROUP].state, shown.state.histories[GROUP].died) == ("Empty", None)
    assert offsets(shown)[GROUP, "t"] == (10, False)


def test_a_simple_group_created_behind_the_transaction_is_shown(cluster: Cluster) -> None:
    """A new simple group is Empty since its first commit; a dead group that commits again exists again."""
    created = IN_0[3]
    cluster.shard.read([(commit_key(GROUP, "t", 0), None)], time=NOON + 1)
    assert cluster.tick(0).state.histories[GROUP].died == NOON + 1
    for group in (created, GROUP):
        cluster.commit(group, 3, hidden=True)
    for _ in range(2):
        shown = cluster.tick(0)
        histories = [shown.state.histories[group] for group in (created, GROUP)]
        assert [offsets(shown)[group, "t"] for group in (created, GROUP)] == [(3, True)] * 2
        assert [(each.state, each.since, each.died) for each in histories] == [("Empty", NOON + TICK, None)] * 2
        assert created in shown.read_groups
    cluster.write((commit_key(created, "t", 0), None))
    assert created not in cluster.tick(0).state.row_order.groups, "the job never had it"
