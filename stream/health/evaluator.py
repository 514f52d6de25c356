"""The tick of health: windows, rules, hysteresis, groups. Holds what must outlive a tick, and nothing else."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.health import hysteresis
from stream.health.evaluation import Finding
from stream.health.evidence import evidence
from stream.health.features import window as windows
from stream.health.features.partition_history import PartitionHistory
from stream.health.limits import HealthLimits
from stream.health.rules import RULES
from stream.health.rules.rule import unread_text
from stream.health.rules.unassigned import may_be_assigned_soon
from stream.health.verdict import CODE, SEVERITIES, SEVERITY, VERDICTS, Severity, Verdict, roll_up

if TYPE_CHECKING:
    from stream.health.columns import Codes, Ints
    from stream.health.features.window import Window
    from stream.health.hysteresis import ShownVerdicts
    from stream.health.inputs import HealthInputs

_RULE_OF = {rule.verdict: rule for rule in RULES}
_BY_PACE = [CODE[each] for each in (Verdict.OK, Verdict.RECOVERING, Verdict.SKEWED, Verdict.FALLING_BEHIND)]
"""What is said of a group by how fast it goes."""
_NEEDS_NO_RECORD = frozenset({Verdict.UNKNOWN, Verdict.CAUGHT_UP, Verdict.EXPIRING, Verdict.ABANDONED})
"""True of a partition whether or not a record is unread. Every other verdict but "ok" claims that one is."""
_CLAIMS_A_RECORD = np.array([verdict not in _NEEDS_NO_RECORD for verdict in VERDICTS], np.bool_)

_NO_OFFSETS = (
    "The group has committed no offsets.",
    "If it keeps its offsets elsewhere (Spark, Flink), watch them there.",
)
_NO_OFFSETS_OF_SHARE = (
    "A share group commits no offsets: the brokers keep its progress in __share_group_state, which is not read here.",
    "Nothing. Its lag is shown by kafka-share-groups.sh --describe --offsets.",
)


@dataclasses.dataclass(frozen=True, slots=True)
class EvaluationResult:
    """What is to be said at one tick. Columns have one element per row, those of groups one per name of a group."""

    window: Window
    rule_verdict: Codes
    """What the rules found at this tick, `UNDECIDED` where they cannot tell yet."""
    verdict: Codes
    """What is shown: a code of `stream.health.verdict.VERDICTS`."""
    since: Ints
    group_verdict: Codes
    group_row: Ints
    """The row that shows the group's verdict best, -1 for a group without any."""
    group_rows: Ints
    """How many rows have it."""
    group_since: Ints
    """Since when the first of them has; -1 for a group without any."""

    @property
    def verdict_names(self) -> tuple[str, ...]:
        """See Opinion."""
        return VERDICTS

    @property
    def severities(self) -> Codes:
        """See Opinion."""
        return SEVERITIES

    def worst_by_owner(self, of: Ints, owners: int) -> Codes:
        """See Opinion."""
        return roll_up(self.verdict, self.window.lag, of, owners)[0]

    def row_finding(self, row: int) -> Finding:
        """Say what is the matter with one partition of a group."""
        verdict = VERDICTS[self.verdict[row]]
        rule = _RULE_OF[verdict]
        return Finding(
            verdict=verdict,
            severity=SEVERITY[verdict],
            since=int(self.since[row]),
            sentence=self._sentence(row),
            evidence=evidence(self.window, row, rule.evidence),
            next_step=rule.next_step if rule.next_step_of is None else rule.next_step_of(self.window, row),
        )

    def group_finding(self, group: int) -> Finding:
        """Say what is the matter with a group: its verdict, told by the partition that shows it best."""
        row = int(self.group_row[group])
        if row < 0:
            return _nothing_committed(share=self._is_share(group))
        sentence, since = self.group_sentence(group), int(self.group_since[group])
        return dataclasses.replace(self.row_finding(row), since=since, sentence=sentence)

    def group_sentence(self, group: int) -> str:
        """Give the sentence of that alone."""
        row = int(self.group_row[group])
        if row < 0:
            return _nothing_committed(share=self._is_share(group)).sentence
        seen = self.window.inputs
        first, last = np.searchsorted(seen.group, (group, group + 1))
        place = f"{seen.topics[int(seen.topic[row])]}-{int(seen.partition[row])}"
        counted = f"{int(self.group_rows[group])} of {last - first} partitions; " if last - first > 1 else ""
        return f"{counted}{place}: {self._sentence(row)}"

    def _is_share(self, group: int) -> bool:
        return bool(self.window.inputs.groups.share[group])

    def _sentence(self, row: int) -> str:
        return _sentence(self.window, row, VERDICTS[self.verdict[row]], int(self.rule_verdict[row]))


