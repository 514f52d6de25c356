"""The evaluation of a tick: window, rules, hysteresis, groups."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from stream.health import hysteresis, stored_rows
from stream.health.burrow.status_tracker import BurrowStatusTracker
from stream.health.evaluation import Finding
from stream.health.evidence import evidence
from stream.health.features import window as windows
from stream.health.features.fixed_assignment import with_stages_of_commits
from stream.health.features.partition_history import PartitionHistory
from stream.health.hysteresis import ShownVerdicts
from stream.health.limits import HealthLimits
from stream.health.row_columns import KeptColumns
from stream.health.rules import RULES
from stream.health.rules.log.unknown import briefly_unknown_rows
from stream.health.rules.members import members_text
from stream.health.rules.membership.unassigned import may_be_assigned_soon
from stream.health.rules.rule import about, counted_text, unread_text
from stream.health.share.evaluator import ShareEvaluator, share_legend, share_severities
from stream.health.share.rules import ShareVerdict
from stream.health.verdict import CODE, SEVERITIES, SEVERITY, VERDICTS, Severity, Verdict, roll_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.health.burrow.status_tracker import BurrowStatuses
    from stream.health.columns import Codes, Ints
    from stream.health.evaluation import PartitionFinding, ShownVerdict, StoredShareGroups
    from stream.health.evidence import Value
    from stream.health.features.window import Window
    from stream.health.inputs import HealthInputs
    from stream.health.share.evaluator import ShareGroupFinding

_RULE_BY_VERDICT: Final = {rule.verdict: rule for rule in RULES}
_RATE_VERDICTS: Final = [
    CODE[each] for each in (Verdict.OK, Verdict.RECOVERING, Verdict.SKEWED, Verdict.FALLING_BEHIND)
]
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
_GOOD: Final = [CODE[each] for each in (Verdict.OK, Verdict.CAUGHT_UP, Verdict.COMMITS_LAST_READ)]
"""Verdicts that the rules give only to rows without a fault: these can be premature."""
_NEEDS_A_RECORD: Final = np.array([verdict not in _NEEDS_NO_RECORD for verdict in VERDICTS], np.bool_)

_NO_OFFSETS: Final = (
    "The group has committed no offsets.",
    "If it keeps its offsets elsewhere (Spark, Flink), watch them there.",
)
_NO_OFFSETS_OF_SHARE_GROUP: Final = (
    "A share group commits no offsets, and its progress in __share_group_state is not known here{why}.",
    "Grant Read on the topic. The lag: kafka-share-groups.sh --describe --offsets.",
)


@dataclasses.dataclass(frozen=True, slots=True)
class EvaluationResult:
    """The verdicts of one tick. Columns of rows have one element per row, columns of groups one per group name.

    Only groups have the verdicts of share groups, rows have none of them.
    """

    verdict_names: ClassVar[Sequence[str]] = (*VERDICTS, *ShareVerdict)
    """The verdicts by code."""
    severities: ClassVar[Codes] = np.array([*SEVERITIES, *share_severities()], np.int8)
    """The `Severity` of each verdict by code."""
    legend: ClassVar[Sequence[tuple[str, str]]] = [
        *((rule.meaning, rule.next_step) for rule in (_RULE_BY_VERDICT[verdict] for verdict in VERDICTS)),
        *share_legend(),
    ]
    """The meaning and the next step of each verdict by code."""

    window: Window
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
    group_skipped: Ints
    """The number of offsets that the group has passed without reading them, since the process started."""
    rule_verdict: Codes
    """The verdict of the rules at this tick, `hysteresis.UNDECIDED` where they cannot decide yet."""
    also: Ints
    """All faults that `Rule.is_reported_beside` allows, a bit for each code; 0 where there is no verdict."""
    share: Mapping[int, ShareGroupFinding] = dataclasses.field(default_factory=dict)
    """The findings of share groups with known progress, by group."""

    def of_group(self, group: int) -> EvaluationResult:  # noqa: ARG002 - that of PackedEvaluation
        """Return the evaluation, which has the rows of all groups."""
        return self

    def worst_by_owner(self, owner: Ints, owners: int) -> Codes:
        """Return the worst verdict of each owner, see `roll_up`."""
        return roll_up(self.verdict, self.window.lag, owner, owners)[0]

    def row_finding(self, row: int) -> Finding:
        """Return the finding of one partition of a group."""
        verdict = VERDICTS[self.verdict[row]]
        rule = _RULE_BY_VERDICT[verdict]
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
        """Return the finding of a group: that of the row that represents it."""
        row = int(self.group_row[group])
        if row < 0:
            return self._finding_without_commits(group)
        sentence, members = self._sentence_of_rows(group, row)
        return dataclasses.replace(
            self.row_finding(row),
            since=int(self.group_since[group]),
            sentence=f"{sentence}{members}",
            about_owner=members,
        )

    def _evidence(self, row: int) -> dict[str, Value]:
        """Return the numbers that the verdict rests on, and other faults of the row with their numbers."""
        verdict = VERDICTS[self.verdict[row]]
        rules = [rule for rule in RULES if rule.is_reported_beside and self.also[row] >> CODE[rule.verdict] & 1]
        names = dict.fromkeys(itertools.chain(*(rule.evidence for rule in (_RULE_BY_VERDICT[verdict], *rules))))
        others = ", ".join(str(rule.verdict) for rule in rules if rule.verdict != verdict)
        return evidence(self.window, row, tuple(names)) | ({"also": others} if others else {})

    def group_sentence(self, group: int) -> str:
        """Return the sentence of that finding: the partition that represents the group, its fault, how many have it."""
        row = int(self.group_row[group])
        if row < 0:
            return self._finding_without_commits(group).sentence
        return "".join(self._sentence_of_rows(group, row))

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
            unread = f": {unread_text(self.window, row)}" if self.window.lag[row] > 0 else ""
            return f"Not observed for long enough to decide{unread}.{previous}", None, ""
        current = VERDICTS[rule_verdict]
        rule = _RULE_BY_VERDICT[current]
        sentence = rule.sentence(self.window, row)
        hints, members = members_text(self.window, row, rows) if rule.names_members else ("", "")
        if current == verdict:
            return f"{sentence}{hints}", rule.verb, members
        return f"Still shown as {name} until this has lasted: {sentence}{hints}", None, members

    def share_partition_findings(self, group: int) -> Sequence[PartitionFinding]:
        """Return the findings of the partitions of a share group that are not fine, worst first."""
        found = self.share.get(group)
        return () if found is None else found.partitions

    def share_partition_verdicts(self, group: int) -> Mapping[tuple[str, int], ShownVerdict]:
        """Return the verdict of each partition of a share group by topic and partition; empty if none is known."""
        found = self.share.get(group)
        return {} if found is None else found.verdicts

    def share_topic_verdicts(self, group: int) -> Mapping[str, int]:
        """Return the code of the worst verdict in each topic of a share group; empty if its progress is not known."""
        found = self.share.get(group)
        return {} if found is None else found.topics

    def unmoved_share_groups(self) -> Mapping[int, int]:
        """Return the first poll (ms) of share groups whose faults are all of partitions that have not changed since."""
        found = ((group, each.unmoved_since) for group, each in self.share.items())
        return {group: since for group, since in found if since is not None}

    def partition_name(self, row: int) -> str:
        """Return the "topic-partition" of a row."""
        inputs = self.window.inputs
        return f"{inputs.topics[int(inputs.topic[row])]}-{int(inputs.partition[row])}"

    def _finding_without_commits(self, group: int) -> Finding:
        found = self.share.get(group)
        if found is not None:
            return found.group
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
        share_groups: StoredShareGroups = (),
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
        self.history.record_missed_tick()

    def evaluate(self, inputs: HealthInputs) -> EvaluationResult:
        """Evaluate one tick. Ticks come in order, and each of them once."""
        window = self._build_window(inputs)
        rule_verdict, also = apply_rules(window)
        previous = self._shown.aligned(inputs, self.history.memory.keys)
        brief = briefly_unknown_rows(window)
        shown = hysteresis.advance(previous, rule_verdict, inputs.now, window.progress_time, brief)
        self._shown.keep(shown, inputs)
        window = window.trim()
        code, row, rows = roll_up(shown.verdict, window.lag, inputs.group, len(inputs.groups.names))
        since = _group_since(shown, code, row, inputs.group)
        share = self._share.evaluate(inputs.share_progress, inputs.groups)
        for group, found in share.items():
            code[group], rows[group], since[group] = found.code, found.rows, found.group.since or -1
        return EvaluationResult(
            window=window,
            verdict=shown.verdict,
            since=shown.since,
            group_verdict=code,
            group_row=row,
            group_rows=rows,
            group_since=since,
            group_skipped=np.array(list(self.history.memory.skipped.values()), np.int64),
            rule_verdict=rule_verdict,
            also=also,
            share=share,
        )

    def pack(self) -> bytes | None:
        """Return the shown verdicts as bytes for the next process; None before the first tick."""
        inputs = self._shown.inputs
        return None if inputs is None else stored_rows.pack(inputs, self._shown.stored() | self.history.memory.stored())

    def pack_share_groups(self) -> StoredShareGroups:
        """Return the memory of the share groups for the next process."""
        return self._share.pack()

    def _build_window(self, inputs: HealthInputs) -> Window:
        inputs = with_stages_of_commits(inputs, self.limits)
        observation = self.history.record(inputs, self.limits.first_commit_grace)
        window = windows.build(inputs, observation, self.history, self.limits)
        if self._burrow is not None:
            self.burrow_statuses = self._burrow.update(window, self.history, self.limits.tick)
        return window


def _group_since(shown: ShownVerdicts, group_verdict: Codes, group_row: Ints, group: Ints) -> Ints:
    """Return since when the first row of each group has the group's verdict; -1 for a group without rows."""
    since = np.full(len(group_verdict), np.iinfo(np.int64).max)
    has_verdict = shown.verdict == group_verdict[group] if len(group) else np.empty(0, np.bool_)
    np.minimum.at(since, group[has_verdict], shown.since[has_verdict])
    return np.where(group_row >= 0, since, -1)


