"""Hidden groups: asked in turn, shown from what they answered, and given back to the log when the gap closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

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
from tests.support.fleets import World, ends_of
from tests.support.raw import commit_key, commit_value, group_key, group_value, text

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
    """Coordinators that answer from a table, and a log of which only a part can be read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **bounds: Any) -> None:
        self.world = World()
        self.offsets: dict[tuple[str, str, int], int] = {}
        self.refused: dict[str, str] = {}
        self.asked: list[list[str]] = []
        self.stable, self.high = 10, 10
        self.ends: list[tuple[str, int, int | None, int | None, int | None, str | None]] = [("t", 0, 99, 99, 0, None)]
        self.now = NOON
        self.groups = HiddenGroups(cast("Any", None), LookupLimits(**bounds))
        monkeypatch.setattr(groups_module, "fetch_offsets", self._fetch)
        monkeypatch.setattr(log_reader, "read_hidden", self._read)
        self.log: list[HiddenBatch] = []
        self.gone, self.wrote, self.complete = False, False, True

    def _fetch(self, _: object, __: object, groups: Sequence[str]) -> pa.Table:
        self.asked.append(list(groups))
        rows = [
            {"group": group, "topic": topic, "partition": partition, "committed_offset": offset}
            for (group, topic, partition), offset in sorted(self.offsets.items())
            if group in groups and group not in self.refused
        ]
        rows += [{"group": group, "error": self.refused[group]} for group in groups if group in self.refused]
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
        """Let records be written behind the last stable offset; those of a producer are of its transaction."""
        self.wrote = True
        rows = []
        for key, value in records:
            rows.append(LogRecord(self.high, self.now, key, value))
            self.high += 1
        self.log.append(HiddenBatch(tuple(rows), producer))

    def end(self, producer: int, *, committed: bool) -> None:
        """Let a transaction end."""
        self.log.append(HiddenBatch(producer_id=producer, committed=committed))
        self.high += 1

    def commit(self, group: str, offset: int, topic: str = "t", *, hidden: bool = False) -> None:
        """Let a group commit: the log tells it, or only its coordinator knows."""
        self.offsets[group, topic, 0] = offset
        if not hidden:
            self.world.read([(commit_key(group, topic, 0), commit_value(offset, self.now))], time=self.now)

    def tick(self, *held: int, first: bool = False) -> HiddenCommits:
        """Let a tick go by while these offsets partitions are held back; `first`: asked before the ends are read."""
        self.now += TICK
        fleet = self.world.fleet.columns(self.groups.groups_with_records)
        self.groups.set_read_positions({0: self.world._position})
        if first:
            self.groups.fetch(fleet, self.now)
        own = [(NAME, p, self.high, self.stable if p in held else self.high, 0, None) for p in range(PARTITIONS)]
        ends = EndsIndex(ends_of([*own, *self.ends]))
        shown = self.groups.apply(fleet, ends, {p: BlockedOffsetsPartition(p, NOON) for p in held}, self.now)
        if not shown.asked.any() and not self.wrote:
            assert shown.fleet is fleet, "the very same fleet where nothing is put in"
        return shown


