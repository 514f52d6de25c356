"""The score of one monitor: which sick groups it found, how late, with which cause, and its false alarms."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bench.incidents.labels import GroupLabel, LabelledFault, RecordingLabels
from bench.incidents.verdict_log import VerdictPeriod, VerdictRow, periods


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
