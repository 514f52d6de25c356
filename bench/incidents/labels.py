"""The labels of a recording: per group its fate, faults with the times from which they are knowable, healthy phases.

They are made from the verdict scenarios and from the times at which a run performed them, and do not depend on them
afterwards: a later change of a scenario does not change a recording. All times are Unix seconds. By the wall clock the
run is `faster` times as fast as production.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pydantic

from sandbox.clients.group_names import topic_name
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.assess import AFTER_PAUSE, MAX_TICKS_LATE, blocked_since
from sandbox.verdict_scenarios.pace import RunPace
from sandbox.verdict_scenarios.record import RunRecord
from sandbox.verdict_scenarios.scenario import FINE, ExpectedVerdict, ScenarioKind, VerdictScenario
from stream.health.burrow import INTERVALS

FORMAT: Final = 1
"""The version of labels.json."""
WARM_UP: Final = INTERVALS * pace.COMMIT
"""Seconds of the run from its beginning in which alarms do not count: a window of ten commits is not full before."""


@dataclasses.dataclass(frozen=True, slots=True)
class LabelledFault:
    """A fault of a group. It has any of the `causes`, begins at a time, and is `knowable` from a time on.

    That is the time from which it follows from every commit and from the end offsets at every look; before it, the same
    data are normal.
    """

    causes: tuple[str, ...]
    began: float
    knowable: float


@dataclasses.dataclass(frozen=True, slots=True)
class GroupLabel:
    """The truth about one group."""

    case: str
    """The name of its scenario."""
    group: str
    fate: ScenarioKind
    description: str
    topics: tuple[str, ...]
    faults: tuple[LabelledFault, ...]
    """In order of time; none of a healthy group."""
    healthy: tuple[tuple[float, float], ...]
    """The periods in which any alarm is a false one. Times outside of them and of the faults count for nothing."""
    also_true: tuple[str, ...]
    """Further causes that are correct during the fault."""
    recovered: float | None
    """The time from which the group is healthy again; None: its fault lasts until the end."""


@dataclasses.dataclass(frozen=True, slots=True)
class RecordingLabels:
    """All labels of a recording, and the facts about its run."""

    began: float
    ended: float
    faster: float
    """Seconds of production per second of the wall clock."""
    tick: float
    """Seconds of the wall clock between two looks at the end offsets."""
    offsets_retention: float
    """Seconds of the wall clock after which the broker removes the offsets of an empty group."""
    outages: dict[str, float]
    """Times of outages of brokers and of the monitor, which all groups share."""
    groups: tuple[GroupLabel, ...]

    def save(self, file: Path) -> None:
        """Write the labels as JSON."""
        file.write_text(json.dumps({"format": FORMAT, **dataclasses.asdict(self)}, indent=1) + "\n")


def load_labels(file: Path) -> RecordingLabels:
    """Return the labels that `RecordingLabels.save` wrote. Raises ValueError for another format."""
    raw: dict[str, Any] = json.loads(file.read_text())
    if raw.pop("format", None) != FORMAT:
        raise ValueError(f"{file} is not in format {FORMAT} of the labels")
    return pydantic.TypeAdapter(RecordingLabels).validate_python(raw)


def label_run(scenarios: Iterable[VerdictScenario], record: RunRecord) -> RecordingLabels:
    """Return the labels of a run. A scenario whose faults the run did not produce gets none."""
    labels = [_label(each, record) for each in scenarios]
    return RecordingLabels(
        _ms(record.began),
        _ms(record.ended),
        record.pace.faster,
        record.pace.wall(pace.TICK),
        record.pace.wall(pace.OFFSETS_RETENTION),
        {name: _ms(time) for name, time in record.marks.get("", {}).items()},
        tuple(each for each in labels if each is not None),
    )


def _label(scenario: VerdictScenario, record: RunRecord) -> GroupLabel | None:
    marks = [record.mark(scenario.name, each.mark) for each in scenario.expected]
    reached = [mark for mark in marks if mark is not None]
    if len(reached) < len(marks):
        return None
    faults = tuple(_faults(scenario.expected, reached, record.pace))
    recovered = _recovered(scenario.expected, reached, record.pace)
    group = record.groups[scenario.name]
    return GroupLabel(
        scenario.name,
        group,
        scenario.kind,
        scenario.description,
        tuple(topic_name(group, short) for short in scenario.topics),
        faults,
        tuple(_healthy(scenario, record, reached, recovered)),
        tuple(scenario.true_as_well),
        recovered,
    )


def _faults(
    expected: Sequence[ExpectedVerdict], marks: Sequence[float], pace_of_run: RunPace
) -> Iterator[LabelledFault]:
    """Yield the faults; the same causes at a later mark are the same fault."""
    previous: tuple[str, ...] | None = None
    for each, mark in zip(expected, marks, strict=True):
        if not _is_fine(each) and each.verdicts != previous:
            yield LabelledFault(each.verdicts, _ms(mark), _ms(mark + pace_of_run.wall(each.after)))
            previous = each.verdicts


def _recovered(expected: Sequence[ExpectedVerdict], marks: Sequence[float], pace_of_run: RunPace) -> float | None:
    """Return the time from which the last expected verdict is fine, including the ticks until it is shown."""
    if not expected or not _is_fine(expected[-1]):
        return None
    return _ms(marks[-1] + pace_of_run.wall(expected[-1].after + MAX_TICKS_LATE * pace.TICK))


def _healthy(
    scenario: VerdictScenario, record: RunRecord, marks: Sequence[float], recovered: float | None
) -> Iterator[tuple[float, float]]:
    """Yield the phases, without the times at which a client had no answer or no membership: alarms may be true then."""
    begins = record.began + record.pace.wall(max(scenario.judged_from, WARM_UP))
    blocked = blocked_since(record, scenario.name)
    ends = min(record.began + record.pace.wall(scenario.judged_until), record.ended, blocked)
    # Other marks of a sick group, such as the beginning of its silence, are parts of its fault.
    first = min((*marks, *record.marks.get(scenario.name, {}).values())) if scenario.kind == "sick" else ends
    after = record.pace.wall(AFTER_PAUSE)
    lost = [(since, until + after) for since, until in record.lost_memberships.get(scenario.name, ())]
    for since, until in ((begins, min(first, ends)), (recovered, ends)):
        if since is not None:
            cuts = [since, *(min(max(cut, since), until) for period in sorted(lost) for cut in period), until]
            yield from ((_ms(a), _ms(b)) for a, b in zip(cuts[::2], cuts[1::2], strict=True) if a < b)


def _is_fine(expected: ExpectedVerdict) -> bool:
    return bool(set(expected.verdicts) & set(FINE))


def _ms(time: float) -> float:
    return round(time, 3)