def told(shown: HiddenCommits) -> dict[tuple[str, str], tuple[int, bool]]:
    """Give offset and mark by group and topic."""
    fleet = shown.fleet
    rows = zip(fleet.group.to_pylist(), fleet.topic.to_pylist(), fleet.runs.spans.last_offset, shown.asked, strict=True)
    return {(group, topic): (int(offset), bool(asked)) for group, topic, offset, asked in rows}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Give a cluster with one group in offsets partition 0 and one in partition 1."""
    made = Cluster(monkeypatch)
    made.commit(GROUP, 10)
    made.commit(OTHER, 20)
    return made


def test_nothing_is_asked_while_nothing_is_held_back(cluster: Cluster) -> None:
    """The fleet that was given comes back."""
    for _ in range(3):
        shown = cluster.tick(first=True)
        assert (shown.groups, shown.hidden, dict(shown.partitions)) == (frozenset(), frozenset(), {})
    assert cluster.asked == []


def test_the_groups_of_the_partition_are_answered_by_their_coordinator(cluster: Cluster) -> None:
    """Those of others are not asked; what was asked at one tick is held against the ends of the next."""
    cluster.commit(GROUP, 30, hidden=True)
    cluster.commit(OTHER, 50, hidden=True)
    before = cluster.tick(0)
    assert (before.hidden, before.groups) == (frozenset({GROUP}), frozenset())
    assert told(before)[GROUP, "t"] == (10, False)
    shown = cluster.tick(0)
    assert told(shown) == {(GROUP, "t"): (30, True), (OTHER, "t"): (20, False)}
    assert (shown.groups, shown.hidden) == (frozenset({GROUP}), frozenset())
    assert dict(shown.partitions) == {0: BlockedOffsetsPartition(0, NOON)}
    assert cluster.asked == [[GROUP], [GROUP]]


def test_asked_before_the_ends_an_answer_is_used_at_once(cluster: Cluster) -> None:
    """Then it is no newer than they are."""
    cluster.tick(0, first=True)
    cluster.commit(GROUP, 30, hidden=True)
    assert told(cluster.tick(0, first=True))[GROUP, "t"] == (30, True)
    assert cluster.asked == [[GROUP]], "not once more in the same tick"


def test_an_answer_that_says_what_the_log_says_changes_nothing(cluster: Cluster) -> None:
    """The group counts as answered all the same."""
    cluster.tick(0)
    shown = cluster.tick(0)
    assert (shown.groups, bool(shown.asked.any())) == (frozenset({GROUP}), False)


def test_the_log_is_believed_again_when_it_has_told(cluster: Cluster) -> None:
    """An answer stands while the job has not read what is readable now; then nothing is left of it."""
    cluster.commit(GROUP, 30, hidden=True)
    cluster.tick(0)
    cluster.high = 20
    cluster.tick(0)
    closed = cluster.tick()
    assert told(closed)[GROUP, "t"] == (30, True), "the log has not been read yet"
    cluster.world._position = 15
    cluster.commit(GROUP, 25)
    again = cluster.tick()
    assert (told(again)[GROUP, "t"], again.groups) == ((25, False), frozenset())


def test_an_answer_stands_while_what_is_readable_has_been_read_in_part(cluster: Cluster) -> None:
    """The tick that sees the gap closed has a fleet from before; the next one has the log's truth."""
    cluster.commit(GROUP, 30, hidden=True)
    cluster.tick(0)
    cluster.high = 20
    cluster.tick(0)
    cluster.world._position = 12
    cluster.commit(GROUP, 15)
    assert told(cluster.tick())[GROUP, "t"] == (30, True)
    assert told(cluster.tick())[GROUP, "t"] == (15, False)


def test_an_answer_does_not_outlive_the_gap_for_long(cluster: Cluster) -> None:
    """Where the log never tells of the key again: its offset was deleted before anybody could read of it."""
    cluster.commit(GROUP, 30, hidden=True)
    cluster.tick(0)
    cluster.tick(0)
    shown = [told(cluster.tick())[GROUP, "t"][1] for _ in range(8)]
    assert shown == [True] * 6 + [False] * 2


def test_a_commit_of_a_partition_that_the_log_does_not_know_gets_a_row(cluster: Cluster) -> None:
    """With its ends known it is no partition without a commit; and the order of the rows is kept from tick to tick."""
    cluster.commit(GROUP, 7, topic="new", hidden=True)
    cluster.tick(0)
    assert (GROUP, "new") not in told(cluster.tick(0)), "nobody has asked for the ends of that topic"
    assert cluster.groups.topics == {"new"}
    cluster.ends.append(("new", 0, 9, 9, 0, None))
    shown = [cluster.tick(0) for _ in range(2)]
    assert told(shown[0])[GROUP, "new"] == (7, True)
    assert shown[0].fleet.row_order is shown[1].fleet.row_order
    assert shown[0].fleet.row_order.topics == ["new", "t"]
    assert len(shown[0].fleet.partition) == len(shown[0].fleet.runs) == 3
    assert told(cluster.tick(0)) == told(shown[0])


