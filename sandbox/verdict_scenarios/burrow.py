"""The exact rules of Burrow applied to the same run: every commit it would have read, every end offset it would fetch.

Times are converted to those of production, so that Burrow's ten intervals and its refresh of end offsets every ten
seconds are its defaults. Pending commits are included, as in Burrow.
"""

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.assess import ScenarioOutcome, TimedVerdict, assess
from sandbox.verdict_scenarios.burrow_store import Ring, columns_of_rings
from sandbox.verdict_scenarios.record import RecordedCommit, RunRecord
from sandbox.verdict_scenarios.scenario import VerdictScenario
from stream.health.burrow import INTERVALS, BurrowStatus, evaluate

Place = tuple[str, str, int]
ALARM: Final = "alarm"
EXACT: Final[Mapping[str, str]] = {
    "stopped": "STOP",
    "stalled": "STALL",
    "rewound": "REWIND",
    "falling_behind": "WARN",
}
"""lagwarden's verdict -> Burrow's status of the same meaning. It has none for the other verdicts."""


@dataclasses.dataclass(frozen=True, slots=True)
class BurrowOutcome:
    """The result of one scenario by Burrow's rules, and its alarming statuses of a sick group, in order."""

    outcome: ScenarioOutcome
    statuses: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """True when one of its statuses names the cause."""
        causes = {EXACT.get(verdict) for verdict in self.outcome.scenario.causes}
        return bool(causes & set(self.statuses))


def burrow_outcomes(scenarios: Iterable[VerdictScenario], record: RunRecord) -> list[BurrowOutcome]:
    """Return Burrow's result for every scenario. Any of its alarming statuses counts as the expected verdict."""
    statuses = burrow_statuses(record)
    return [_outcome(each, statuses.get(record.groups[each.name], []), record) for each in scenarios]


def _outcome(scenario: VerdictScenario, statuses: list[TimedVerdict], record: RunRecord) -> BurrowOutcome:
    expected = tuple(dataclasses.replace(each, verdicts=(ALARM,)) for each in scenario.expected[:1])
    shown = [TimedVerdict(each.time, ALARM if each.sick else each.verdict, each.sick) for each in statuses]
    # Before its window is full, Burrow is not assessed. Seconds of the run.
    begins = max(scenario.judged_from, INTERVALS * pace.COMMIT)
    outcome = assess(dataclasses.replace(scenario, expected=expected, judged_from=begins), shown, record)
    mark = record.mark(scenario.name, expected[0].mark) if expected else None
    alarms = [each.verdict for each in statuses if each.sick and mark is not None and each.time >= mark]
    return BurrowOutcome(
        dataclasses.replace(outcome, scenario=scenario), tuple(each for each, _ in itertools.groupby(alarms))
    )


def burrow_statuses(record: RunRecord) -> dict[str, list[TimedVerdict]]:
    """Return Burrow's status of each group at each look at the end offsets, from commits and ends of the record only.

    The status is that of its worst partition, so STOP, STALL and REWIND instead of ERR.
    """
    rings: dict[Place, Ring] = {}
    ends: dict[tuple[str, int], collections.deque[int]] = {}
    commits = collections.deque(sorted(record.commits, key=lambda each: (each.time, each.order)))
    found: dict[str, list[TimedVerdict]] = {}
    for tick in record.ends:
        for topic, partition, offset in tick.offsets:
            ends.setdefault((topic, partition), collections.deque(maxlen=INTERVALS)).append(offset)
        while commits and commits[0].time / 1_000 <= tick.time:
            _record_commit(commits.popleft(), rings, ends, record)
        for group, status in _tick(rings, ends, tick.time, record):
            found.setdefault(group, []).append(status)
    return found


def _record_commit(
    commit: RecordedCommit,
    rings: dict[Place, Ring],
    ends: Mapping[tuple[str, int], collections.deque[int]],
    record: RunRecord,
) -> None:
    place = commit.group, commit.topic, commit.partition
    known = ends.get(place[1:])
    ring = rings.setdefault(place, Ring())
    ring.commit(commit.offset, commit.order, _production_ms(commit.time / 1_000, record), known[-1] if known else None)


def _tick(
    rings: Mapping[Place, Ring], ends: Mapping[tuple[str, int], collections.deque[int]], now: float, record: RunRecord
) -> Iterable[tuple[str, TimedVerdict]]:
    places = [place for place, ring in rings.items() if ring.slots]
    if not places:
        return
    groups = sorted({place[0] for place in places})
    columns = columns_of_rings([rings[place] for place in places], [list(ends.get(place[1:], ())) for place in places])
    status = evaluate(columns, _production_ms(now, record))
    group_of = np.array([groups.index(place[0]) for place in places])
    for number, group in enumerate(groups):
        worst = int(status[group_of == number].max())
        yield group, TimedVerdict(now, BurrowStatus(worst).name, sick=worst > BurrowStatus.OK)


def _production_ms(time: float, record: RunRecord) -> int:
    """Convert a time of the wall clock (Unix s) to the time of production (ms)."""
    return int((record.began + pace.production(record.pace.run(time - record.began))) * 1_000)
