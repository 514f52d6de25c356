"""Evaluates the share groups poll after poll: memory, rules, hysteresis, groups.

A fault is shown at the first poll at which a rule matches, because the rules themselves wait, and withdrawn after
`WITHDRAW` polls in a row without any and with a known lag. Between two polls the findings stay as they are.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from stream import wording as say
from stream.health.evaluation import Finding, PartitionFinding, ShownVerdict
from stream.health.inputs import GroupStage
from stream.health.limits import HealthLimits
from stream.health.rules.rule import about, counted_text
from stream.health.share.memory import SharePartitionMemory, first_memory, remember
from stream.health.share.progress import SharePartitionProgress
from stream.health.share.rules import SHARE_RULES, ShareSituation, ShareVerdict
from stream.health.verdict import CODE, SEVERITY, VERDICTS, Severity, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stream.health.evaluation import StoredShareGroups
    from stream.health.evidence import Value
    from stream.health.inputs import GroupInputs
    from stream.health.share.progress import ShareProgress
    from stream.health.share.rules import ShareRule

WITHDRAW: Final = 2
"""Number of polls in a row without a fault before a fault is withdrawn."""
SHARE_CODE: Final[Mapping[str, int]] = {verdict: len(VERDICTS) + at for at, verdict in enumerate(ShareVerdict)}
"""The codes of the faults of share groups, above those of all other verdicts."""
_RULE: Final[Mapping[str, ShareRule]] = {rule.verdict: rule for rule in SHARE_RULES}
_RANK: Final = {Verdict.CAUGHT_UP: 0, Verdict.OK: 1, Verdict.UNKNOWN: 2} | {
    each: 3 + SHARE_CODE[each] for each in _RULE
}
_STORED: Final = SharePartitionProgress._fields.index("end")
"""The number of fields of the progress that are stored, the first ones."""
_RULE_ORDER: Final = tuple(ShareVerdict)
_NOTHING_TO_DO: Final = "Nothing."
_LAG_UNKNOWN: Final = (
    "The lag is not known: the end of the partition is not, or its state was written by Kafka before 4.2."
)
_NOT_DELIVERED: Final = (
    "No delivery in the partition has ended yet, so the brokers have recorded no start offset: no record was "
    "delivered, or members still hold the first ones."
)
_ASK_THE_BROKERS: Final = "kafka-share-groups.sh --describe --offsets has what the brokers know."


def share_legend() -> list[tuple[str, str]]:
    """Return the meaning and the next step of each fault of share groups by code."""
    return [(_RULE[verdict].meaning, _RULE[verdict].next_step) for verdict in _RULE_ORDER]


def share_severities() -> list[Severity]:
    """Return the severity of each fault of share groups by code."""
    return [_RULE[verdict].severity for verdict in _RULE_ORDER]


@dataclasses.dataclass(frozen=True, slots=True)
class ShareGroupFinding:
    """The finding of a share group, and of its partitions that are not fine, the worst first."""

    code: int
    """The code of its verdict."""
    group: Finding
    rows: int
    """Number of partitions with that verdict."""
    partitions: tuple[PartitionFinding, ...]
    topics: Mapping[str, int]
    """The code of the worst verdict in each topic."""
    verdicts: Mapping[tuple[str, int], ShownVerdict]
    """The shown verdict of each partition, by topic and partition."""
    unmoved_since: int | None
    """The first poll (ms), if no partition with a fault has changed since; None without a fault, too."""


class _Shown(NamedTuple):
    """The shown verdict of a partition."""

    verdict: str
    since: int
    well_polls: int


class _Partition(NamedTuple):
    memory: SharePartitionMemory
    shown: _Shown

    def packed(self) -> list[Any]:
        """Return plain values that `unpacked` reads."""
        return [*self.memory.progress[:_STORED], *self.memory[1:], *self.shown]

    @classmethod
    def unpacked(cls, values: Sequence[Any]) -> _Partition:
        """Return the partition of packed values. Raises TypeError if they are of another format."""
        first = _STORED
        last = first + len(SharePartitionMemory._fields) - 1
        memory = SharePartitionMemory(SharePartitionProgress(*values[:first]), *values[first:last])
        return cls(memory, _Shown(*values[last:]))


_Key = tuple[str, str, int]


class ShareEvaluator:
    """Evaluates one poll after another; the memory has the partitions of the last one only."""

    def __init__(self, limits: HealthLimits | None = None, stored: StoredShareGroups = ()) -> None:
        """Continue with what an earlier process packed; rows of another format are ignored."""
        self._pause = (limits or HealthLimits()).share_pause
        self._partitions: dict[_Key, _Partition] = {}
        with contextlib.suppress(TypeError):
            for group, *values in stored:
                partition = _Partition.unpacked(values)
                progress = partition.memory.progress
                self._partitions[group, progress.topic, progress.partition] = partition
        self._taken_at: int | None = None
        self._findings: dict[str, ShareGroupFinding] = {}

    def evaluate(self, progress: ShareProgress | None, groups: GroupInputs) -> dict[int, ShareGroupFinding]:
        """Return the findings of the share groups with known progress, by their position in `groups`.

        A poll without an answer changes nothing until records may have waited for too long since the last answer.
        """
        if progress is None or (progress.unknown_reason is not None and self._is_outdated(progress.taken_at)):
            return {}
        at = {groups.names[position]: position for position in np.flatnonzero(groups.share).tolist()}
        if progress.unknown_reason is None and progress.taken_at != self._taken_at:
            self._taken_at = progress.taken_at
            self._evaluate_poll(progress, groups, at)
        return {position: self._findings[name] for name, position in at.items() if name in self._findings}

    def _is_outdated(self, now: int) -> bool:
        """Return whether the last answer is too old to be shown."""
        return self._taken_at is None or now - self._taken_at > self._pause

    def pack(self) -> StoredShareGroups:
        """Return the memory of all partitions as rows of plain values."""
        return [[group, *partition.packed()] for (group, *_), partition in self._partitions.items()]

    def _evaluate_poll(self, progress: ShareProgress, groups: GroupInputs, at: Mapping[str, int]) -> None:
        previous, self._partitions, self._findings = self._partitions, {}, {}
        for group, rows in progress.groups.items():
            position = at.get(group)
            if position is None or not rows:
                continue
            found = []
            for row in rows:
                key = (group, row.topic, row.partition)
                situation = self._situation(previous.get(key), row, progress.taken_at, groups, position)
                shown, finding = _shown(previous.get(key), situation)
                self._partitions[key] = _Partition(situation.memory, shown)
                found.append(PartitionFinding(row.topic, row.partition, finding))
            self._findings[group] = dataclasses.replace(
                _group_finding(found), unmoved_since=self._unmoved_since(group, found)
            )

    def _unmoved_since(self, group: str, found: Sequence[PartitionFinding]) -> int | None:
        """Return the first poll, if no partition with a fault has changed since."""
        faults = [each for each in found if each.finding.verdict in _RULE]
        memories = [self._partitions[group, each.topic, each.partition].memory for each in faults]
        if not memories or any(memory.moved for memory in memories):
            return None
        return max(memory.changed_at for memory in memories)

    def _situation(
        self,
        before: _Partition | None,
        progress: SharePartitionProgress,
        now: int,
        groups: GroupInputs,
        position: int,
    ) -> ShareSituation:
        memory = first_memory(progress, now) if before is None else remember(before.memory, progress, now)
        stage = GroupStage(int(groups.stage[position]))
        return ShareSituation(
            now=now,
            memory=memory,
            stage=stage,
            empty_since=int(groups.since[position]) if stage is GroupStage.EMPTY else -1,
            members=int(groups.members[position]),
            pause=self._pause,
        )


def _shown(before: _Partition | None, situation: ShareSituation) -> tuple[_Shown, Finding]:
    """Return the verdict that is shown of a partition after a poll, and its finding."""
    rule = next((rule for rule in SHARE_RULES if rule.matches(situation)), None)
    current, sentence = (rule.verdict, rule.sentence(situation)) if rule else _without_fault(situation)
    last = None if before is None else before.shown
    well = 0 if last is None else last.well_polls + (situation.memory.progress.lag is not None)
    if rule is None and last is not None and last.verdict in _RULE and well < WITHDRAW:
        shown = last._replace(well_polls=well)
        name = last.verdict.replace("_", " ")
        sentence = f"Still shown as {name} until this has lasted: {sentence}"
    else:
        since = last.since if last is not None and last.verdict == current else situation.now
        shown = _Shown(current, since, 0)
    return shown, _finding(shown, sentence, situation)


def _without_fault(situation: ShareSituation) -> tuple[Verdict, str]:
    """Return the verdict of a partition that no rule matches, and its sentence."""
    memory = situation.memory
    progress = memory.progress
    if progress.lag is None:
        return Verdict.UNKNOWN, _NOT_DELIVERED if progress.start_offset is None else _LAG_UNKNOWN
    if progress.lag == 0:
        return Verdict.CAUGHT_UP, "All records are finished."
    unfinished = say.count(progress.lag, "record")
    if not memory.moved:
        return Verdict.UNKNOWN, f"Not observed for long enough to decide: {unfinished} not finished."
    return Verdict.OK, f"Records are being finished; {unfinished} are not."


def _finding(shown: _Shown, sentence: str, situation: ShareSituation) -> Finding:
    rule = _RULE.get(shown.verdict)
    if rule is None:
        verdict = Verdict(shown.verdict)
        severity, next_step = SEVERITY[verdict], _ASK_THE_BROKERS if verdict is Verdict.UNKNOWN else _NOTHING_TO_DO
    else:
        severity, next_step = rule.severity, rule.next_step
    return Finding(shown.verdict, severity, shown.since, sentence, _evidence(situation), next_step)


def _evidence(situation: ShareSituation) -> dict[str, Value]:
    memory = situation.memory
    progress = memory.progress
    return {
        "lag": progress.lag,
        "start_offset": progress.start_offset,
        "finished": progress.finished,
        "returned": progress.returned,
        "most_deliveries": progress.most_deliveries,
        "archived_since_accepted": memory.archived,
        "members": situation.members if situation.members >= 0 else None,
        "last_change_time": memory.changed_at if memory.moved else None,
        "patience": situation.patience,
    }


def _group_finding(found: Sequence[PartitionFinding]) -> ShareGroupFinding:
    """Return the finding of a group: that of its worst partition, of equal ones the one with the greatest lag.

    Partitions in which no delivery has ended yet count only if there are no others: most have no records.
    """
    delivered = _delivered(found)
    worst = max(delivered, key=_rank)
    verdict = worst.finding.verdict
    same = [each for each in delivered if each.finding.verdict == verdict]
    name = f"{worst.topic}-{worst.partition}"
    sentence = f"{about(name, None, worst.finding.sentence)}{counted_text(len(same), len(found))}"
    since = min(each.finding.since or 0 for each in same)
    return ShareGroupFinding(
        code=_code(verdict),
        group=dataclasses.replace(worst.finding, sentence=sentence, since=since),
        rows=len(same),
        partitions=tuple(_worst_first(found)),
        topics=_worst_by_topic(found),
        verdicts={
            (each.topic, each.partition): ShownVerdict(str(each.finding.verdict), each.finding.since) for each in found
        },
        unmoved_since=None,
    )


def _delivered(found: Sequence[PartitionFinding]) -> Sequence[PartitionFinding]:
    """Return the partitions in which a delivery has ended; all of them if there is none."""
    return [each for each in found if each.finding.evidence["start_offset"] is not None] or found


def _worst_by_topic(found: Sequence[PartitionFinding]) -> dict[str, int]:
    """Return the code of the worst verdict in each topic, by the rule for the whole group."""
    topics: dict[str, list[PartitionFinding]] = {}
    for each in found:
        topics.setdefault(each.topic, []).append(each)
    return {topic: _code(max(_delivered(rows), key=_rank).finding.verdict) for topic, rows in topics.items()}


def _worst_first(found: Sequence[PartitionFinding]) -> Iterator[PartitionFinding]:
    for each in sorted(found, key=_rank, reverse=True):
        if each.finding.severity > Severity.FINE:
            yield each


def _rank(found: PartitionFinding) -> tuple[int, int]:
    lag = found.finding.evidence["lag"]
    return _RANK[found.finding.verdict], lag if isinstance(lag, int) else -1


def _code(verdict: str) -> int:
    return SHARE_CODE[verdict] if verdict in SHARE_CODE else CODE[Verdict(verdict)]
