"""Fetched commits: they count while the log hides newer ones, and are dropped once the log has them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.commits.run_table import join_runs
from stream.tick.hidden_commits.commits import FetchedCommits, FetchedOffsets, LoggedCommits, offset_key
from tests.support.commits import KEEP, SLOT_MS
from tests.support.driver_states import ShardReader, delta_of
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value

if TYPE_CHECKING:
    from collections.abc import Mapping


TICK = 10_000
Shown = tuple[int, bool]
"""An offset, and whether it was fetched."""


class Coordinator:
    """One offsets partition: its commits, how far its log is readable, and what a monitor shows of it."""

    def __init__(self) -> None:
        self.logged = ShardReader()
        self.now = 0
        self.low = 0
        self.read_to = 0
        self.records: list[tuple[int, str, int | None]] = []
        self.commits = FetchedCommits(SLOT_MS, KEEP)

    def commit(self, key: str, offset: int | None) -> None:
        """Commit an offset; None: delete it."""
        self.records.append((self.now, key, offset))

    def committed(self) -> dict[str, int]:
        """Return the offsets that the coordinator has."""
        return {key: offset for _, key, offset in self.records if offset is not None} | {}

    def fetch(self) -> None:
        """Fetch all offsets."""
        committed = self.committed()
        fetched = FetchedOffsets(
            time=self.now,
            keys=pa.array([offset_key("g", key, 0) for key in committed], pa.binary()),
            offset=np.array(list(committed.values()), np.int64),
            leader_epoch=np.full(len(committed), -1, np.int32),
            offsets_partition=np.zeros(len(committed), np.int64),
            low=np.full(len(committed), self.low, np.int64),
        )
        self.commits.add(fetched, self._logged_commits())

    def read(self, stable: int) -> None:
        """Read the log up to a last stable offset, and the end of the log."""
        new = self.records[self.read_to : stable]
        if new:
            timed = [
                (time, commit_key("g", key, 0), None if offset is None else commit_value(offset, time))
                for time, key, offset in new
            ]
            self.logged.apply(delta_of(timed, self.read_to))
        self.read_to = max(self.read_to, stable)
        self.commits.set_log_ends({0: len(self.records)})

    def shown(self, *, blocked: bool) -> dict[str, Shown]:
        """Return what the monitor shows of each key."""
        logged = self._logged_commits()
        used = self.commits.newer(logged, np.full(len(self.commits), blocked)) & ~self.commits.outdated(logged)
        runs = join_runs([logged.runs, self.commits.runs_after(logged, used)], KEEP)
        fetched = set(self.commits.runs.take(used).keys.to_pylist())
        self.runs = runs
        return {
            key: (int(runs.spans.last_offset[row]), offset_key("g", key, 0) in fetched)
            for row, raw in enumerate(runs.keys.to_pylist())
            for key in {key for _, key, _ in self.records}
            if raw == offset_key("g", key, 0)
        }

    def _logged_commits(self) -> LoggedCommits:
        return LoggedCommits(self.logged.driver_state.columns().runs)


def test_a_fetched_offset_counts_as_a_commit_at_the_time_of_its_first_fetch() -> None:
    """The run continues: progress, count and slots are as from the log, to within a tick."""
    coordinator = Coordinator()
    coordinator.commit("t", 10)
    coordinator.read(1)
    coordinator.low = 1
    for second, offset in ((10, 20), (20, 20), (30, 50)):
        coordinator.now = second * 1000
        coordinator.commit("t", offset)
        coordinator.fetch()
        coordinator.read(1)
    assert coordinator.shown(blocked=True) == {"t": (50, True)}
    spans = coordinator.runs.spans
    assert (spans.commits[0], spans.first_offset[0], spans.last_time[0]) == (3, 10, 30_000)
    assert (spans.reached_time[0], spans.rewinds[0]) == (30_000, 0)
    assert coordinator.runs.slots.offset.tolist()[-1] == 50


def test_a_repeated_offset_adds_nothing() -> None:
    """It may have been committed again or not, so the commit time stays."""
    coordinator = Coordinator()
    coordinator.commit("t", 10)
    coordinator.read(1)
    for second in (10, 20):
        coordinator.now = second * 1000
        coordinator.commit("t", 10)
        coordinator.fetch()
    assert coordinator.shown(blocked=True) == {"t": (10, False)}
    assert len(coordinator.commits) == 0


def test_a_hidden_rewind_is_counted() -> None:
    """With both offsets and the time of the fetch."""
    coordinator = Coordinator()
    coordinator.commit("t", 100)
    coordinator.read(1)
    coordinator.low = 1
    for second, offset in ((10, 200), (20, 50)):
        coordinator.now = second * 1000
        coordinator.commit("t", offset)
        coordinator.fetch()
    coordinator.shown(blocked=True)
    spans = coordinator.runs.spans
    rewind = [int(column[0]) for column in (spans.rewinds, spans.rewind_from, spans.rewind_to, spans.rewind_time)]
    assert rewind == [1, 200, 50, 20_000]


def test_a_last_stable_offset_that_moves_makes_no_rewind() -> None:
    """The log shows the first hidden commits when later ones have been fetched already."""
    coordinator = Coordinator()
    coordinator.commit("t", 100)
    coordinator.read(1)
    coordinator.low = 1
    for offset in (200, 300, 400):
        coordinator.now += TICK
        coordinator.commit("t", offset)
        coordinator.fetch()
        coordinator.read(1)
    for stable in (2, 3):
        coordinator.read(stable)
        assert coordinator.shown(blocked=True) == {"t": (400, True)}
        assert (coordinator.runs.spans.rewinds[0], coordinator.runs.spans.last_time[0]) == (0, 3 * TICK)


def test_the_log_counts_once_nothing_is_hidden() -> None:
    """Also if its offset is lower than the fetched one: the open transaction was committed last."""
    coordinator = Coordinator()
    coordinator.commit("t", 100)
    coordinator.read(1)
    coordinator.low = 1
    coordinator.commit("t", 300)
    coordinator.fetch()
    coordinator.commit("t", 250)
    coordinator.read(1)
    assert coordinator.shown(blocked=True) == {"t": (300, True)}
    assert coordinator.shown(blocked=False) == {"t": (300, True)}, "the log has not been read yet"
    coordinator.read(3)
    assert coordinator.shown(blocked=False) == {"t": (250, False)}


def test_an_offset_deleted_in_the_log_is_removed() -> None:
    """A fetched offset from before does not restore it."""
    coordinator = Coordinator()
    coordinator.commit("t", 100)
    coordinator.read(1)
    coordinator.low = 1
    coordinator.commit("t", 300)
    coordinator.fetch()
    coordinator.commit("t", None)
    coordinator.read(1)
    assert coordinator.shown(blocked=True) == {"t": (300, True)}
    coordinator.read(3)
    assert coordinator.shown(blocked=False) == {}


@dataclasses.dataclass(frozen=True, slots=True)
class Tick:
    """Progress of each key before the fetch, and how far the log is readable then (share of what is hidden)."""

    progress: Mapping[str, int]
    stable: float


TICKS = st.lists(
    st.builds(Tick, st.dictionaries(st.sampled_from("abc"), st.integers(0, 9), max_size=3), st.floats(0, 1)),
    min_size=1,
    max_size=8,
)


@examples(40)
@given(TICKS)
def test_the_shown_offsets_are_those_of_the_coordinator(ticks: list[Tick]) -> None:
    """At every tick while the log is blocked, for any last stable offset; afterwards they are those of the log."""
    coordinator = Coordinator()
    coordinator.commit("a", 5)
    coordinator.read(1)
    coordinator.low, stable = 1, 1
    for tick in ticks:
        coordinator.now += TICK
        for key, more in tick.progress.items():
            coordinator.commit(key, coordinator.committed().get(key, 0) + more)
        coordinator.fetch()
        stable += int(tick.stable * (len(coordinator.records) - stable))
        coordinator.read(stable)
        coordinator.low = stable
        assert {key: offset for key, (offset, _) in coordinator.shown(blocked=True).items()} == coordinator.committed()
        assert coordinator.runs.spans.rewinds.max() == 0
    coordinator.read(len(coordinator.records))
    assert coordinator.shown(blocked=False) == {key: (offset, False) for key, offset in coordinator.committed().items()}


def test_keys_are_those_of_runs() -> None:
    """A fetched offset has the same key as a commit in the log, for any names."""
    for name in ("g", "ü", "x" * 300):
        assert offset_key(name, name, 2**31 - 1) == commit_key(name, name, 2**31 - 1)
