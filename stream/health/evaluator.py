"""The evaluation of a tick: window, rules, hysteresis, groups."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from stream.health import hysteresis, row_columns
from stream.health.burrow import BurrowStatuses, BurrowStatusTracker
from stream.health.columns import Codes, Flags, Ints
from stream.health.evidence import Value, evidence
from stream.health.features import window as windows
from stream.health.features.partition_history import PartitionHistory
from stream.health.features.window import Window
from stream.health.findings import Finding, Findings
from stream.health.hysteresis import ShownVerdicts
from stream.health.inputs import GroupStage, HealthInputs
from stream.health.limits import HealthLimits
from stream.health.row_columns import KeptColumns
from stream.health.rules import RULES
from stream.health.rules.membership import may_be_assigned_soon
from stream.health.rules.rule import first_matches, members_text, unread_text
from stream.health.rules.unknown_lag import briefly_unknown_rows
from stream.health.share.evaluator import ShareEvaluator, ShareFindings
from stream.health.verdict import CODE, SEVERITIES, SEVERITY, VERDICTS, Severity, Verdict


def _flags(*verdicts: Verdict) -> Flags:
    """Return by code which verdicts are among these."""
    return np.array([verdict in verdicts for verdict in VERDICTS], np.bool_)


_HAVE_RATE: Final = _flags(Verdict.OK, Verdict.RECOVERING, Verdict.SKEWED, Verdict.FALLING_BEHIND)
"""Verdicts that depend on how fast a group reads."""
_NEEDS_NO_RECORD: Final = frozenset(
    {
        Verdict.UNKNOWN,
        Verdict.CAUGHT_UP,
        Verdict.MIRRORED,
        Verdict.BELOW_LOG_START,
        Verdict.COMMITS_LAST_READ,
        Verdict.EXPIRING,
        Verdict.ABANDONED,
        Verdict.SKIPPED,
        Verdict.FORGOTTEN,
        Verdict.TWO_APPLICATIONS,
        Verdict.TWO_COMMITTERS,
        Verdict.RESET,
        Verdict.NO_LEADER,
        Verdict.TRUNCATED,
    }
)
"""These hold whether or not a record is unread. Every other verdict but "ok" implies an unread record."""
_GOOD: Final = _flags(Verdict.OK, Verdict.CAUGHT_UP, Verdict.COMMITS_LAST_READ)
"""Verdicts that the rules give only to rows without a fault: these can be premature."""
_NEEDS_A_RECORD: Final = ~_flags(*_NEEDS_NO_RECORD)

_LEAST_SLOTS: Final = 2
"""A tool that sets offsets commits once."""
_RECENT_SLOTS: Final = 4
_NO_OFFSETS: Final = (
    "The group has committed no offsets.",
    "If it keeps its offsets elsewhere (Spark, Flink), watch them there.",
)
_NO_OFFSETS_OF_SHARE_GROUP: Final = (
    "A share group commits no offsets, and its progress in __share_group_state is not known here{why}.",
    "Grant Read on the topic. The lag: kafka-share-groups.sh --describe --offsets.",
)


@dataclasses.dataclass(frozen=True, slots=True)
class EvaluationResult(Findings[Window]):
    """The verdicts of one tick. Share groups have no rows: their partitions are those of `share`."""

    verdict_names: ClassVar[Sequence[str]] = VERDICTS
    """The verdicts by code."""
    severities: ClassVar[Codes] = SEVERITIES
    """The `Severity` of each verdict by code."""
    rule_of = {rule.verdict: rule for rule in RULES}  # noqa: RUF012 - declared by the base
    legend: ClassVar[Sequence[tuple[str, str]]] = [
        (rule.meaning, rule.next_step) for rule in sorted(hysteresis.EVERY_RULE, key=lambda rule: CODE[rule.verdict])
    ]
    """The meaning and the next step of each verdict by code."""

    group_skipped: Ints
    """The number of offsets that the group has passed without reading them, since the process started."""
    also: Ints
    """All faults that `Rule.is_reported_beside` allows, a bit for each code; 0 where there is no verdict."""
    share: ShareFindings | None = None
    """The findings on share groups with known progress; None without any."""

    def of_group(self, group: int, more: int = 0) -> EvaluationResult:  # noqa: ARG002 - that of PackedEvaluation
        """Return the evaluation, which has the rows of all groups."""
        return self

    def findings_of(self, group: int) -> tuple[Findings[Any], int]:
        """Return the findings that have the rows of a group, and its number in them."""
        number = None if self.share is None else self.share.number_of.get(group)
        return (self, group) if self.share is None or number is None else (self.share, number)

    def group_finding(self, group: int) -> Finding:
        """Return the finding of a group: that of the row that represents it."""
        found, number = self.findings_of(group)
        if found is not self:
            return found.group_finding(number)
        return (
            self._finding_without_commits(group) if self.group_row[group] < 0 else Findings.group_finding(self, group)
        )

    def group_sentence(self, group: int) -> str:
        """Return the sentence of that finding: the partition that represents the group, its fault, how many have it."""
        found, number = self.findings_of(group)
        if found is not self:
            return found.group_sentence(number)
        if self.group_row[group] < 0:
            return self._finding_without_commits(group).sentence
        return Findings.group_sentence(self, group)

    def _evidence(self, row: int) -> dict[str, Value]:
        """Return the numbers that the verdict rests on, and other faults of the row with their numbers."""
        verdict = VERDICTS[self.verdict[row]]
        rules = [rule for rule in RULES if rule.is_reported_beside and self.also[row] >> CODE[rule.verdict] & 1]
        names = dict.fromkeys(itertools.chain(*(rule.evidence for rule in (self.rule_of[verdict], *rules))))
        others = ", ".join(str(rule.verdict) for rule in rules if rule.verdict != verdict)
        return evidence(self.window, row, tuple(names)) | ({"also": others} if others else {})

    def _unread(self, row: int) -> str:
        return f": {unread_text(self.window, row)}" if self.window.lag[row] > 0 else ""

    def _members(self, row: int, rows: Ints) -> tuple[str, str]:
        return members_text(self.window, row, rows)

    def _finding_without_commits(self, group: int) -> Finding:
        sentence, next_step = _NO_OFFSETS
        if self.window.inputs.groups.share[group]:
            progress = self.window.inputs.share_progress
            reason = None if progress is None else progress.unknown_reason
            sentence, next_step = _NO_OFFSETS_OF_SHARE_GROUP
            sentence = sentence.format(why="" if reason is None else f" ({reason})")
        return Finding(Verdict.UNKNOWN, SEVERITY[Verdict.UNKNOWN], None, sentence, {}, next_step)


class Evaluator:
    """Evaluates tick after tick. Not thread-safe.

    Start after the initial catch-up: of a log that is read halfway, half of the groups look faulty.
    """

    def __init__(
        self,
        limits: HealthLimits | None = None,
        *,
        points: int = 48,
        packed: bytes | None = None,
        share_groups: bytes | None = None,
    ) -> None:
        """Continue with the verdicts and the share groups that an earlier process packed, if there are any.

        At most `points` points of the history of each end offset are kept.
        """
        self.limits = limits or HealthLimits()
        self.history = PartitionHistory(points, tick=self.limits.tick, packed=packed)
        self.burrow_statuses: BurrowStatuses | None = None
        """Burrow's statuses of the last tick; None unless they are tracked."""
        self._burrow: BurrowStatusTracker | None = None
        self._shown = KeptColumns(ShownVerdicts, packed)
        self._share = ShareEvaluator(self.limits, share_groups)

    def track_burrow_statuses(self) -> None:
        """Apply Burrow's rules too, at each tick from the next one on."""
        self._burrow = BurrowStatusTracker()

    def start(self, inputs: HealthInputs, past_ends: tuple[Ints, Ints] | None) -> None:
        """Record the first tick before its evaluation; prepend past ends if there are any.

        `past_ends` are times (ms) and the answers of ListOffsets for them, see `PartitionHistory.seed`.
        """
        self.history.observe(inputs)
        if past_ends is not None:
            self.history.seed(inputs, *past_ends)

    def record_missed_tick(self) -> None:
        """Record a tick at which the cluster did not answer."""
        self.history.states.record_missed_tick()

    def evaluate(self, inputs: HealthInputs) -> EvaluationResult:
        """Evaluate one tick. Ticks come in order, and each of them once."""
        window = self._build_window(inputs)
        rule_verdict, also = apply_rules(window)
        previous = self._shown.aligned(inputs, self.history.memory.keys)
        brief = briefly_unknown_rows(window)
        shown = hysteresis.advance(previous, rule_verdict, inputs.now, window.progress_time, brief)
        self._shown.keep(shown, inputs)
        window = window.trim(self.history.memory.packed)
        skipped = np.array(list(self.history.memory.skipped.values()), np.int64)
        share = self._share.evaluate(inputs)
        result = EvaluationResult.of(window, shown, rule_verdict, also=also, share=share, group_skipped=skipped)
        if share is not None:
            at, own = np.array([*share.number_of]), np.array([*share.number_of.values()])
            for name in ("group_verdict", "group_rows", "group_since"):
                getattr(result, name)[at] = getattr(share, name)[own]
        return result

    def pack(self) -> bytes | None:
        """Return the shown verdicts as bytes for the next process; None before the first tick."""
        inputs = self._shown.inputs
        return None if inputs is None else row_columns.pack(inputs, self._shown.stored() | self.history.memory.stored())

    def pack_share_groups(self) -> bytes | None:
        """Return what is known of the share groups as bytes for the next process; None if there is nothing."""
        return self._share.pack()

    def _build_window(self, inputs: HealthInputs) -> Window:
        inputs = _with_stages_of_commits(inputs, self.limits)
        observation = self.history.record(inputs, self.limits.first_commit_grace)
        window = windows.build(inputs, observation, self.history, self.limits)
        if self._burrow is not None:
            self.burrow_statuses = self._burrow.update(window, self.history, self.limits.tick)
        return window


