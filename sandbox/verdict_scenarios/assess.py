"""Compares the verdicts on each group with the expected ones: found, how late, with the exact cause, false alarms."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.record import RunRecord
from sandbox.verdict_scenarios.scenario import FINE, ExpectedVerdict, VerdictScenario

SICK: Final = ("warning", "critical")
MAX_TICKS_LATE: Final = 3
"""The ticks after which an expected verdict must be shown, counted from the time when it can be known."""

AFTER_PAUSE: Final = (MAX_TICKS_LATE + 1) * pace.TICK
"""Seconds of the run after a pause of its clients, or after a lost membership, in which a verdict on a group may still
be about that."""


@dataclasses.dataclass(frozen=True, slots=True)
class TimedVerdict:
    """The verdict of one monitor on a group at one time (Unix seconds)."""

    time: float
    verdict: str
    sick: bool
    sentence: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectationResult:
    """An expected verdict, and when it was shown: ticks and seconds after the time from which it could be known."""

    expected: ExpectedVerdict
    known_at: float | None
    """Unix seconds; None: its mark was not reached."""
    found_at: float | None
    """Unix seconds; None: it was not shown."""
    ticks: int | None
    """Its lateness in ticks."""
    seconds: float | None
    """Its lateness in seconds of the run; 0 when it was shown before."""

    @property
    def in_time(self) -> bool:
        """True when it was shown within MAX_TICKS_LATE."""
        return self.ticks is not None and self.ticks <= MAX_TICKS_LATE


@dataclasses.dataclass(frozen=True, slots=True)
class FalseAlarm:
    """A period (Unix seconds) with a sick verdict that was not true."""

    verdict: str
    since: float
    until: float


@dataclasses.dataclass(frozen=True, slots=True)
class ScenarioOutcome:
    """The result of one scenario."""

    scenario: VerdictScenario
    met: tuple[ExpectationResult, ...]
    alarms: tuple[FalseAlarm, ...]
    verdicts: tuple[str, ...]
    """All verdicts that were shown, in order, repetitions left out."""
    lapses: int = 0
    """The number of times a sick group got a fine verdict while its fault lasted."""

    @property
    def found(self) -> bool:
        """True when all expected verdicts were shown."""
        return all(each.found_at is not None for each in self.met)

    @property
    def exact(self) -> bool:
        """True when the exact cause was shown: the verdict that is expected last, not just any alarm."""
        causes = set(self.scenario.causes)
        return any(each.found_at is not None and set(each.expected.verdicts) <= causes for each in self.met)

    @property
    def seconds(self) -> float | None:
        """The lateness of its latest verdict in seconds of the run; None while one is missing."""
        late = [each.seconds for each in self.met]
        known = [each for each in late if each is not None]
        return max(known) if known and len(known) == len(late) else None

    @property
    def ticks(self) -> int | None:
        """The lateness of its latest verdict in ticks; None while one is missing."""
        late = [each.ticks for each in self.met]
        known = [each for each in late if each is not None]
        return max(known) if known and len(known) == len(late) else None

    @property
    def good(self) -> bool:
        """True when all expected verdicts were in time, without false alarms."""
        return all(each.in_time for each in self.met) and not self.alarms


def outcomes(scenarios: Iterable[VerdictScenario], record: RunRecord) -> list[ScenarioOutcome]:
    """Return the result of lagwarden for every scenario."""
    return [assess(each, verdicts_of(record, record.groups[each.name]), record) for each in scenarios]


def verdicts_of(record: RunRecord, group: str) -> list[TimedVerdict]:
    """Return lagwarden's verdict on a group in each snapshot; "absent" while it did not show the group."""
    found = []
    for snapshot in record.snapshots:
        verdict = snapshot.groups.get(group)
        found.append(
            TimedVerdict(snapshot.taken_at, "absent", sick=False)
            if verdict is None
            else TimedVerdict(snapshot.taken_at, verdict.verdict, verdict.severity in SICK, verdict.sentence or "")
        )
    return [shown for shown in found if record.began <= shown.time <= record.ended]


def assess(scenario: VerdictScenario, verdicts: Sequence[TimedVerdict], record: RunRecord) -> ScenarioOutcome:
    """Return the result of one monitor for a scenario."""
    met = tuple(_met(each, verdicts, record, record.mark(scenario.name, each.mark)) for each in scenario.expected)
    in_turn = tuple(verdict for verdict, _ in itertools.groupby(shown.verdict for shown in verdicts))
    return ScenarioOutcome(scenario, met, tuple(_alarms(scenario, verdicts, record)), in_turn, _lapses(met, verdicts))


