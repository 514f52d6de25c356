"""The score of one monitor: which sick groups it found, how late, with which cause, and its false alarms.

The log of a monitor's verdicts: CSV with `time, group, partition, verdict, severity`, and what its verdicts claim.

A row holds until the next row of the same group and partition, so a log may have a row per look or a row per change.
`time` is Unix seconds of the run. An empty `partition` is the group as a whole; a group alarms while any of its rows is
of severity `warning` or `critical`.
"""

import csv
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.incidents.labels import GroupLabel, LabelledFault, RecordingLabels
from sandbox.verdict_scenarios.burrow import EXACT

HEADER: Final = ("time", "group", "partition", "verdict", "severity")
SEVERITIES: Final = ("unknown", "fine", "notice", "warning", "critical")
ALARMING: Final = frozenset({"warning", "critical"})
CAUSES: Final = "causes"
"""The format in which a verdict is the name of a cause as in labels.json."""
BURROW: Final[Mapping[str, str]] = {status: verdict for verdict, status in EXACT.items()}
"""Status -> the cause that it names."""
FORMATS: Final[Mapping[str, Mapping[str, str] | None]] = {CAUSES: None, "burrow": BURROW, "alarms": {}}
"""The cause that each verdict claims, by format. None: the verdict itself; one that is not listed claims no cause."""


class VerdictLogError(ValueError):
    """A log of verdicts, or its format, cannot be read."""


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictRow:
    """One row of a log."""

    time: float
    group: str
    partition: str
    verdict: str
    severity: str


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictPeriod:
    """A period (Unix seconds) in which one verdict held; `cause` is what it claims, None for nothing."""

    since: float
    until: float
    verdict: str
    cause: str | None
    alarm: bool