def test_so_many_groups_at_a_tick_the_longest_waiting_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its turn; one that was not asked again keeps its answer."""
    cluster = Cluster(monkeypatch, fetched_groups=2)
    names = IN_0[:5]
    for name in names:
        cluster.commit(name, 1)
        cluster.commit(name, 2, hidden=True)
    for _ in range(4):
        shown = cluster.tick(0)
    assert [len(asked) for asked in cluster.asked] == [2, 2, 2, 2]
    assert {name for asked in cluster.asked[:3] for name in asked} == set(names)
    assert {told(shown)[name, "t"] for name in names} == {(2, True)}


def test_groups_that_cannot_be_asked_stay_hidden(cluster: Cluster) -> None:
    """Denied or away: what the log told is shown, and that it may be old is said."""
    cluster.refused[GROUP] = "not_authorized"
    cluster.commit(GROUP, 30, hidden=True)
    cluster.tick(0)
    shown = cluster.tick(0)
    assert (shown.groups, shown.hidden, told(shown)[GROUP, "t"]) == (frozenset(), frozenset({GROUP}), (10, False))


def test_share_groups_are_not_asked(cluster: Cluster) -> None:
    """Their offsets are kept elsewhere; a group that is known from its members alone is asked."""
    share, members = IN_0[1], IN_0[2]
    record = written.record(11, {"group_id": share}, {"epoch": 1})
    cluster.world.read([record])
    assert cluster.world.fleet.columns().memberships[share].kind == "share"
    cluster.world.read([(group_key(members), group_value(1, ["m"]))])
    cluster.tick(0)
    assert sorted(cluster.asked[0]) == sorted([GROUP, members])


def kept_by(*records: tuple[bytes, bytes | None]) -> list[tuple[bytes, bytes | None]]:
    """Give records of a KIP-848 group under the name of the group that is held back."""
    return [(key[:2] + text(GROUP) + key[2 + len(text("g")) :], value) for key, value in records]


def test_a_deleted_group_is_dead_at_once(cluster: Cluster) -> None:
    """Its offset and its lag are gone, though the job cannot read the tombstones; why it ended can be told."""
    cluster.tick(0)
    cluster.write((commit_key(GROUP, "t", 0), None))
    del cluster.offsets[GROUP, "t", 0]
    cluster.tick(0)
    shown = cluster.tick(0)
    assert told(shown) == {(OTHER, "t"): (20, False)}
    life = shown.fleet.histories[GROUP]
    assert (life.state, life.died) == ("Dead", cluster.now - 2 * TICK)
    ending = life.transitions[-1].removal
    assert ending is not None
    assert (ending.state, ending.offsets, ending.topics, ending.last_commit) == ("Empty", 1, ("t",), NOON)
    assert shown.fleet.row_order.groups == sorted([GROUP, OTHER]), "it is still shown, as a dead one"
    assert cluster.tick(0).fleet.row_order is shown.fleet.row_order
    assert shown.unread == {GROUP}


def test_a_hidden_answer_does_not_bring_a_deleted_offset_back(cluster: Cluster) -> None:
    """An answer that came before the tombstone is older than it; one that comes behind it is shown."""
    cluster.commit(GROUP, 30, hidden=True)
    cluster.tick(0)
    assert told(cluster.tick(0))[GROUP, "t"] == (30, True)
    cluster.write((commit_key(GROUP, "t", 0), None))
    del cluster.offsets[GROUP, "t", 0]
    assert (GROUP, "t") not in told(cluster.tick(0, first=True))
    assert (GROUP, "t") not in told(cluster.tick(0, first=True))
    cluster.commit(GROUP, 31, hidden=True)
    cluster.write((commit_key(GROUP, "t", 0), commit_value(31, cluster.now)))
    shown = cluster.tick(0, first=True)
    assert told(shown)[GROUP, "t"] == (31, True)
    assert shown.fleet.histories[GROUP].died is None


def test_the_log_says_again_what_was_deleted(cluster: Cluster) -> None:
    """The hidden part stands for the log until the job has read as far, and is forgotten then."""
    cluster.tick(0)
    cluster.write((commit_key(GROUP, "t", 0), None))
    del cluster.offsets[GROUP, "t", 0]
    cluster.tick(0)
    assert (GROUP, "t") not in told(cluster.tick()), "readable, and not read yet"
    cluster.world._position = cluster.high - 1
    cluster.world.read([(commit_key(GROUP, "t", 0), None)], time=cluster.now)
    shown = cluster.tick()
    assert (shown.unread, shown.fleet.histories[GROUP].died) == (frozenset(), cluster.now - TICK)


def test_memberships_go_on_behind_the_transaction(cluster: Cluster) -> None:
    """A static member leaves for a while before it and comes back behind it; the members can be looked at."""
    away = [
        written.group_epoch(2),
        written.member("m", "t", instance="i"),
        written.target_epoch(2),
        written.stands("m", -2, {}),
    ]
    cluster.world.read(kept_by(*away))
    before = cluster.tick(0).fleet.memberships[GROUP]
    assert (before.state, before.away) == ("Reconciling", 1)
    back = [
        *map(written.gone, (written.stands("m", -2, {}), written.member("m", instance="i"))),
        written.member("n", "t", instance="i"),
        written.stands("n", 2, {}),
    ]
    cluster.write(*kept_by(*back))
    cluster.tick(0)
    shown = cluster.tick(0)
    known = shown.fleet.memberships[GROUP]
    assert (known.state, known.members, known.away) == ("Stable", 1, 0)
    assert [each.member_id for each in shown.members[GROUP].members(GROUP)] == ["n"]
    life = shown.fleet.histories[GROUP]
    assert (life.state, life.since) == ("Stable", cluster.now - 2 * TICK)
    assert cluster.tick(0).fleet.memberships[GROUP] is known, "what did not change is the same object"


def test_a_classic_group_that_ends_and_keeps_its_offsets_is_a_simple_one(cluster: Cluster) -> None:
    """The end of its membership is seen; it lives on as Empty."""
    cluster.world.read([(group_key(GROUP), group_value(1, ["m"]))])
    cluster.tick(0)
    cluster.write((group_key(GROUP), None))
    cluster.tick(0)
    shown = cluster.tick(0)
    assert GROUP not in shown.fleet.memberships
    assert (shown.fleet.histories[GROUP].state, shown.fleet.histories[GROUP].died) == ("Empty", None)
    assert told(shown)[GROUP, "t"] == (10, False)


def test_a_group_that_is_born_behind_the_transaction_has_members(cluster: Cluster) -> None:
    """It stands among the groups though the job has read nothing of it, with its offsets: else it would have none."""
    born = IN_0[3]
    cluster.tick(0)
    cluster.write((group_key(born), group_value(1, ["m"])))
    cluster.commit(born, 3, hidden=True)
    cluster.tick(0)
    cluster.tick(0)
    shown = cluster.tick(0)
    assert told(shown)[born, "t"] == (3, True)
    assert born in shown.groups
    assert (shown.fleet.memberships[born].state, shown.fleet.histories[born].state) == ("Stable", "Stable")
    assert born in shown.fleet.row_order.groups


def test_pending_commits_are_told(cluster: Cluster) -> None:
    """By their keys, as long as their transaction is open; a group with nothing else left is not dead."""
    cluster.tick(0)
    cluster.write((commit_key(GROUP, "t", 0), None))
    cluster.write((commit_key(GROUP, "t", 0), commit_value(40, NOON)), producer=5)
    del cluster.offsets[GROUP, "t", 0]
    cluster.tick(0)
    shown = cluster.tick(0)
    assert shown.fleet.pending == {offset_key(GROUP, "t", 0)}
    assert shown.fleet.histories[GROUP].died is None
    cluster.end(5, committed=False)
    cluster.tick(0)
    shown = cluster.tick(0)
    assert (shown.fleet.pending, shown.fleet.histories[GROUP].state) == (frozenset(), "Dead")


def test_a_log_that_was_cut_is_read_anew(cluster: Cluster) -> None:
    """What was read of it is not believed any more."""
    cluster.tick(0)
    cluster.write((commit_key(GROUP, "t", 0), None))
    cluster.tick(0)
    cluster.gone = True
    cluster.tick(0)
    cluster.gone = False
    assert told(cluster.tick(0))[GROUP, "t"] == (10, False)


def test_what_is_hidden_is_shown_once_it_has_been_read_to_its_end(cluster: Cluster) -> None:
    """Half of it would be the past of the group, not its present; then the last that was read stays."""
    cluster.complete = False
    cluster.tick(0)
    cluster.write((group_key(GROUP), group_value(1, ["m"])))
    cluster.tick(0)
    assert GROUP not in cluster.tick(0).fleet.memberships
    cluster.complete = True
    cluster.tick(0)
    assert cluster.tick(0).fleet.memberships[GROUP].state == "Stable"
    cluster.complete = False
    assert cluster.tick(0).fleet.memberships[GROUP].state == "Stable"


def test_it_begins_anew_where_the_job_may_have_read_further(cluster: Cluster) -> None:
    """The last stable offset has passed what was read, for the next transaction holds the partition back."""
    cluster.tick(0)
    cluster.write((commit_key(GROUP, "t", 0), None))
    cluster.tick(0)
    assert (GROUP, "t") not in told(cluster.tick(0))
    cluster.stable = cluster.high = cluster.high + 5
    cluster.high += 1
    cluster.tick(0)
    assert told(cluster.tick(0))[GROUP, "t"] == (10, False)


def test_records_that_cannot_be_evaluated_leave_the_group_as_it_was(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the program in them ends no group, and no tick."""
    cluster.world.read([(group_key(GROUP), group_value(1, ["m"]))])
    cluster.tick(0)
    cluster.write((group_key(GROUP), group_value(2, ["m", "n"])))
    cluster.tick(0)

    def fail(*_: object) -> None:
        raise IndexError("a fault")

    monkeypatch.setattr(Memberships, "_tell", fail)
    fleet = cluster.tick(0).fleet
    assert (fleet.memberships[GROUP].generation, fleet.histories[GROUP].died) == (1, None)
