"""Holding what was said of each group against what had to be said: found or not, how late, by its cause, in vain."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Final

from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.scenario import FINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sandbox.verdict_scenarios.record import RunRecord
    from sandbox.verdict_scenarios.scenario import ExpectedVerdict, VerdictScenario

SICK: Final = ("warning", "critical")
MAX_TICKS_LATE: Final = 3
"""So many ticks after it can be known a verdict must be there."""


@dataclasses.dataclass(frozen=True, slots=True)
class TimedVerdict:
    """What one monitor says of a group at a moment (Unix seconds)."""

    time: float
    verdict: str
    sick: bool
    sentence: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectationResult:
    """An expectation, and when it was met: seconds and ticks behind the moment from which it could be known."""

    expected: ExpectedVerdict
    known_at: float | None
    """Unix seconds; None: what was to happen did not."""
    found_at: float | None
    ticks: int | None

    @property
    def seconds(self) -> float | None:
        """How late it was, in seconds of the play; 0 where it was there before."""
        if self.found_at is None or self.known_at is None:
            return None
        return max(self.found_at - self.known_at, 0.0)

    @property
    def in_time(self) -> bool:
        """Tell whether it was there within the ticks that it may take."""
        return self.ticks is not None and self.ticks <= MAX_TICKS_LATE


@dataclasses.dataclass(frozen=True, slots=True)
class FalseAlarm:
    """A stretch in which a group was called sick in vain (Unix seconds)."""

    verdict: str
    since: float
    until: float


@dataclasses.dataclass(frozen=True, slots=True)
class ScenarioOutcome:
    """What came of one scenario."""

    scenario: VerdictScenario
    met: tuple[ExpectationResult, ...]
    alarms: tuple[FalseAlarm, ...]
    words: tuple[str, ...]
    """Every verdict there was, one after the other."""
    lapses: int = 0
    """How often a sick group was shown as well again while its fault lasted."""

    @property
    def found(self) -> bool:
        """Tell whether everything expected was said."""
        return all(each.found_at is not None for each in self.met)

    @property
    def exact(self) -> bool:
        """Tell whether its cause was named: the verdict that is expected in the end, not just any alarm."""
        causes = set(self.scenario.causes)
        return any(each.found_at is not None and set(each.expected.verdicts) <= causes for each in self.met)

    @property
    def seconds(self) -> float | None:
        """How late the latest of its verdicts was."""
        late = [each.seconds for each in self.met]
        known = [each for each in late if each is not None]
        return max(known) if known and len(known) == len(late) else None

    @property
    def ticks(self) -> int | None:
        """The same in ticks."""
        late = [each.ticks for each in self.met]
        known = [each for each in late if each is not None]
        return max(known) if known and len(known) == len(late) else None

    @property
    def good(self) -> bool:
        """Tell whether all was said in time, and nothing in vain."""
        return all(each.in_time for each in self.met) and not self.alarms


def outcomes(scenarios: Iterable[VerdictScenario], record: RunRecord) -> list[ScenarioOutcome]:
    """Judge what lagwarden said of every group."""
    return [assess(each, verdicts_of(record, record.groups[each.name]), record) for each in scenarios]


def verdicts_of(record: RunRecord, group: str) -> list[TimedVerdict]:
    """Give what lagwarden said of a group, snapshot by snapshot; "absent" while it did not know it."""
    found = []
    for snapshot in record.snapshots:
        said = snapshot.groups.get(group)
        found.append(
            TimedVerdict(snapshot.taken_at, "absent", sick=False)
            if said is None
            else TimedVerdict(snapshot.taken_at, said.verdict, said.severity in SICK, said.sentence or "")
        )
    return [word for word in found if record.began <= word.time <= record.ended]


def assess(scenario: VerdictScenario, words: Sequence[TimedVerdict], record: RunRecord) -> ScenarioOutcome:
    """Judge what one monitor said of a scenario's group."""
    met = tuple(_met(each, words, record.mark(scenario.name, each.mark)) for each in scenario.expected)
    return ScenarioOutcome(scenario, met, tuple(_alarms(scenario, words, record)), _in_turn(words), _lapses(met, words))


def _met(expected: ExpectedVerdict, words: Sequence[TimedVerdict], mark: float | None) -> ExpectationResult:
    if mark is None:
        return ExpectationResult(expected, None, None, None)
    known_at = mark + expected.after
    said = [word for word in words if word.verdict in expected.verdicts and expected.says in word.sentence]
    found = next((word.time for word in said if word.time >= mark), None)
    if found is None:
        return ExpectationResult(expected, known_at, None, None)
    return ExpectationResult(expected, known_at, found, sum(known_at < word.time <= found for word in words))


def _alarms(scenario: VerdictScenario, words: Sequence[TimedVerdict], record: RunRecord) -> Iterator[FalseAlarm]:
    """Find what was said in vain: anything sick of a healthy group, and of a sick one what is not true, or not yet."""
    begins = [mark for each in scenario.expected if (mark := record.mark(scenario.name, each.mark)) is not None]
    begins += record.marks.get(scenario.name, {}).values()
    begin = min(begins, default=float("inf"))
    true = {verdict for each in scenario.expected for verdict in each.verdicts} | set(scenario.true_as_well)

    def vain(word: TimedVerdict) -> bool:
        judged = scenario.judged_from <= word.time - record.began <= scenario.judged_until
        return judged and word.sick and (word.time < begin or word.verdict not in true)

    for (vainly, verdict), run in itertools.groupby(words, key=lambda word: (vain(word), word.verdict)):
        if vainly:
            times = [word.time for word in run]
            yield FalseAlarm(verdict, times[0], times[-1] + pace.TICK)


def _lapses(met: Sequence[ExpectationResult], words: Sequence[TimedVerdict]) -> int:
    first = met[0].found_at if met else None
    passes = any(set(each.expected.verdicts) & set(FINE) for each in met)
    if first is None or passes:
        return 0
    later = [word for word in words if word.time >= first]
    return sum(fine for fine, _ in itertools.groupby(word.verdict in FINE for word in later))


def _in_turn(words: Sequence[TimedVerdict]) -> tuple[str, ...]:
    return tuple(verdict for verdict, _ in itertools.groupby(word.verdict for word in words))
