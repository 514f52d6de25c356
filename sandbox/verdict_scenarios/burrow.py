"""The same play before the exact rules of Burrow: every commit it would have read, every end it would have asked for.

Its times are those of production: the play is slowed down again, so that its ten intervals and its refresh of the ends
every ten seconds are its defaults. It reads pending commits too, as Burrow does.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
from typing import TYPE_CHECKING, Final

import numpy as np

from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.assess import ScenarioOutcome, TimedVerdict, assess
from stream.health.burrow.rules import INTERVALS, BurrowStatus, Ring, evaluate, roll_up, side_by_side

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sandbox.verdict_scenarios.record import RecordedCommit, RunRecord
    from sandbox.verdict_scenarios.scenario import VerdictScenario

Place = tuple[str, str, int]
ALARM: Final = "alarm"
EXACT: Final[Mapping[str, str]] = {
    "stopped": "STOP",
    "stalled": "STALL",
    "rewound": "REWIND",
    "falling_behind": "WARN",
}
"""Which of its words says what which of our verdicts says. It has none for the others."""


@dataclasses.dataclass(frozen=True, slots=True)
class BurrowOutcome:
    """What came of one scenario by its rules, and the words that it had for the sick group, one after the other."""

    outcome: ScenarioOutcome
    said: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Tell whether one of its words names the cause."""
        causes = {EXACT.get(verdict) for verdict in self.outcome.scenario.causes}
        return bool(causes & set(self.said))


def burrow_outcomes(scenarios: Iterable[VerdictScenario], record: RunRecord) -> list[BurrowOutcome]:
    """Judge what Burrow would have said of every group. Any of its words counts, whatever it was to be called."""
    words = _words(record)
    return [_burrowed(each, words.get(record.groups[each.name], []), record) for each in scenarios]


def _burrowed(scenario: VerdictScenario, words: list[TimedVerdict], record: RunRecord) -> BurrowOutcome:
    asked = tuple(dataclasses.replace(each, verdicts=(ALARM,)) for each in scenario.expected[:1])
    heard = [TimedVerdict(word.time, ALARM if word.sick else word.verdict, word.sick) for word in words]
    # A window that is not full yet is nothing to be blamed for.
    begins = max(scenario.judged_from, INTERVALS * pace.COMMIT)
    outcome = assess(dataclasses.replace(scenario, expected=asked, judged_from=begins), heard, record)
    mark = record.mark(scenario.name, asked[0].mark) if asked else None
    said = [word.verdict for word in words if word.sick and mark is not None and word.time >= mark]
    return BurrowOutcome(
        dataclasses.replace(outcome, scenario=scenario), tuple(each for each, _ in itertools.groupby(said))
    )


def _words(record: RunRecord) -> dict[str, list[TimedVerdict]]:
    rings: dict[Place, Ring] = {}
    ends: dict[tuple[str, int], collections.deque[int]] = {}
    commits = collections.deque(sorted(record.commits, key=lambda each: (each.time, each.order)))
    found: dict[str, list[TimedVerdict]] = {}
    for tick in record.ends:
        for topic, partition, offset in tick.offsets:
            ends.setdefault((topic, partition), collections.deque(maxlen=INTERVALS)).append(offset)
        while commits and commits[0].time / 1_000 <= tick.time:
            _take(commits.popleft(), rings, ends, record.began)
        for group, word in _tick(rings, ends, tick.time, record.began):
            found.setdefault(group, []).append(word)
    return found


def _take(
    commit: RecordedCommit,
    rings: dict[Place, Ring],
    ends: Mapping[tuple[str, int], collections.deque[int]],
    began: float,
) -> None:
    place = commit.group, commit.topic, commit.partition
    known = ends.get(place[1:])
    ring = rings.setdefault(place, Ring())
    ring.commit(commit.offset, commit.order, _slowed(commit.time / 1_000, began), known[-1] if known else None)


def _tick(
    rings: Mapping[Place, Ring], ends: Mapping[tuple[str, int], collections.deque[int]], now: float, began: float
) -> Iterable[tuple[str, TimedVerdict]]:
    places = [place for place, ring in rings.items() if ring.slots]
    if not places:
        return
    groups = sorted({place[0] for place in places})
    columns = side_by_side([rings[place] for place in places], [list(ends.get(place[1:], ())) for place in places])
    status = evaluate(columns, _slowed(now, began))
    of = np.array([groups.index(place[0]) for place in places])
    rolled = roll_up(status, of, len(groups))
    for number, group in enumerate(groups):
        worst = int(status[of == number].max())
        yield group, TimedVerdict(now, BurrowStatus(worst).name, sick=rolled[number] > BurrowStatus.OK)


def _slowed(time: float, began: float) -> int:
    """Give a moment of the play (Unix s) as a moment of production (ms)."""
    return int((began + (time - began) * pace.FASTER) * 1_000)
