"""Evaluates the share groups poll after poll, with the rules of this package. Between two polls the findings stay.

A fault is shown at the first poll at which its rule matches, because the rules themselves wait, and withdrawn after two
polls in a row without any and with a known lag.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from stream.health import hysteresis, row_columns
from stream.health.columns import NOT_KNOWN, Flags, Ints, max_by_owner
from stream.health.evidence import Value
from stream.health.features.end_states import NameIds, row_keys
from stream.health.findings import Findings
from stream.health.hysteresis import ShownVerdicts
from stream.health.inputs import HealthInputs
from stream.health.limits import HealthLimits
from stream.health.row_columns import KeptColumns
from stream.health.rules.rule import first_matches
from stream.health.share.progress import ShareProgress
from stream.health.share.rules import RULES
from stream.health.share.window import ShareMemory, ShareWindow, remember
from stream.health.verdict import CODE, SEVERITIES, VERDICTS, Severity, Verdict, roll_up

_POLLS_TO_CHANGE: Final = 1
"""A poll takes longer than the ticks for which other verdicts must last."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShareFindings(Findings[ShareWindow]):
    """The verdicts on the share groups of a poll. Their groups are those with known progress."""

    rule_of = {rule.verdict: rule for rule in RULES}  # noqa: RUF012 - declared by the base

    number_of: Mapping[int, int] = dataclasses.field(default_factory=dict)
    """The number of a group here by its number in the tick."""

    def verdicts_of(self, number: int) -> dict[tuple[str, int], tuple[str, int]]:
        """Return the verdict of each partition of a group and since when (ms), by topic and partition."""
        inputs, (first, last) = self.window.inputs, self._rows(number)
        return {
            (inputs.topics[int(inputs.topic[row])], int(inputs.partition[row])): (
                str(VERDICTS[self.verdict[row]]),
                int(self.since[row]),
            )
            for row in range(first, last)
        }

    def verdicts(self) -> Iterator[tuple[int, dict[tuple[str, int], tuple[str, int]]]]:
        """Yield the number in the tick of each group, with the verdicts of its partitions."""
        yield from ((at, self.verdicts_of(number)) for at, number in self.number_of.items())

    def topic_verdicts(self, number: int) -> dict[str, str]:
        """Return the worst verdict in each topic of a group, by the rule for the whole group."""
        inputs, rows = self.window.inputs, slice(*self._rows(number))
        topic, topics = inputs.topic[rows], len(inputs.topics)
        counts = _delivered(self.window.memory.start_offset[rows], topic, topics)
        code, _, _ = roll_up(self.verdict[rows], self.window.lag[rows], topic, topics, counts)
        return {inputs.topics[each]: str(VERDICTS[code[each]]) for each in np.unique(topic).tolist()}

    def unmoved_since(self) -> dict[int, int]:
        """Return the first poll (ms) of the groups whose faults are all of partitions that have not changed since."""
        group, memory = self.window.inputs.group, self.window.memory
        faults = SEVERITIES[self.verdict] >= Severity.WARNING
        since = max_by_owner(memory.changed_at[faults], group[faults], len(self.group_row), NOT_KNOWN)
        since[group[faults & memory.moved]] = NOT_KNOWN
        found = ((at, int(since[number])) for at, number in self.number_of.items())
        return {at: time for at, time in found if time != NOT_KNOWN}

    def _rows(self, number: int) -> tuple[int, int]:
        first, last = np.searchsorted(self.window.inputs.group, (number, number + 1))
        return int(first), int(last)

    def _evidence(self, row: int) -> dict[str, Value]:
        window, memory = self.window, self.window.memory
        columns = {
            "lag": memory.lag,
            "start_offset": memory.start_offset,
            "finished": memory.finished,
            "returned": memory.returned,
            "most_deliveries": memory.most_deliveries,
            "archived_since_accepted": memory.archived_since,
            "members": window.members,
            "last_change_time": np.where(memory.moved, memory.changed_at, NOT_KNOWN),
            "patience": window.patience,
        }
        return {name: int(column[row]) if column[row] >= 0 else None for name, column in columns.items()}


