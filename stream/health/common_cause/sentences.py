"""The texts of a common cause: a sentence with its numbers, and the next step."""

import collections
import dataclasses
from collections.abc import Iterable
from typing import Final

from stream import wording as say
from stream.health.common_cause.shared import Dimension
from stream.health.common_cause.tracker import CommonCauseFinding
from stream.health.verdict import Verdict

_SHARED_BY: Final = {
    Dimension.OFFSETS_PARTITION: "stored in partition {} of __consumer_offsets",
    Dimension.TOPIC: "reading topic {}",
    Dimension.CLIENT_HOST: "with members on host {}",
    Dimension.LEADER: "reading partitions led by broker {}",
    Dimension.COORDINATOR: "coordinated by broker {}",
    Dimension.FOLLOWER: "reading partitions with a follower on broker {}",
}
_BROKERS: Final = (Dimension.LEADER, Dimension.COORDINATOR, Dimension.FOLLOWER)
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


@dataclasses.dataclass(frozen=True, slots=True)
class BrokerAbsence:
    """A time without a broker in the metadata of the cluster, in ms."""

    left: int
    """When it was first missing."""
    returned: int | None
    """When it was there again; None: it is still missing."""


def sentence(finding: CommonCauseFinding, verdicts: Iterable[str], absence: BrokerAbsence | None, now: int) -> str:
    """Return the finding in one sentence; `verdicts` are those of its groups, `now` is in ms.

    As in "17 of 18 groups coordinated by broker 3 stopped within 20 s; broker 3 left the cluster 40 s before."
    """
    shared = _SHARED_BY[finding.dimension].format(finding.name)
    within = "at the same time" if finding.spread < 1_000 else f"within {say.duration(finding.spread)}"
    what = f"{finding.affected} of {finding.compared} groups {shared} {_happened(verdicts)} {within}"
    still = len(finding.groups)
    rest = "" if still == finding.affected else f"; {still} {'is' if still == 1 else 'are'} still unhealthy"
    return f"{what}{_absence_text(finding, absence, now)}{rest}."


def next_step(finding: CommonCauseFinding, absence: BrokerAbsence | None) -> str:
    """Return what an operator does about the finding."""
    if finding.dimension in _BROKERS and absence is not None and absence.returned is None:
        return f"Bring back broker {finding.name}; its log says why it left."
    return _NEXT_STEPS[finding.dimension]


def _happened(verdicts: Iterable[str]) -> str:
    """Return what happened to the groups if at least two thirds of them have the same verdict."""
    counts = collections.Counter(verdicts)
    word, groups = max(counts.items(), key=lambda pair: (pair[1], pair[0]), default=("", 0))
    return _HAPPENED.get(Verdict(word), _OTHER) if word in set(Verdict) and 3 * groups >= 2 * counts.total() else _OTHER


def _absence_text(finding: CommonCauseFinding, absence: BrokerAbsence | None, now: int) -> str:
    if absence is None or finding.dimension not in _BROKERS:
        return ""
    broker = f"; broker {finding.name}"
    before = finding.began - absence.left
    left = f"left the cluster {say.duration(before)} before" if before >= 1_000 else "left the cluster at that time"
    if absence.returned is None:
        return f"{broker} {left} and has been away for {say.duration(now - absence.left)}"
    return f"{broker} {left} and was back after {say.duration(absence.returned - absence.left)}"