def apply_rules(window: Window) -> tuple[Codes, Ints]:
    """Return the verdict of the first rule that matches each row, `UNDECIDED` where no verdict is possible yet.

    The second column has a bit for each further rule that matches a row with a fault, see `EvaluationResult.also`.

    Only a good verdict can be premature: what another rule has found holds however short the history is. There are two
    exceptions. Of rows whose unread offsets may all be transaction markers nothing critical is reported until their
    tail has been read; if it cannot be read, they are unknown. Of rows whose newest commits are hidden by an open
    transaction nothing is known.
    """
    code, also = first_matches(RULES, window, len(window))
    # No member reads these yet: not good, and a fault only if it lasts.
    code[(code == CODE[Verdict.OK]) & may_be_assigned_soon(window)] = CODE[Verdict.UNKNOWN]
    good, have_rate = _GOOD[code], _HAVE_RATE[code]
    code[(good & window.undecided) | (have_rate & window.paused)] = hysteresis.UNDECIDED
    _withdraw_unproven(code, window)
    if window.inputs.hidden is not None:  # they may have read on, or may have members by now
        code[window.inputs.hidden] = hysteresis.UNDECIDED
    also[(code < 0) | (SEVERITIES[code] < Severity.WARNING)] = 0
    return code, also


def _withdraw_unproven(code: Codes, window: Window) -> None:
    """Replace verdicts that rest on offsets of which it is not known whether they hold a record."""
    tail = window.tail
    if not (tail.pending | tail.unproven | window.stuck_unproven).any():
        return
    claims = (code >= 0) & _NEEDS_A_RECORD[code]
    critical = claims & (SEVERITIES[code] == Severity.CRITICAL)
    code[tail.pending & critical] = hysteresis.UNDECIDED
    code[tail.unproven & critical] = CODE[Verdict.UNKNOWN]
    code[window.stuck_unproven & (claims | (code == hysteresis.UNDECIDED))] = CODE[Verdict.UNKNOWN]


