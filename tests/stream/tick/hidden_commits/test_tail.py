"""The part of an offsets partition behind its last stable offset: its fold equals the later result of the job."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from stream.groups.commits.run_table import Runs
from stream.groups.commits.runs import columns_of
from stream.groups.shard import newest_records
from stream.tick.hidden_commits.tail import HiddenTail
from tests.support.commits import KEEP, SLOT_MS
from tests.support.driver_states import Raw, delta_of
from tests.support.hidden import HiddenWriter
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value, group_key, group_value

KEY = commit_key("g", "t", 0)
"""The canonical key of a run is the key of record type 1."""


class Tail:
    """A tail from offset 100 on and its writer; each method writes and reads at once."""

    def __init__(self) -> None:
        self.tail = HiddenTail(100, SLOT_MS, KEEP)
        self.writer = HiddenWriter(100)

    def write(self, key: bytes | None, value: bytes | None, producer: int | None = None) -> None:
        """Write one record; its timestamp is its offset."""
        self.writer.write((key, value), producer=producer)
        self.tail.add(self.writer.part())

    def end(self, producer: int, *, committed: bool) -> None:
        self.writer.end(producer, committed=committed)
        self.tail.add(self.writer.part())

    @property
    def offsets(self) -> dict[bytes, int]:
        """Return the committed offsets that count."""
        return offsets_of(self.tail.runs)


def offsets_of(runs: Runs) -> dict[bytes, int]:
    """Return the committed offset of each key that has one."""
    rows = zip(runs.keys.to_pylist(), runs.spans.last_offset.tolist(), runs.spans.commits.tolist(), strict=True)
    return {key: offset for key, offset, commits in rows if commits}


def test_a_marker_does_not_replace_a_newer_commit() -> None:
    """As in OffsetMetadataManager, the greater position counts, and the offset stays pending until the marker."""
    written = Tail()
    written.write(KEY, commit_value(5, 1), producer=7)
    written.write(KEY, commit_value(9, 1))
    assert (written.tail.pending.keys(), written.offsets) == ({KEY}, {KEY: 9})
    written.end(7, committed=True)
    assert (written.tail.pending, written.offsets) == ({}, {KEY: 9})


def test_a_tail_is_complete_once_it_was_read_to_its_end() -> None:
    """A complete tail stays complete; the number of offsets that the last read left is known."""
    written = Tail()
    seen = []
    for unread in (5, 0, 3):
        written.writer.write((KEY, commit_value(1, 1)))
        written.tail.add(written.writer.part(unread=unread))
        seen.append((written.tail.position, written.tail.unread, written.tail.complete))
    assert seen == [(101, 5, False), (102, 0, True), (103, 3, True)]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.integers(0, 2), st.sampled_from([None, 1, 2])),
        st.tuples(st.just("delete"), st.integers(0, 2), st.none()),
        st.tuples(st.just("join"), st.integers(1, 2), st.none()),
        st.tuples(st.sampled_from(["commit_marker", "abort_marker"]), st.just(0), st.sampled_from([1, 2])),
    ),
    max_size=25,
)


class Stable:
    """Collects the records that a read_committed consumer gets after all transactions, in plain Python."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, Raw]] = []
        self.out_of_order = False
        self._open: dict[int, dict[int, Raw]] = {}

    def add(self, position: int, record: Raw, producer: int | None) -> None:
        if producer is not None:
            self._open.setdefault(producer, {})[position] = record
            return
        self.rows.append((position, record))
        if record[1] is None:
            for commits in self._open.values():
                for at in [at for at, (key, _) in commits.items() if key == record[0]]:
                    del commits[at]

    def end(self, producer: int, *, committed: bool) -> None:
        ended = self._open.pop(producer, {})
        for position, record in ended.items() if committed else ():
            self.out_of_order |= any(at > position and row[0] == record[0] for at, row in self.rows)
            self.rows.append((position, record))


@examples(100)
@given(STEPS, st.sets(st.integers(0, 25)))
def test_the_fold_of_a_tail_is_the_fold_of_its_records_once_they_are_stable(
    steps: Sequence[tuple[str, int, int | None]], cuts: set[int]
) -> None:
    """The results are equal for any split into responses; counts are equal if commits are in order.

    Offsets, positions, deletions and members are equal in any case. A commit that is older than another commit of its
    offset when its marker is read may not be counted.
    """
    tail, writer, stable = HiddenTail(100, SLOT_MS, KEEP), HiddenWriter(100), Stable()
    for number, (step, at, producer) in enumerate([*steps, ("commit_marker", 0, 1), ("abort_marker", 0, 2)]):
        if step.endswith("marker"):
            assert producer is not None
            writer.end(producer, committed=step == "commit_marker")
            stable.end(producer, committed=step == "commit_marker")
        else:
            value = {"commit": commit_value(number, number), "delete": None, "join": group_value(number, ["m"])}[step]
            record = (group_key(f"g{at}") if step == "join" else commit_key("g", "t", at), value)
            stable.add(writer.position, record, producer)
            writer.write(record, producer=producer)
        if number in cuts:
            tail.add(writer.part())
    tail.add(writer.part())
    assert (tail.pending, tail.position) == ({}, writer.position)
    if not stable.rows:
        assert (len(tail.runs), tail.memberships) == (0, {})
        return
    expected = [(-1, None, None)] * (writer.position - 100)
    for position, (key, value) in stable.rows:
        expected[position - 100] = (position, key, value)
    delta = delta_of(expected, 100)
    order = [tail.runs.keys.to_pylist().index(key) for key in delta.runs.keys.to_pylist()]
    assert len(order) == len(tail.runs)
    ours, theirs = tail.runs.spans.take(order), delta.runs.spans
    assert ours.last_position.tolist() == theirs.last_position.tolist()
    assert (ours.commits > 0).tolist() == (theirs.commits > 0).tolist()
    assert offsets_of(tail.runs) == offsets_of(delta.runs)
    counted = theirs.commits > 0
    if not stable.out_of_order:
        for mine, other in zip(columns_of(ours), columns_of(theirs), strict=True):
            assert mine[counted].tolist() == other[counted].tolist()
    records = newest_records(delta.records)
    members = {key: value for each in tail.memberships.values() for key, value in each.records.items()}
    assert members == dict(zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True))
