"""Measures one evaluation of health: 200,000 partitions on one core, with different shares of stopped consumers.

Run: python -m bench.health [partitions]
"""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.report import Target, table, target_table
from stream.groups.commits import runs
from stream.groups.commits.slots import Slots
from stream.health.evaluator import Evaluator
from stream.health.features.lag import PartitionEnds
from stream.health.inputs import GroupInputs, GroupStage, HealthInputs
from stream.health.verdict import SEVERITIES, Severity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.health.evaluator import EvaluationResult

PARTITIONS: Final = 200_000
_PER_TOPIC: Final = 20
_GROUPS: Final = 2_000
_NOW: Final = 1_700_000_000_000
_TICK: Final = 10_000
_SLOT: Final = 30_000
_SLOTS: Final = 10
_TICKS: Final = 30
_LIMIT: Final = 1.0


@dataclasses.dataclass(frozen=True, slots=True)
class Timed:
    """The measurements of one scenario; `needs_action` counts the partitions of the last tick that need action."""

    what: str
    seconds: list[float]
    needs_action: int
    megabytes: float
    sentence: float
    """Seconds to build the verdict sentence of one group."""


def main() -> None:
    """Measure and print."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else PARTITIONS
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core, also for numpy's threads
    scenarios = [measure(f"{share:.0%} of the rows stuck", size, share) for share in (0.0, 0.02, 1.0)]
    heads = (
        "scenario",
        "partitions",
        "tick s (median)",
        "fastest",
        "slowest",
        "rows sick",
        "history MB",
        "sentence us",
    )
    print(table(heads, [_cells(each, size) for each in scenarios]))
    print()
    print(
        target_table(
            [
                Target(f"{size:,} partitions, {each.what}", _LIMIT, float(np.median(each.seconds)), "s")
                for each in scenarios
            ]
        )
    )


def measure(what: str, size: int, stuck: float) -> Timed:
    """Evaluate one scenario tick by tick; the first ticks, which fill the histories, count too."""
    scenario = _Scenario(size, stuck)
    evaluator = Evaluator()
    seconds: list[float] = []
    result: EvaluationResult | None = None
    for tick in range(_TICKS):
        inputs = scenario.inputs_at(_NOW + tick * _TICK)
        begin = time.process_time()
        result = evaluator.evaluate(inputs)
        seconds.append(time.process_time() - begin)
    assert result is not None
    begin = time.process_time()
    sentences = [result.group_sentence(group) for group in range(len(result.group_verdict))]
    sentence = (time.process_time() - begin) / len(sentences)
    needs_action = int((SEVERITIES[result.verdict] >= Severity.WARNING).sum())
    return Timed(what, seconds, needs_action, evaluator.history.nbytes / 1e6, sentence)


class _Scenario:
    """Groups of a hundred partitions, twenty to a topic, written at 1 to 1,000 records per second."""

    def __init__(self, size: int, stuck: float) -> None:
        draw = np.random.default_rng(1)
        self._size = size
        rows = np.arange(size)
        self._group = rows * min(_GROUPS, size) // size
        self._topic = rows // _PER_TOPIC
        self._partition = (rows % _PER_TOPIC).astype(np.int32)
        self._rate = 10 ** draw.uniform(0, 3, size)
        self._stuck = draw.random(size) < stuck
        self._groups = [f"group-{at:05}" for at in range(min(_GROUPS, size))]
        self._topics = [f"topic-{at:05}" for at in range(size // _PER_TOPIC + 1)]

    def inputs_at(self, now: int) -> HealthInputs:
        """Return the inputs at `now` (ms): every group commits every five seconds; stuck rows stopped at the start."""
        committed_at = np.where(self._stuck, _NOW, now - now % 5_000)
        committed = self._written(committed_at)
        none = np.full(self._size, runs.NEVER)
        spans = dataclasses.replace(
            runs.single_record_spans(committed_at, committed, committed_at, np.zeros(self._size, np.bool_)),
            first_time=np.full(self._size, _NOW - 3_600_000),
            first_offset=self._written(np.full(self._size, _NOW - 3_600_000)),
            commits=np.full(self._size, 720),
            rewind_time=none,
        )
        return HealthInputs(
            now=now,
            groups=self._membership(),
            topics=self._topics,
            group=self._group,
            topic=self._topic,
            partition=self._partition,
            spans=spans,
            slots=self._slots(committed_at),
            ends=self._ends(now),
            subscribed=np.ones(self._size, np.int8),
            owner=self._partition.astype(np.int64) % 4,
            expiry=np.full(self._size, -1),
            retention=np.full(self._size, 604_800_000),
            gapless=np.ones(self._size, np.bool_),
        )

    def _written(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        return ((at - _NOW + 7_200_000) / 1_000 * self._rate).astype(np.int64)

    def _slots(self, last: NDArray[np.int64]) -> Slots:
        row = np.repeat(np.arange(self._size), _SLOTS)
        number = np.repeat(last // _SLOT, _SLOTS) + np.tile(np.arange(1 - _SLOTS, 1), self._size)
        time_ = np.minimum((number + 1) * _SLOT - 5_000, np.repeat(last, _SLOTS))
        offset = ((time_ - _NOW + 7_200_000) / 1_000 * np.repeat(self._rate, _SLOTS)).astype(np.int64)
        return Slots(row, number, offset, time_, np.full(len(row), 6))

    def _ends(self, now: int) -> PartitionEnds:
        high = self._written(np.full(self._size, now))
        return PartitionEnds(
            place=(self._topic << 32) | self._partition.astype(np.int64),
            high_watermark=high,
            log_start=self._written(np.full(self._size, now - now % 60_000 - 3_600_000)),
            known=np.ones(self._size, np.bool_),
            last_stable=high,
            leader_epoch=np.zeros(self._size, np.int32),
        )

    def _membership(self) -> GroupInputs:
        count = len(self._groups)
        never = np.full(count, -1)
        return GroupInputs(
            names=self._groups,
            stage=np.full(count, GroupStage.STABLE, np.int8),
            since=np.full(count, _NOW - 7_200_000),
            members=np.full(count, 4),
            rebalances=np.zeros(count, np.int64),
            emptied=never,
            refilled=never,
            static=np.zeros(count, np.bool_),
            share=np.zeros(count, np.bool_),
            generation=never,
            joined=never,
            left=never,
        )


def _cells(timed: Timed, size: int) -> tuple[str, ...]:
    seconds = (float(np.median(timed.seconds)), min(timed.seconds), max(timed.seconds))
    times = tuple(f"{each:.2f}" for each in seconds)
    counts = (f"{timed.needs_action:,}", f"{timed.megabytes:.0f}", f"{timed.sentence * 1e6:.0f}")
    return (timed.what, f"{size:,}", *times, *counts)


if __name__ == "__main__":
    main()
