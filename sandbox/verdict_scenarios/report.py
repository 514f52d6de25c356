"""The page about a run: its totals next to the results of Burrow's rules."""

import itertools
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.assess import (
    AFTER_PAUSE,
    MAX_TICKS_LATE,
    ExpectationResult,
    ScenarioOutcome,
    blocked_since,
)
from sandbox.verdict_scenarios.burrow import BurrowOutcome
from sandbox.verdict_scenarios.record import RunRecord

RESULTS: Final = """\
# Verdicts, tried on real groups

<!-- Written by `python -m sandbox.verdict_scenarios --report docs/verdicts.md`; do not edit. -->

{groups} groups of real clients run on one real broker at the same time, {sick} of them sick and {healthy} healthy but
unusual, monitored by one `lagwarden run`. On the right are the exact rules of Burrow with its defaults, applied to the
same commits and end offsets; it needs to raise any alarm only, at the first time at which one is due. The run is
{faster:g} times as fast as production. {pace} Times are those of production.

| | lagwarden | Burrow's rules |
|---|---|---|
{sums}
The groups were chosen by the authors of lagwarden. The [labelled recording](../bench/incidents/README.md) of such a run
scores any monitor; [its scores](../bench/incidents/data/scores.md) have the delay of each group.
{unjudged}"""


def write_page(
    results: Path, found: Sequence[ScenarioOutcome], others: Sequence[BurrowOutcome], record: RunRecord
) -> None:
    """Write the totals as Markdown to a file."""
    pairs = list(zip(found, others, strict=True))
    sick = [(ours, theirs) for ours, theirs in pairs if ours.scenario.kind == "sick"]
    healthy = [(ours, theirs) for ours, theirs in pairs if ours.scenario.kind == "healthy"]
    text = RESULTS.format(
        groups=len(pairs), sick=len(sick), healthy=len(healthy), faster=record.pace.faster, pace=_pace(record),
        sums="".join(f"| {' | '.join(map(str, row))} |\n" for row in _sums(sick, healthy)),
        unjudged="".join(_unjudged(record)),
    )  # fmt: skip
    results.write_text(text, "utf-8")


def _pace(record: RunRecord) -> str:
    """Return a sentence about the interval of snapshots on the wall clock: a late tick finds faults late."""
    times = [each.taken_at for each in record.snapshots]
    apart = sorted(later - earlier for earlier, later in itertools.pairwise(times)) or [0.0]
    late = apart[int(0.95 * (len(apart) - 1))]
    return (
        f"In this run {len(times)} snapshots were {statistics.median(apart):.1f} s apart (median; 95 % within"
        f" {late:.1f} s)."
    )


def summary(found: Sequence[ScenarioOutcome], record: RunRecord) -> str:
    """Return the unexpected results in a few lines; durations are seconds of production."""
    bad = [each for each in found if not each.good]
    if not bad:
        return f"all {len(found)} groups as expected"
    return "\n".join(
        [f"{len(bad)} of {len(found)} groups not as expected:", *(f"  {_fault(each, record)}" for each in bad)]
    )


def _fault(outcome: ScenarioOutcome, record: RunRecord) -> str:
    late = [f"{'|'.join(each.expected.verdicts)}: {_late(each)}" for each in outcome.met if not each.in_time]
    alarms = [f"false alarm {each.verdict} for {_duration(each.until - each.since, record)}" for each in outcome.alarms]
    return f"{outcome.scenario.name}: {'; '.join([*late, *alarms])} ({' > '.join(outcome.verdicts)})"


def _late(met: ExpectationResult) -> str:
    if met.known_at is None:
        return "its mark was not reached"
    return "not found" if met.ticks is None else f"{met.ticks} ticks late"


def _sums(
    sick: Sequence[tuple[ScenarioOutcome, BurrowOutcome]], healthy: Sequence[tuple[ScenarioOutcome, BurrowOutcome]]
) -> Iterable[tuple[object, ...]]:
    ours, theirs = [each for each, _ in sick], [each for _, each in sick]
    outcomes = [each.outcome for each in theirs]
    timely = sum(all(met.in_time for met in each.met) for each in ours)
    yield f"sick groups found (of {len(sick)})", sum(each.found for each in ours), sum(each.found for each in outcomes)
    yield f"all expected verdicts shown within {MAX_TICKS_LATE} ticks", timely, "-"
    yield "lateness, median", _median(ours), _median(outcomes)
    yield "lateness, maximum", _worst(ours), _worst(outcomes)
    yield "exact cause shown", sum(each.exact for each in ours), sum(each.exact for each in theirs)
    yield (
        f"healthy groups with a false alarm (of {len(healthy)})",
        sum(bool(each.alarms) for each, _ in healthy),
        sum(bool(each.outcome.alarms) for _, each in healthy),
    )
    yield "sick groups with a fine verdict while the fault lasted", sum(bool(each.lapses) for each in ours), "-"
    yield "sick groups with an untrue or early verdict", sum(bool(each.alarms) for each in ours), "-"


def _median(found: Sequence[ScenarioOutcome]) -> str:
    known = [each.seconds for each in found if each.seconds is not None]
    return _seconds(statistics.median(known)) if known else "-"


def _worst(found: Sequence[ScenarioOutcome]) -> str:
    return _seconds(max((each.seconds for each in found if each.seconds is not None), default=None))


def _seconds(run_seconds: float | None) -> str:
    """Return seconds of the run as text in seconds of production."""
    return "-" if run_seconds is None else f"{pace.production(run_seconds):.0f} s"


def _at(time: float, record: RunRecord) -> str:
    """Return the seconds of production from the beginning of the run to a Unix time, as text."""
    return _duration(time - record.began, record)


def _duration(wall_seconds: float, record: RunRecord) -> str:
    """Return the difference of two Unix times as text in seconds of production."""
    return _seconds(record.pace.run(wall_seconds))


def _unjudged(record: RunRecord) -> Iterable[str]:
    """Return a line per time in which a group is not judged for false alarms, because its client was held up."""
    blocked = {name: since for name in record.groups if (since := blocked_since(record, name)) < record.ended}
    lost = [(name, *period) for name, periods in record.lost_memberships.items() for period in periods]
    if blocked or lost:
        yield "\n"
    for name, since in blocked.items():
        yield f"- {name}: blocked from {_at(since, record)} to the end, not judged for false alarms\n"
    for name, since, until in lost:
        yield (
            f"- {name}: a client without its membership from {_at(since, record)} to {_at(until, record)}; alarms that"
            f" begin in this time, or at most {_seconds(AFTER_PAUSE)} after it, are not judged\n"
        )