def write_log(file: Path, rows: Iterable[VerdictRow]) -> None:
    """Write the rows that differ from the previous one of their group and partition, in order of time."""
    previous: dict[tuple[str, str], tuple[str, str]] = {}
    with file.open("w", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(HEADER)
        for row in sorted(rows, key=lambda each: (each.time, each.group, each.partition)):
            place, shown = (row.group, row.partition), (row.verdict, row.severity)
            if previous.get(place) != shown:
                writer.writerow((f"{row.time:.3f}", *place, *shown))
                previous[place] = shown


def read_log(file: Path) -> list[VerdictRow]:
    """Return the rows in order of time. Raises VerdictLogError with the line that is wrong."""
    with file.open(newline="") as source:
        reader = csv.reader(source)
        if tuple(next(reader, ())) != HEADER:
            raise VerdictLogError(f"{file}: the first line must be {','.join(HEADER)}")
        rows = [_row(file, number, cells) for number, cells in enumerate(reader, start=2)]
    return sorted(rows, key=lambda each: each.time)


def causes_of(name: str) -> Mapping[str, str] | None:
    """Return the causes by verdict of a format: a name of FORMATS, or a JSON file with an object of verdict and cause.

    Raises VerdictLogError.
    """
    if name in FORMATS:
        return FORMATS[name]
    try:
        causes = json.loads(Path(name).read_text())
    except (OSError, ValueError) as error:
        raise VerdictLogError(
            f"format {name} is neither one of {', '.join(FORMATS)} nor a JSON file: {error}"
        ) from error
    if not isinstance(causes, dict) or not all(isinstance(each, str) for each in causes.values()):
        raise VerdictLogError(f"{name}: the format must be an object with a cause, a text, per verdict")
    return causes


def periods(
    rows: Sequence[VerdictRow], causes: Mapping[str, str] | None, ended: float
) -> dict[str, list[VerdictPeriod]]:
    """Return the periods of each group, of all its partitions, in order of their beginning."""
    found: dict[str, list[VerdictPeriod]] = {}
    last: dict[tuple[str, str], VerdictRow] = {}
    for row in rows:
        place = row.group, row.partition
        if place in last:
            found.setdefault(row.group, []).append(_period(last[place], row.time, causes))
        last[place] = row
    for row in last.values():
        found.setdefault(row.group, []).append(_period(row, ended, causes))
    return {group: sorted(each, key=lambda period: period.since) for group, each in found.items()}


def _period(row: VerdictRow, until: float, causes: Mapping[str, str] | None) -> VerdictPeriod:
    cause = row.verdict if causes is None else causes.get(row.verdict)
    return VerdictPeriod(row.time, until, row.verdict, cause, row.severity in ALARMING)


def _row(file: Path, number: int, cells: Sequence[str]) -> VerdictRow:
    try:
        time, group, partition, verdict, severity = cells
        row = VerdictRow(float(time), group, partition, verdict, severity)
    except ValueError as error:
        raise VerdictLogError(f"{file}, line {number}: not a time and four texts: {','.join(cells)}") from error
    if severity not in SEVERITIES:
        raise VerdictLogError(f"{file}, line {number}: severity {severity} is not one of {', '.join(SEVERITIES)}")
    return row


@dataclasses.dataclass(frozen=True, slots=True)
class GroupScore:
    """The result on one group. Delays are seconds of production, 0 when it was shown before it was knowable."""

    label: GroupLabel
    delay: float | None
    """From when the first fault was knowable until the first alarm, or a notice of its cause; None: not found."""
    cause_delay: float | None
    """From when the last fault was knowable until its cause was named; None: never."""
    false_alarms: tuple[VerdictPeriod, ...]
    """Alarms in healthy phases."""
    untrue: tuple[VerdictPeriod, ...]
    """Alarms during the fault that name a wrong cause."""

    @property
    def found(self) -> bool:
        """True for a sick group that was found."""
        return self.delay is not None

    @property
    def exact(self) -> bool:
        """True for a sick group whose cause was named."""
        return self.cause_delay is not None


def score(
    labels: RecordingLabels, rows: Sequence[VerdictRow], causes: Mapping[str, str] | None
) -> tuple[GroupScore, ...]:
    """Return the score of a log on each labelled group; `causes` as in `verdict_log.FORMATS`."""
    shown = periods(rows, causes, labels.ended)
    return tuple(_score(each, shown.get(each.group, []), labels) for each in labels.groups)


def _score(label: GroupLabel, shown: Sequence[VerdictPeriod], labels: RecordingLabels) -> GroupScore:
    faults = label.faults
    if not faults:
        return GroupScore(label, None, None, tuple(_in_phases(label.healthy, shown)), ())
    all_causes = {cause for fault in faults for cause in fault.causes}
    until = labels.ended if label.recovered is None else label.recovered
    found = (each for each in shown if each.alarm or each.cause in all_causes)
    named = (each for each in shown if each.cause in faults[-1].causes)
    true = all_causes | set(label.also_true)
    sick = [(faults[0].began, until)]
    untrue = (each for each in _in_phases(sick, shown) if each.cause is not None and each.cause not in true)
    return GroupScore(
        label,
        _delay(faults[0], until, found, labels.faster),
        _delay(faults[-1], until, named, labels.faster),
        tuple(_in_phases(label.healthy, shown)),
        tuple(untrue),
    )


def _delay(fault: LabelledFault, until: float, shown: Iterable[VerdictPeriod], faster: float) -> float | None:
    """Return the delay of the first of these periods that is part of the time between fault and recovery."""
    at = min((each.since for each in shown if each.until > fault.began and each.since < until), default=None)
    return None if at is None else max(at - fault.knowable, 0.0) * faster


def _in_phases(phases: Iterable[tuple[float, float]], shown: Sequence[VerdictPeriod]) -> Iterator[VerdictPeriod]:
    """Yield the alarms that overlap any of the phases, cut to it."""
    for begins, ends in phases:
        for each in shown:
            if each.alarm and each.since < ends and each.until > begins:
                yield dataclasses.replace(each, since=max(each.since, begins), until=min(each.until, ends))
