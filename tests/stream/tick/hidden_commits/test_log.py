"""The hidden part of an offsets partition: the same result as the log will have once its transactions have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from decoders.log.batch import LogRecord
from stream.cluster.hidden_records import HiddenBatch
from stream.tick.hidden_commits.commits import offset_key
from stream.tick.hidden_commits.log import HiddenLog, NewestRecord
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value, group_key, group_value

if TYPE_CHECKING:
    from collections.abc import Sequence

KEY = offset_key("g", "t", 0)


class Writer:
    """Writes batches behind a last stable offset of 100."""

    def __init__(self) -> None:
        self.log = HiddenLog(100)
        self.at = 100

    def write(self, key: bytes | None, value: bytes | None, producer: int | None = None) -> None:
        """Write one record; its timestamp is its offset."""
        self.log.add([HiddenBatch((LogRecord(self.at, self.at, key, value),), producer)])
        self.at += 1

    def end(self, producer: int, *, committed: bool) -> None:
        """Write a marker."""
        self.log.add([HiddenBatch(producer_id=producer, committed=committed)])
        self.at += 1


def test_an_offset_is_deleted_until_it_is_committed_again() -> None:
    """The newest record of its key counts, of type 1 or 0."""
    writer = Writer()
    writer.write(commit_key("g", "t", 0), None)
    assert dict(writer.log.deleted) == {KEY: NewestRecord(100, 100)}
    writer.write(commit_key("g", "t", 0, record_type=0), commit_value(5, 1))
    assert dict(writer.log.deleted) == {}


def test_a_commit_of_an_open_transaction_is_pending_until_the_marker() -> None:
    """A committed one then counts unless a newer one exists; an aborted one does not."""
    for committed in (True, False):
        writer = Writer()
        writer.write(commit_key("g", "t", 0), None)
        writer.write(commit_key("g", "t", 0), commit_value(5, 1), producer=7)
        assert (writer.log.pending, set(writer.log.deleted)) == (frozenset({KEY}), {KEY})
        writer.end(8, committed=True)
        assert writer.log.pending == {KEY}
        writer.end(7, committed=committed)
        assert writer.log.pending == frozenset()
        assert set(writer.log.deleted) == (set() if committed else {KEY})


def test_a_tombstone_cancels_what_is_pending() -> None:
    """As in OffsetMetadataManager: the marker does not restore the commit."""
    writer = Writer()
    writer.write(commit_key("g", "t", 0), commit_value(5, 1), producer=7)
    writer.write(commit_key("g", "t", 0), None)
    assert writer.log.pending == frozenset()
    writer.end(7, committed=True)
    assert set(writer.log.deleted) == {KEY}


def test_membership_records_are_kept_by_group_and_key() -> None:
    """The newest value of each key, with tombstones; records that cannot be decoded are left out."""
    writer = Writer()
    writer.write(group_key("g"), group_value(1, ["m"]))
    writer.write(group_key("g"), group_value(2, []))
    writer.write(group_key("h"), None)
    writer.write(group_key("g"), b"\x00\x03broken")
    writer.write(b"\x00", b"")
    writer.write(None, b"")
    memberships = writer.log.memberships
    assert {group: each.records for group, each in memberships.items()} == {
        "g": {group_key("g"): group_value(2, [])},
        "h": {group_key("h"): None},
    }
    assert (memberships["g"].newest, memberships["g"].version) == (NewestRecord(101, 101), 2)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.integers(0, 2), st.sampled_from([None, 1, 2])),
        st.tuples(st.just("delete"), st.integers(0, 2), st.none()),
        st.tuples(st.sampled_from(["commit_marker", "abort_marker"]), st.just(0), st.sampled_from([1, 2])),
    ),
    max_size=25,
)


@examples(200)
@given(STEPS)
def test_deleted_offsets_are_those_of_a_reader_after_all_transactions(
    steps: Sequence[tuple[str, int, int | None]],
) -> None:
    """The last record by log offset decides, among those that count; cancelled commits do not."""
    writer = Writer()
    rows: list[tuple[int, int, bool]] = []
    open_: dict[int, dict[int, int]] = {}
    for step, partition, producer in [*steps, ("commit_marker", 0, 1), ("abort_marker", 0, 2)]:
        if step.endswith("marker"):
            assert producer is not None
            pending = open_.pop(producer, {})
            writer.end(producer, committed=step == "commit_marker")
            rows += [(at, p, False) for p, at in pending.items() if step == "commit_marker"]
        elif producer is not None:
            open_.setdefault(producer, {})[partition] = writer.at
            writer.write(commit_key("g", "t", partition), commit_value(1, 1), producer)
        else:
            rows.append((writer.at, partition, step == "delete"))
            if step == "delete":
                for pending in open_.values():
                    pending.pop(partition, None)
            writer.write(commit_key("g", "t", partition), None if step == "delete" else commit_value(1, 1))
    newest = {partition: deleted for _, partition, deleted in sorted(rows)}
    assert set(writer.log.deleted) == {offset_key("g", "t", p) for p, deleted in newest.items() if deleted}
    assert writer.log.pending == frozenset()