def _with_stages_of_commits(inputs: HealthInputs, limits: HealthLimits) -> HealthInputs:
    """Return the inputs with the stage `OFFSETS_ONLY` for empty groups that make progress without members.

    Consumers that assign partitions to themselves use them. A group counts as such if its offset on one partition has
    advanced in two slots since `HealthLimits.restart_grace` after its members left, and lately.
    """
    groups, slots = inputs.groups, inputs.slots
    empty = groups.stage == GroupStage.EMPTY
    if not empty.any() or not len(slots):
        return inputs
    group = inputs.group[slots.row]
    advanced = np.concatenate(([False], (slots.row[1:] == slots.row[:-1]) & (slots.offset[1:] > slots.offset[:-1])))
    advanced &= empty[group] & (slots.time > groups.emptied[group] + limits.restart_grace)
    count = np.bincount(slots.row[advanced], minlength=len(inputs))
    is_late = advanced & (slots.time >= inputs.now - _RECENT_SLOTS * limits.slot)
    commits = np.unique(group[is_late & (count[slots.row] >= _LEAST_SLOTS)])
    if not len(commits):
        return inputs
    stage = groups.stage.copy()
    stage[commits] = GroupStage.OFFSETS_ONLY
    return dataclasses.replace(inputs, groups=dataclasses.replace(groups, stage=stage))
