"""The pages about a run, next to the results of Burrow's rules: its totals, and each sick and healthy group."""

from __future__ import annotations

import itertools
import statistics
from typing import TYPE_CHECKING, Final

from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.assess import AFTER_PAUSE, MAX_TICKS_LATE, ScenarioOutcome, blocked_since

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from sandbox.verdict_scenarios.assess import ExpectationResult, FalseAlarm
    from sandbox.verdict_scenarios.burrow import BurrowOutcome
    from sandbox.verdict_scenarios.record import RunRecord

RESULTS: Final = """\
# Verdicts, tried on real groups

<!-- Written by `python -m sandbox.verdict_scenarios --report docs/verdicts.md`; do not edit. -->

{groups} groups of real clients run on one real broker at the same time, {sick} of them sick and {healthy} healthy but
unusual, monitored by one `lagwarden run`. On the right are the exact rules of Burrow with its defaults, applied to the
same commits and end offsets; it needs to raise any alarm only, at the first time at which one is due. Times are those
of production.

| | lagwarden | Burrow's rules |
|---|---|---|
{sums}
[Each group](internals/{name}) has its verdict, its delay and the conditions of the run. The groups were chosen by the
authors of lagwarden; the [labelled recording](../bench/incidents/README.md) of such a run scores any monitor.
"""
DETAILS: Final = """\
# The groups behind the verdicts

<!-- Written by `python -m sandbox.verdict_scenarios --report docs/verdicts.md`; do not edit. -->

[The totals](../{name}) are of this run. What happens to each group, which verdict is expected and when it can be known
is data: [sick](../../sandbox/verdict_scenarios/sick), [healthy](../../sandbox/verdict_scenarios/healthy.py) and
[outages](../../sandbox/verdict_scenarios/outages.py), with the formulas in
[pace](../../sandbox/verdict_scenarios/pace.py).

The run is {faster:g} times as fast as production, so what cannot be made faster (a micro-batch of Spark, the work of
the coordinator) takes {faster:g} times as long here. All seconds are those of production. {pace}
"""
SICK_HEAD: Final = """
## Sick groups

"Late" counts from the time when the verdict can be known; 0 s is at once. Where two verdicts are expected one after the
other, both are listed.

| Group | Expected | Late | Burrow, late |
|---|---|---|---|
"""
HEALTHY_HEAD: Final = """
## Healthy groups

A false alarm is any tick with a verdict of severity warning or critical: the second of the run at which it began, and
its duration. {silent} healthy groups had none, neither by lagwarden nor by Burrow's rules. The others:

| Group | False alarms | Burrow's false alarms |
|---|---|---|
"""


def write_pages(
    results: Path, found: Sequence[ScenarioOutcome], others: Sequence[BurrowOutcome], record: RunRecord
) -> None:
    """Write the totals as Markdown to a file, and each group to the file of the same name in the folder `internals`."""
    pairs = list(zip(found, others, strict=True))
    sick = [(ours, theirs) for ours, theirs in pairs if ours.scenario.kind == "sick"]
    healthy = [(ours, theirs) for ours, theirs in pairs if ours.scenario.kind == "healthy"]
    sums = "".join(_lines(_sums(sick, healthy)))
    results.write_text(
        RESULTS.format(groups=len(pairs), sick=len(sick), healthy=len(healthy), sums=sums, name=results.name), "utf-8"
    )
    details = DETAILS.format(name=results.name, faster=record.pace.faster, pace=_pace(record))
    alarming = [(ours, theirs) for ours, theirs in healthy if ours.alarms or theirs.outcome.alarms]
    parts = [
        details,
        SICK_HEAD,
        *_lines(_sick(ours, theirs) for ours, theirs in sick),
        *_false_alarms([ours for ours, _ in sick], record),
        HEALTHY_HEAD.format(silent=len(healthy) - len(alarming)),
        *_lines(_healthy(ours, theirs, record) for ours, theirs in alarming),
        *_faults(record),
    ]
    folder = results.parent / "internals"
    folder.mkdir(exist_ok=True)
    (folder / results.name).write_text("".join(parts), "utf-8")


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
    yield f"sick groups found (of {len(sick)})", sum(each.found for each in ours), sum(each.found for each in outcomes)
    yield f"all expected verdicts shown within {MAX_TICKS_LATE} ticks", sum(_timely(each) for each in ours), "-"
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


def _timely(outcome: ScenarioOutcome) -> bool:
    return all(each.in_time for each in outcome.met)


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


def _sick(ours: ScenarioOutcome, theirs: BurrowOutcome) -> tuple[object, ...]:
    met = ours.met
    expected = _joined("/".join(_shown(each.expected.verdicts)) for each in met)
    return (
        ours.scenario.name,
        expected if ours.exact else f"{expected} (cause not exact)",
        _joined("not found" if each.ticks is None else _seconds(each.seconds) for each in met),
        f"{', '.join(theirs.statuses)}, {_seconds(theirs.outcome.seconds)}" if theirs.statuses else "-",
    )


def _shown(verdicts: tuple[str, ...]) -> tuple[str, ...]:
    return ("fine",) if "ok" in verdicts else verdicts


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(texts)


def _healthy(ours: ScenarioOutcome, theirs: BurrowOutcome, record: RunRecord) -> tuple[object, ...]:
    return (
        ours.scenario.name,
        _alarms(ours.alarms, record),
        _alarms(theirs.outcome.alarms, record) if theirs.outcome.alarms else "none",
    )


def _alarms(alarms: Sequence[FalseAlarm], record: RunRecord) -> str:
    alarms_text = [
        f"{each.verdict} at {_at(each.since, record)} for {_duration(each.until - each.since, record)}"
        for each in alarms
    ]
    return ", ".join(alarms_text) or "none"


def _false_alarms(found: Sequence[ScenarioOutcome], record: RunRecord) -> Iterable[str]:
    """Return a line per sick group with false alarms."""
    for each in found:
        if each.alarms:
            yield f"\n- {each.scenario.name} also had false alarms: {_alarms(each.alarms, record)}"
    if any(each.alarms for each in found):
        yield "\n"


def _faults(record: RunRecord) -> Iterable[str]:
    blocked = {name: since for name in record.groups if (since := blocked_since(record, name)) < record.ended}
    lost = [(name, *period) for name, periods in record.lost_memberships.items() for period in periods]
    if record.faults or blocked or lost:
        yield "\n## Errors in the run itself\n\n"
        # A fault is the group, the time with the client, and the error.
        groups: dict[str, list[str]] = {}
        for name, _, error in (fault.split(": ", 2) for fault in record.faults):
            groups.setdefault(error, []).append(name)
        yield from (f"- `{error}`: {len(set(names))} groups\n" for error, names in groups.items())
    for name, since in blocked.items():
        yield f"- {name}: blocked from {_at(since, record)} to the end, not judged for false alarms\n"
    for name, since, until in lost:
        yield (
            f"- {name}: a client without its membership from {_at(since, record)} to {_at(until, record)}; alarms that"
            f" begin in this time, or at most {_seconds(AFTER_PAUSE)} after it, are not judged\n"
        )


def _lines(rows: Iterable[tuple[object, ...]]) -> Iterable[str]:
    return (f"| {' | '.join(str(cell) for cell in row)} |\n" for row in rows)