class ShareEvaluator:
    """Evaluates one poll after another; the memory has the partitions of the last one only."""

    def __init__(self, limits: HealthLimits, stored: bytes | None = None) -> None:
        """Continue with what an earlier process packed, if there is anything."""
        self._limits, self._stored = limits, stored
        self._memory, self._shown = KeptColumns(ShareMemory, stored), KeptColumns(ShownVerdicts, stored)
        self._groups, self._topics = NameIds(), NameIds()
        self._findings: ShareFindings | None = None
        self._taken_at: int | None = None

    def evaluate(self, inputs: HealthInputs) -> ShareFindings | None:
        """Return the findings of the share groups with known progress; None without any.

        A poll without an answer changes nothing until records may have waited for too long since the last answer.
        """
        progress = inputs.share_progress
        if progress is None:
            return None
        is_outdated = self._taken_at is None or progress.taken_at - self._taken_at > self._limits.share_pause
        if progress.unknown_reason is not None and is_outdated:
            return None
        position = {inputs.groups.names[at]: at for at in np.flatnonzero(inputs.groups.share).tolist()}
        if progress.unknown_reason is None and progress.taken_at != self._taken_at:
            self._taken_at = progress.taken_at
            self._findings = self._evaluate_poll(progress, inputs, position)
        if self._findings is None:
            return None
        names = self._findings.window.inputs.groups.names
        number_of = {position[name]: number for number, name in enumerate(names) if name in position}
        return dataclasses.replace(self._findings, number_of=number_of) if number_of else None

    def pack(self) -> bytes | None:
        """Return the memory and the shown verdicts for the next process; None if there is nothing."""
        rows = self._shown.inputs
        return self._stored if rows is None else row_columns.pack(rows, self._shown.stored() | self._memory.stored())

    def _evaluate_poll(
        self, progress: ShareProgress, inputs: HealthInputs, position: Mapping[str, int]
    ) -> ShareFindings:
        groups = sorted(name for name, rows in progress.groups.items() if rows and name in position)
        partitions = [(number, each) for number, name in enumerate(groups) for each in progress.groups[name]]
        partitions.sort(key=lambda row: (row[0], row[1].topic, row[1].partition))
        topics = sorted({each.topic for _, each in partitions})
        at = {topic: number for number, topic in enumerate(topics)}
        rows = dataclasses.replace(
            inputs.without_columns(),
            now=progress.taken_at,
            groups=inputs.groups.take(np.array([position[name] for name in groups], np.int64)),
            topics=topics,
            group=np.array([number for number, _ in partitions], np.int64),
            topic=np.array([at[each.topic] for _, each in partitions], np.int64),
            partition=np.array([each.partition for _, each in partitions], np.int32),
        )
        keys = row_keys(rows, self._groups, self._topics)
        memory = remember(self._memory.aligned(rows, keys), [each for _, each in partitions], rows.now)
        previous = self._shown.aligned(rows, keys)
        window = ShareWindow(rows, self._limits, memory)
        code, _ = first_matches(RULES, window, len(window))
        # An unknown lag does not withdraw a fault.
        stays = (memory.lag < 0) & (code == CODE[Verdict.UNKNOWN]) & (SEVERITIES[previous.verdict] >= Severity.WARNING)
        decided = np.where(stays, hysteresis.UNDECIDED, code).astype(np.int8)
        shown = hysteresis.advance(previous, decided, rows.now, change=_POLLS_TO_CHANGE)
        self._memory.keep(memory, rows)
        self._shown.keep(shown, rows)
        return ShareFindings.of(window, shown, code, _delivered(memory.start_offset, rows.group, len(groups)))


def _delivered(start_offset: Ints, owner: Ints, owners: int) -> Flags:
    """Return the rows in which a delivery has ended; all rows of owners that have none of these.

    Other partitions do not count: most have no records.
    """
    delivered = start_offset >= 0
    without = np.bincount(owner[delivered], minlength=owners) == 0
    counted: Flags = delivered | without[owner]
    return counted
