"""Commits that were asked for: they stand where the log is silent, and give way to it as soon as it speaks."""

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
from tests.support.fleets import World, delta_of
from tests.support.laws import examples
from tests.support.raw import commit_key, commit_value

if TYPE_CHECKING:
    from collections.abc import Mapping


TICK = 10_000
Shown = tuple[int, bool]
"""An offset, and whether it was asked for."""


class Coordinator:
    """One offsets partition: what is committed, how far the log can be read, and what a monitor makes of it."""

    def __init__(self) -> None:
        self.log = World()
        self.now = 0
        self.low = 0
        self.read_to = 0
        self.records: list[tuple[int, str, int | None]] = []
        self.commits = FetchedCommits(SLOT_MS, KEEP)

    def commit(self, key: str, offset: int | None) -> None:
        """Let a group commit; None: its offset is deleted."""
        self.records.append((self.now, key, offset))

    def truth(self) -> dict[str, int]:
        """Give the offsets that the coordinator knows."""
        return {key: offset for _, key, offset in self.records if offset is not None} | {}

    def ask(self) -> None:
        """Ask for all offsets."""
        truth = self.truth()
        answers = FetchedOffsets(
            time=self.now,
            keys=pa.array([offset_key("g", key, 0) for key in truth], pa.binary()),
            offset=np.array(list(truth.values()), np.int64),
            leader_epoch=np.full(len(truth), -1, np.int32),
            offsets_partition=np.zeros(len(truth), np.int64),
            low=np.full(len(truth), self.low, np.int64),
        )
        self.commits.add(answers, self._log())

    def read(self, stable: int) -> None:
        """Let the monitor read the log up to a position, and see where it ends."""
        some = self.records[self.read_to : stable]
        if some:
            timed = [
                (time, commit_key("g", key, 0), None if offset is None else commit_value(offset, time))
                for time, key, offset in some
            ]
            self.log.take(delta_of(timed, self.read_to))
        self.read_to = max(self.read_to, stable)
        self.commits.set_log_ends({0: len(self.records)})

    def shown(self, *, held: bool) -> dict[str, Shown]:
        """Give what readers see of each key."""
        log = self._log()
        used = self.commits.newer(log, np.full(len(self.commits), held)) & ~self.commits.outdated(log)
        runs = join_runs([log.runs, self.commits.runs_after(log, used)], KEEP)
        asked = set(self.commits.runs.take(used).keys.to_pylist())
        self.runs = runs
        return {
            key: (int(runs.spans.last_offset[row]), offset_key("g", key, 0) in asked)
            for row, raw in enumerate(runs.keys.to_pylist())
            for key in {key for _, key, _ in self.records}
            if raw == offset_key("g", key, 0)
        }

    def _log(self) -> LoggedCommits:
        return LoggedCommits(self.log.fleet.columns().runs)


def test_an_answer_is_a_commit_made_when_it_was_first_given() -> None:
    """The run goes on: progress, count and slots as from the log, to the tick; what the log told before stays."""
    world = Coordinator()
    world.commit("t", 10)
    world.read(1)
    world.low = 1
    for second, offset in ((10, 20), (20, 20), (30, 50)):
        world.now = second * 1000
        world.commit("t", offset)
        world.ask()
        world.read(1)
    assert world.shown(held=True) == {"t": (50, True)}
    spans = world.runs.spans
    assert (spans.commits[0], spans.first_offset[0], spans.last_time[0]) == (3, 10, 30_000)
    assert (spans.reached_time[0], spans.rewinds[0]) == (30_000, 0)
    assert world.runs.slots.offset.tolist()[-1] == 50


def test_a_repeated_answer_tells_nothing() -> None:
    """A commit of the same offset may have come or not: its time stays."""
    world = Coordinator()
    world.commit("t", 10)
    world.read(1)
    for second in (10, 20):
        world.now = second * 1000
        world.commit("t", 10)
        world.ask()
    assert world.shown(held=True) == {"t": (10, False)}
    assert len(world.commits) == 0


def test_a_rewind_behind_the_gap_is_one() -> None:
    """From where to where, and when it was seen."""
    world = Coordinator()
    world.commit("t", 100)
    world.read(1)
    world.low = 1
    for second, offset in ((10, 200), (20, 50)):
        world.now = second * 1000
        world.commit("t", offset)
        world.ask()
    world.shown(held=True)
    spans = world.runs.spans
    told = [int(column[0]) for column in (spans.rewinds, spans.rewind_from, spans.rewind_to, spans.rewind_time)]
    assert told == [1, 200, 50, 20_000]


def test_a_gap_that_moves_makes_no_rewind() -> None:
    """The log tells of the first hidden commits only when a later answer is known already."""
    world = Coordinator()
    world.commit("t", 100)
    world.read(1)
    world.low = 1
    for offset in (200, 300, 400):
        world.now += TICK
        world.commit("t", offset)
        world.ask()
        world.read(1)
    for stable in (2, 3):
        world.read(stable)
        assert world.shown(held=True) == {"t": (400, True)}
        assert (world.runs.spans.rewinds[0], world.runs.spans.last_time[0]) == (0, 3 * TICK)


def test_the_log_is_right_once_the_gap_is_closed() -> None:
    """Also where what it tells is less than what was answered: an open transaction was committed last of all."""
    world = Coordinator()
    world.commit("t", 100)
    world.read(1)
    world.low = 1
    world.commit("t", 300)
    world.ask()
    world.commit("t", 250)
    world.read(1)
    assert world.shown(held=True) == {"t": (300, True)}
    assert world.shown(held=False) == {"t": (300, True)}, "the log has not been read yet"
    world.read(3)
    assert world.shown(held=False) == {"t": (250, False)}


def test_what_the_log_has_deleted_is_gone() -> None:
    """An answer does not bring it back."""
    world = Coordinator()
    world.commit("t", 100)
    world.read(1)
    world.low = 1
    world.commit("t", 300)
    world.ask()
    world.commit("t", None)
    world.read(1)
    assert world.shown(held=True) == {"t": (300, True)}
    world.read(3)
    assert world.shown(held=False) == {}


@dataclasses.dataclass(frozen=True, slots=True)
class Tick:
    """By how much keys go on before the answers are given, and how far the log can be read then."""

    progress: Mapping[str, int]
    stable: float


TICKS = st.lists(
    st.builds(Tick, st.dictionaries(st.sampled_from("abc"), st.integers(0, 9), max_size=3), st.floats(0, 1)),
    min_size=1,
    max_size=8,
)


@examples(40)
@given(TICKS)
def test_readers_see_what_the_coordinator_knows(ticks: list[Tick]) -> None:
    """At every tick while the log is held back, wherever it stands, and from then on what the log tells."""
    world = Coordinator()
    world.commit("a", 5)
    world.read(1)
    world.low, stable = 1, 1
    for tick in ticks:
        world.now += TICK
        for key, more in tick.progress.items():
            world.commit(key, world.truth().get(key, 0) + more)
        world.ask()
        stable += int(tick.stable * (len(world.records) - stable))
        world.read(stable)
        world.low = stable
        assert {key: offset for key, (offset, _) in world.shown(held=True).items()} == world.truth()
        assert world.runs.spans.rewinds.max() == 0
    world.read(len(world.records))
    assert world.shown(held=False) == {key: (offset, False) for key, offset in world.truth().items()}


def test_keys_are_those_of_runs() -> None:
    """What is asked for lies where the log's own commits lie, whatever the names."""
    for name in ("g", "ü", "x" * 300):
        assert offset_key(name, name, 2**31 - 1) == commit_key(name, name, 2**31 - 1)
