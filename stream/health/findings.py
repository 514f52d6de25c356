"""The verdicts on the rows of a window at one tick, and their findings: sentence, evidence and next step."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from stream.health import hysteresis
from stream.health.columns import Codes, Flags, Ints, max_by_owner
from stream.health.evidence import Value
from stream.health.features.window import Window
from stream.health.hysteresis import ShownVerdicts
from stream.health.rules.rule import Rule, about, counted_text
from stream.health.share.window import ShareWindow
from stream.health.verdict import SEVERITY, VERDICTS, Severity, Verdict, roll_up, worst_codes

_Window = TypeVar("_Window", "Window", "ShareWindow")


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its sentence, its evidence and the next step."""

    verdict: str
    severity: Severity
    since: int | None
    """Since when the verdict holds (ms)."""
    sentence: str
    evidence: dict[str, Value]
    next_step: str
    about_owner: str = ""
    """The end of the sentence that names the owner and the last rebalance."""


@dataclasses.dataclass(frozen=True, slots=True)
class Findings(Generic[_Window]):
    """Columns of rows have one element per row, columns of groups one per group name."""

    rule_of: ClassVar[Mapping[Verdict, Rule[Any]]]
    """The rules by their verdict."""

    window: _Window
    """The numbers behind the verdicts."""
    verdict: Codes
    """The verdict shown of each row."""
    since: Ints
    """Since when (ms)."""
    group_verdict: Codes
    """The verdict shown of each group."""
    group_row: Ints
    """The row that represents the group; -1 for a group without rows."""
    group_rows: Ints
    """Number of rows of the group that have its verdict."""
    group_since: Ints
    """Since when (ms); -1: not known, or a group without rows."""
    rule_verdict: Codes
    """The verdict of the rules at this tick, `hysteresis.UNDECIDED` where they cannot decide yet."""

    @classmethod
    def of(
        cls, window: _Window, shown: ShownVerdicts, rule_verdict: Codes, counts: Flags | None = None, **more: Any
    ) -> Self:
        """Return the findings on shown verdicts; only rows that `counts` decide the verdict of a group (None: all)."""
        group, groups = window.inputs.group, len(window.inputs.groups.names)
        code, row, rows = roll_up(shown.verdict, window.lag, group, groups, counts)
        has_verdict = shown.verdict == code[group] if len(group) else np.empty(0, np.bool_)
        has_verdict = has_verdict if counts is None else has_verdict & counts
        latest = np.iinfo(np.int64).max
        since = -max_by_owner(-shown.since[has_verdict], group[has_verdict], groups, -latest)
        return cls(
            window=window,
            verdict=shown.verdict,
            since=shown.since,
            group_verdict=code,
            group_row=row,
            group_rows=rows,
            group_since=np.where(row >= 0, since, -1),
            rule_verdict=rule_verdict,
            **more,
        )

    def worst_by_owner(self, owner: Ints, owners: int) -> Codes:
        """Return the worst verdict of each owner, see `roll_up`."""
        return worst_codes(self.verdict, owner, owners)

    def partition_name(self, row: int) -> str:
        """Return the "topic-partition" of a row."""
        inputs = self.window.inputs
        return f"{inputs.topics[int(inputs.topic[row])]}-{int(inputs.partition[row])}"

    def row_finding(self, row: int) -> Finding:
        """Return the finding of one partition of a group."""
        verdict = VERDICTS[self.verdict[row]]
        rule = self.rule_of[verdict]
        sentence, _, members = self._row_sentence(row, np.arange(row, row + 1))
        return Finding(
            verdict=verdict,
            severity=SEVERITY[verdict],
            since=int(self.since[row]),
            sentence=f"{sentence}{members}",
            evidence=self._evidence(row),
            next_step=rule.next_step if rule.next_step_of is None else rule.next_step_of(self.window, row),
            about_owner=members,
        )

    def group_finding(self, group: int) -> Finding:
        """Return the finding of a group that has rows: that of the row that represents it."""
        row = int(self.group_row[group])
        sentence, members = self._sentence_of_rows(group, row)
        return dataclasses.replace(
            self.row_finding(row),
            since=int(self.group_since[group]),
            sentence=f"{sentence}{members}",
            about_owner=members,
        )

    def group_sentence(self, group: int) -> str:
        """Return the sentence of that finding: the partition that represents the group, its fault, how many have it."""
        return "".join(self._sentence_of_rows(group, int(self.group_row[group])))

    def _sentence_of_rows(self, group: int, row: int) -> tuple[str, str]:
        first, last = np.searchsorted(self.window.inputs.group, (group, group + 1))
        rows = first + np.flatnonzero(self.verdict[first:last] == self.verdict[row])
        sentence, verb, members = self._row_sentence(row, rows)
        counted = counted_text(int(self.group_rows[group]), last - first)
        return f"{about(self.partition_name(row), verb, sentence)}{counted}", members

    def _row_sentence(self, row: int, rows: Ints) -> tuple[str, str | None, str]:
        """Return the sentence of the verdict if the rules find it now, else one with the numbers of this tick.

        Beside it: the verb that joins a name to it (`Rule.verb`), and its end with the owner and the last rebalance.
        `rows` are those of the group that the sentence is about, of which `row` is one.
        """
        verdict, rule_verdict = VERDICTS[self.verdict[row]], int(self.rule_verdict[row])
        name = verdict.replace("_", " ")
        if rule_verdict == hysteresis.UNDECIDED:
            previous = "" if verdict == Verdict.UNKNOWN else f" It was {name} before."
            return f"Not observed for long enough to decide{self._unread(row)}.{previous}", None, ""
        current = VERDICTS[rule_verdict]
        rule = self.rule_of[current]
        sentence = rule.sentence(self.window, row)
        hints, members = self._members(row, rows) if rule.names_members else ("", "")
        if current == verdict:
            return f"{sentence}{hints}", rule.verb, members
        return f"Still shown as {name} until this has lasted: {sentence}{hints}", None, members

    def _evidence(self, row: int) -> dict[str, Value]:
        """Return the numbers that the verdict of a row rests on."""
        raise NotImplementedError

    def _unread(self, row: int) -> str:  # noqa: ARG002 - for subclasses
        """Return what is unread of a row that cannot be decided, with a leading colon; "": nothing."""
        return ""

    def _members(self, row: int, rows: Ints) -> tuple[str, str]:  # noqa: ARG002 - for subclasses
        """Return hints at the members of a row, and the end of a sentence that names its owner."""
        return "", ""