class Evaluator:
    """Judges one moment after the other. Moments come in order; one is not judged twice."""

    def __init__(self, limits: HealthLimits | None = None, *, points: int = 48, packed: bytes | None = None) -> None:
        """Begin, with what an earlier process packed, if there is any."""
        self.limits = limits or HealthLimits()
        self.history = PartitionHistory(points, tick=self.limits.tick)
        self._packed = packed
        self._keys = np.empty(0, np.int64)
        self._shown = hysteresis.initial_state(0, 0)
        self._seen: HealthInputs | None = None

    def start(self, seen: HealthInputs, history: tuple[Ints, Ints] | None) -> None:
        """See the first moment before it is judged; put what offsets-for-times answered in front of the histories."""
        self.history.observe(seen)
        if history is not None:
            self.history.seed(seen, *history)

    def record_missed_tick(self) -> None:
        """Note that the cluster did not answer at a tick."""
        self.history.record_missed_tick()

    def evaluate(self, seen: HealthInputs) -> EvaluationResult:
        """Judge one moment. Not to be called before the initial catch-up is over: half of a group looks sick."""
        observation = self.history.record(seen, self.limits.first_commit)
        window = windows.build(seen, observation, self.history, self.limits)
        found = apply_rules(window)
        self._shown = hysteresis.advance(self._carried(seen), found, seen.now)
        window = window.trim()
        self._seen = window.inputs
        shown = self._shown
        code, row, rows = roll_up(shown.verdict, window.lag, seen.group, len(seen.groups.names))
        since = _since(shown, code, row, seen.group)
        return EvaluationResult(window, found, shown.verdict, shown.since, code, row, rows, since)

    def pack(self) -> bytes | None:
        """Give what is shown as bytes for the next process; None before the first moment."""
        return None if self._seen is None else hysteresis.pack(self._shown, self._seen)

    def _carried(self, seen: HealthInputs) -> ShownVerdicts:
        keys = self.history.row_keys(seen)
        if self._packed is not None:
            before = hysteresis.unpack(self._packed, seen, seen.now)
            self._packed = None
        else:
            before = hysteresis.align(self._shown, self._keys, keys, seen.now)
        self._keys = keys
        return before


def _since(shown: ShownVerdicts, group_verdict: Codes, group_row: Ints, group: Ints) -> Ints:
    """Give since when the first of each group's rows has the group's verdict, -1 for a group without rows."""
    since = np.full(len(group_verdict), np.iinfo(np.int64).max)
    mine = shown.verdict == group_verdict[group] if len(group) else np.empty(0, np.bool_)
    np.minimum.at(since, group[mine], shown.since[mine])
    return np.where(group_row >= 0, since, -1)


def apply_rules(window: Window) -> Codes:
    """Ask the rules in their order; the first that finds a row gives it its code. `UNDECIDED` where none can tell yet.

    Only what is fine can be premature: what another rule has found is known, however young the history is. The
    exceptions are rows whose unread offsets may all be transaction markers: as long as their tail has not been read
    nothing critical is said of them, and if it cannot be read they are unknown. Of rows whose newest commits are hidden
    nothing is known.
    """
    code = np.full(len(window), hysteresis.UNDECIDED, np.int8)
    open_ = np.ones(len(window), np.bool_)
    for rule in RULES:
        if not open_.any():
            break
        mine = open_ & rule.matches(window)
        code[mine] = CODE[rule.verdict]
        open_ &= ~mine
    # Nobody reads these: fine they are not, and sick only if that lasts.
    code[(code == CODE[Verdict.OK]) & may_be_assigned_soon(window)] = CODE[Verdict.UNKNOWN]
    fine = (code == CODE[Verdict.OK]) | (code == CODE[Verdict.CAUGHT_UP])
    code[fine & window.undecided] = hysteresis.UNDECIDED
    code[window.paused & np.isin(code, _BY_PACE)] = hysteresis.UNDECIDED
    _withdraw_unproven(code, window)
    if window.inputs.hidden is not None:  # they may have read on, or have members by now
        code[window.inputs.hidden] = hysteresis.UNDECIDED
    return code


def _withdraw_unproven(code: Codes, window: Window) -> None:
    """Replace what was found where it rests on offsets of which nobody knows whether they hold a record."""
    claims = (code >= 0) & _CLAIMS_A_RECORD[code]
    critical = claims & (SEVERITIES[code] == Severity.CRITICAL)
    code[window.tail.pending & critical] = hysteresis.UNDECIDED
    code[window.tail.unproven & critical] = CODE[Verdict.UNKNOWN]
    code[window.stuck_unproven & (claims | (code == hysteresis.UNDECIDED))] = CODE[Verdict.UNKNOWN]


def _sentence(window: Window, row: int, verdict: Verdict, found: int) -> str:
    """Say what is shown in its own words if the rules find it now, else how it stands: its numbers would not fit."""
    shown = verdict.replace("_", " ")
    if found == hysteresis.UNDECIDED:
        before = "" if verdict == Verdict.UNKNOWN else f" It was {shown} before."
        what = f": {unread_text(window, row)}" if window.lag[row] > 0 else ""
        return f"Not observed for long enough to tell yet{what}.{before}"
    now = VERDICTS[found]
    if now == verdict:
        return _RULE_OF[verdict].sentence(window, row)
    return f"Still taken for {shown}, until this has lasted: {_RULE_OF[now].sentence(window, row)}"


def _nothing_committed(*, share: bool) -> Finding:
    sentence, next_step = _NO_OFFSETS_OF_SHARE if share else _NO_OFFSETS
    return Finding(
        verdict=Verdict.UNKNOWN,
        severity=SEVERITY[Verdict.UNKNOWN],
        since=None,
        sentence=sentence,
        evidence={},
        next_step=next_step,
    )
