"""Decides which common causes are shown, and for how long.

A cause is shown after two evaluations in a row that found it. From then on its groups are remembered by name, so the
finding remains when its evidence is gone, for example when the broker is back or a member has left. The finding ends
after two evaluations with fewer than three of its groups unhealthy. A cause that explains all groups of a shown finding
and further groups replaces that finding.
"""

import collections
import dataclasses
from collections.abc import Collection, Iterable
from typing import Final

from stream import wording as say
from stream.health.common_cause.search import JOIN_MS, LEAST_GROUPS, MOST_FINDINGS, CommonCause, Dimension
from stream.health.verdict import Verdict

_LASTING: Final = 2
"""Evaluations in a row with a cause until it is shown, and with too few unhealthy groups until it ends."""


class CommonCauseTracker:
    """The shown findings, evaluation after evaluation. Not thread-safe."""

    def __init__(self) -> None:
        self._shown: dict[tuple[Dimension, str], CommonCause] = {}
        self._waiting: dict[tuple[Dimension, str], int] = {}

    @property
    def findings(self) -> tuple[CommonCause, ...]:
        """The shown findings in descending order of their number of groups."""
        return tuple(sorted(self._shown.values(), key=lambda each: (-len(each.groups), each.key)))

    def update(self, causes: Iterable[CommonCause], unhealthy: Collection[str]) -> None:
        """Apply the causes of one evaluation; `unhealthy` are all groups that are unhealthy now."""
        self._shown = {key: each for key, each in self._remaining(frozenset(unhealthy)) if each.misses < _LASTING}
        waiting = dict[tuple["Dimension", str], int]()
        for found in causes:
            waiting[found.key] = self._waiting.get(found.key, 0) + 1
            if found.key in self._shown:
                self._shown[found.key] = self._joined(self._shown[found.key], found)
            elif waiting[found.key] >= _LASTING:
                self._show(found)
        self._waiting = waiting

    def _remaining(self, unhealthy: frozenset[str]) -> Iterable[tuple[tuple[Dimension, str], CommonCause]]:
        for key, each in self._shown.items():
            groups = each.groups & unhealthy
            misses = each.misses + 1 if len(groups) < LEAST_GROUPS else 0
            yield key, dataclasses.replace(each, groups=groups, misses=misses)

    def _joined(self, shown: CommonCause, found: CommonCause) -> CommonCause:
        """Return a shown finding, extended by the new groups of the cause that belong to no other finding."""
        others = frozenset[str]().union(*(each.groups for each in self._shown.values() if each.key != shown.key))
        if found.began > shown.began + JOIN_MS:  # groups with the same value became unhealthy again
            shown = dataclasses.replace(shown, spread=found.spread, began=found.began, affected=0, compared=0)
        groups = shown.groups | (found.groups - others)
        return dataclasses.replace(
            shown,
            groups=groups,
            affected=max(shown.affected, len(groups)),
            compared=max(shown.compared, found.compared, len(groups)),
            misses=0,
        )

    def _show(self, found: CommonCause) -> None:
        """Show a finding, unless too many of its groups belong to shown findings that it does not fully explain."""
        replaced = [each for each in self._shown.values() if each.groups < found.groups]
        for each in replaced:
            del self._shown[each.key]
        taken = frozenset[str]().union(*(each.groups for each in self._shown.values()))
        if len(found.groups - taken) >= LEAST_GROUPS and len(self._shown) < MOST_FINDINGS:
            self._shown[found.key] = dataclasses.replace(found, groups=found.groups - taken)
        else:
            self._shown |= {each.key: each for each in replaced}


_SHARED_BY: Final = {
    Dimension.OFFSETS_PARTITION: "stored in partition {} of __consumer_offsets",
    Dimension.TOPIC: "reading topic {}",
    Dimension.CLIENT_HOST: "with members on host {}",
    Dimension.LEADER: "reading partitions led by broker {}",
    Dimension.COORDINATOR: "coordinated by broker {}",
    Dimension.FOLLOWER: "reading partitions with a follower on broker {}",
}
_HAPPENED: Final = {
    Verdict.STOPPED: "stopped",
    Verdict.STALLED: "stalled",
    Verdict.NO_MEMBERS: "lost their members",
    Verdict.NO_LEADER: "lost the leader of a partition",
    Verdict.TRUNCATED: "were left above the end of a log",
    Verdict.HELD_BACK: "were blocked by an open transaction",
    Verdict.REBALANCE_STORM: "began to rebalance repeatedly",
    Verdict.REBALANCING_TOO_LONG: "began a rebalance that does not end",
    Verdict.FALLING_BEHIND: "began to fall behind",
    Verdict.LOSING_DATA: "began to lose records",
}
_OTHER: Final = "became unhealthy"
_NEXT_STEPS: Final = {
    Dimension.OFFSETS_PARTITION: "Look at the leader of this partition and its log: loading of the partition, failed"
    " appends, replicas that are not in sync. Then restart one of the consumers to see whether it commits again.",
    Dimension.TOPIC: "Look at what changed for the topic: its producers, its records, its configuration, its leaders.",
    Dimension.CLIENT_HOST: "Look at this host: is it up, and can it reach the brokers?",
    Dimension.LEADER: "Look at this broker: is it up, and do its disks and requests keep up? Consumers that do not"
    " recover after its return need a restart.",
    Dimension.COORDINATOR: "Look at this broker. If it is well again, restart the consumers: they have not found their"
    " coordinator again.",
    Dimension.FOLLOWER: "Look at this broker: consumers with client.rack fetch from a follower in their rack (KIP-392)."
    " If it is well, restart them; without client.rack they read from the leaders.",
}


def sentence(finding: CommonCause, verdicts: Iterable[str], now: int) -> str:
    """Return the finding in one sentence; `verdicts` are those of its groups, `now` is in ms.

    As in "17 of 18 groups coordinated by broker 3 stopped within 20 s; broker 3 left the cluster 40 s before."
    """
    shared = _SHARED_BY[finding.dimension].format(finding.name)
    within = "at the same time" if finding.spread < 1_000 else f"within {say.duration(finding.spread)}"
    what = f"{finding.affected} of {finding.compared} groups {shared} {_happened(verdicts)} {within}"
    still = len(finding.groups)
    rest = "" if still == finding.affected else f"; {still} {'is' if still == 1 else 'are'} still unhealthy"
    return f"{what}{_absence_text(finding, now)}{rest}."


def next_step(finding: CommonCause) -> str:
    """Return what an operator does about the finding."""
    if finding.absence is not None and finding.absence.returned is None:
        return f"Bring back broker {finding.name}; its log says why it left."
    return _NEXT_STEPS[finding.dimension]


def _happened(verdicts: Iterable[str]) -> str:
    """Return what happened to the groups if at least two thirds of them have the same verdict."""
    counts = collections.Counter(verdicts)
    word, groups = max(counts.items(), key=lambda pair: (pair[1], pair[0]), default=("", 0))
    return _HAPPENED.get(Verdict(word), _OTHER) if word in set(Verdict) and 3 * groups >= 2 * counts.total() else _OTHER


def _absence_text(finding: CommonCause, now: int) -> str:
    absence = finding.absence
    if absence is None:
        return ""
    broker = f"; broker {finding.name}"
    before = finding.began - absence.left
    left = f"left the cluster {say.duration(before)} before" if before >= 1_000 else "left the cluster at that time"
    if absence.returned is None:
        return f"{broker} {left} and has been away for {say.duration(now - absence.left)}"
    return f"{broker} {left} and was back after {say.duration(absence.returned - absence.left)}"