def apply_rules(window: Window) -> tuple[Codes, Ints]:
    """Return the verdict of the first rule that matches each row, `UNDECIDED` where no verdict is possible yet.

    The second column has a bit for each further rule that matches a row with a fault, see `EvaluationResult.also`.

    Only a good verdict can be premature: what another rule has found holds however short the history is. There are two
    exceptions. Of rows whose unread offsets may all be transaction markers nothing critical is reported until their
    tail has been read; if it cannot be read, they are unknown. Of rows whose newest commits are hidden by an open
    transaction nothing is known.
    """
    code = np.full(len(window), hysteresis.UNDECIDED, np.int8)
    also = np.zeros(len(window), np.int64)
    unmatched = np.ones(len(window), np.bool_)
    for rule in RULES:
        found = rule.matches(window)
        if rule.is_reported_beside:
            also[found] |= 1 << CODE[rule.verdict]
        matched = unmatched & found
        code[matched] = CODE[rule.verdict]
        unmatched &= ~matched
    # No member reads these yet: not good, and a fault only if it lasts.
    code[(code == CODE[Verdict.OK]) & may_be_assigned_soon(window)] = CODE[Verdict.UNKNOWN]
    code[np.isin(code, _GOOD) & window.undecided] = hysteresis.UNDECIDED
    code[window.paused & np.isin(code, _RATE_VERDICTS)] = hysteresis.UNDECIDED
    _withdraw_unproven(code, window)
    if window.inputs.hidden is not None:  # they may have read on, or may have members by now
        code[window.inputs.hidden] = hysteresis.UNDECIDED
    also[(code < 0) | (SEVERITIES[code] < Severity.WARNING)] = 0
    return code, also


def _withdraw_unproven(code: Codes, window: Window) -> None:
    """Replace verdicts that rest on offsets of which it is not known whether they hold a record."""
    claims = (code >= 0) & _NEEDS_A_RECORD[code]
    critical = claims & (SEVERITIES[code] == Severity.CRITICAL)
    code[window.tail.pending & critical] = hysteresis.UNDECIDED
    code[window.tail.unproven & critical] = CODE[Verdict.UNKNOWN]
    code[window.stuck_unproven & (claims | (code == hysteresis.UNDECIDED))] = CODE[Verdict.UNKNOWN]