def unexplained_alarms(outcome: ScenarioOutcome, record: RunRecord) -> list[FalseAlarm]:
    """Return the false alarms that do not follow a pause of the clients, which had no turn on a busy machine.

    An alarm follows a pause if it begins during the pause or within AFTER_PAUSE: it may be true of what happened.
    """
    pauses = record.pauses.get(outcome.scenario.name, ())
    return [alarm for alarm in outcome.alarms if not _follows(alarm, pauses, record)]


def blocked_since(record: RunRecord, scenario: str) -> float:
    """Return since when (Unix seconds) a call of a scenario's clients has not returned; infinity: all calls returned.

    In some runs, synchronous commits of librdkafka consumers (2.16) had no answer from a restart of the broker to the
    end of the run. The broker removed such members: from then on, the group was no longer that of its scenario.
    """
    blocked = [since for since, until in record.pauses.get(scenario, ()) if until >= record.ended]
    return min(blocked, default=float("inf"))


def _met(
    expected: ExpectedVerdict, verdicts: Sequence[TimedVerdict], record: RunRecord, mark: float | None
) -> ExpectationResult:
    if mark is None:
        return ExpectationResult(expected, None, None, None, None)
    known_at = mark + record.pace.wall(expected.after)
    matching = [
        shown
        for shown in verdicts
        if shown.verdict in expected.verdicts and expected.sentence_contains in shown.sentence
    ]
    found = next((shown.time for shown in matching if shown.time >= mark), None)
    if found is None:
        return ExpectationResult(expected, known_at, None, None, None)
    ticks = sum(known_at < shown.time <= found for shown in verdicts)
    return ExpectationResult(expected, known_at, found, ticks, record.pace.run(max(found - known_at, 0.0)))


def _alarms(scenario: VerdictScenario, verdicts: Sequence[TimedVerdict], record: RunRecord) -> Iterator[FalseAlarm]:
    """Return the false alarms: sick verdicts on healthy groups, and untrue or early ones on sick groups.

    Verdicts on a group whose clients are blocked until the end of the run are not judged, see `blocked_since`. An alarm
    that follows a lost membership of the group is true of what happened: in one run, a librdkafka consumer (2.16) did
    not join its group again for 12 s after a restart of the broker, and the group was stopped until it was replaced.
    """
    judged_from = record.began + record.pace.wall(scenario.judged_from)
    judged_until = min(record.began + record.pace.wall(scenario.judged_until), blocked_since(record, scenario.name))
    begins = [mark for each in scenario.expected if (mark := record.mark(scenario.name, each.mark)) is not None]
    begins += record.marks.get(scenario.name, {}).values()
    begin = min(begins, default=float("inf"))
    true = {verdict for each in scenario.expected for verdict in each.verdicts} | set(scenario.true_as_well)

    def is_false(shown: TimedVerdict) -> bool:
        judged = judged_from <= shown.time <= judged_until
        return judged and shown.sick and (shown.time < begin or shown.verdict not in true)

    for (false, verdict), run in itertools.groupby(verdicts, key=lambda shown: (is_false(shown), shown.verdict)):
        if false:
            times = [shown.time for shown in run]
            alarm = FalseAlarm(verdict, times[0], times[-1] + record.pace.wall(pace.TICK))
            if not _follows(alarm, record.lost_memberships.get(scenario.name, ()), record):
                yield alarm


def _follows(alarm: FalseAlarm, periods: Iterable[tuple[float, float]], record: RunRecord) -> bool:
    """Return True for an alarm that begins in one of the periods (Unix seconds) or at most AFTER_PAUSE after it."""
    after = record.pace.wall(AFTER_PAUSE)
    return any(since <= alarm.since <= until + after for since, until in periods)


def _lapses(met: Sequence[ExpectationResult], verdicts: Sequence[TimedVerdict]) -> int:
    first = met[0].found_at if met else None
    passes = any(set(each.expected.verdicts) & set(FINE) for each in met)
    if first is None or passes:
        return 0
    later = [shown for shown in verdicts if shown.time >= first]
    return sum(fine for fine, _ in itertools.groupby(shown.verdict in FINE for shown in later))
