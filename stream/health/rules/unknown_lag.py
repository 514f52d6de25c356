"""Rules where the lag, or the log itself, is not known."""

from typing import Final

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features import lag
from stream.health.features import offset_out_of_range as beyond
from stream.health.features.window import Window
from stream.health.inputs import FailedReplica, OffsetsOutage
from stream.health.rules.rule import Rule, no_rows, unread_text
from stream.health.verdict import Verdict

_NO_LEADER: Final = "no_leader"
_UNCLEAN: Final = "An unclean leader election makes the partition available and loses its last records."
_BRING_BACK: Final = (
    f"Bring back a broker with an in-sync replica (kafka-topics.sh --describe --unavailable-partitions). {_UNCLEAN}"
)


def _no_leader(window: Window) -> Flags:
    """A partition that the group reads has no leader: it can be neither read nor written."""
    reasons, matches = window.inputs.reasons, no_rows(window)
    rows = np.flatnonzero(~window.known)
    if reasons is None or not len(rows):
        return matches
    known_at = window.memory.end_known_at
    # A leader election takes seconds, the restart of a broker as long as that of any process.
    lasts = window.now - known_at > window.limits.restart_grace
    reads = window.has_members | (window.commit_time > known_at - window.limits.unlearned)
    matches[rows] = (reasons[rows] == _NO_LEADER) & (lasts & reads)[rows]
    return matches


def _no_leader_sentence(window: Window, row: int) -> str:
    since = int(window.memory.end_known_at[row])
    committed = int(window.committed_offset[row])
    at = f"the group stands at offset {committed:,}" if committed >= 0 else "the group has not committed it yet"
    return f"The partition has had no leader for {say.duration(window.now - since)}; {at}.{_failed_text(window, row)}"


def _failed_text(window: Window, row: int) -> str:
    """Return which of its replicas are offline on brokers that are up, with leading spaces; "" if none is."""
    return "".join(
        f" Broker {each.broker} is up, but its replica is offline: {_directories(each)} has failed."
        for each in window.inputs.failed_replicas.get(row, ())
    )


def _directories(failed: FailedReplica) -> str:
    return f"log directory {' or '.join(failed.directories)}" if failed.directories else "a log directory"


def _no_leader_step(window: Window, row: int) -> str:
    failed = window.inputs.failed_replicas.get(row, ())
    if not failed:
        return _BRING_BACK
    repair = " or ".join(f"{_directories(each)} of broker {each.broker}" for each in failed)
    return (
        f"Repair {repair}, then restart that broker: it takes a failed directory back only at a start. Another in-sync"
        f" replica helps, too (kafka-topics.sh --describe --unavailable-partitions). {_UNCLEAN}"
    )


NO_LEADER = Rule(
    verdict=Verdict.NO_LEADER,
    matches=_no_leader,
    sentence=_no_leader_sentence,
    next_step=_BRING_BACK,
    next_step_of=_no_leader_step,
    evidence=("committed_offset", "commit_time", "reason", "members"),
    confirm=1,
)


_REASONS: Final = {
    lag.BEYOND_END: "the committed offset is above the end of the partition",
    beyond.RECREATED: "the topic was deleted and created again, and the offset belongs to the earlier one",
    beyond.TRUNCATED: "the log was cut back below the committed offset",
    beyond.STALE_END: "the end offset that the cluster reports is lower than what this group has read of the same log",
    lag.UNKNOWN_PARTITION: "the topic has no such partition",
    lag.NOT_ASKED: "the cluster has not answered for this topic yet",
    lag.NEGATIVE_OFFSET: "the committed offset is negative, which no record has",
    "not_found": "the topic does not exist",
    "not_authorized": "lagwarden has no right to describe the topic",
    "no_leader": "the partition has no leader",
    "leader_changed": "the partition is changing its leader",
    "not_available": "the new leader of the partition does not know its end yet",
    "unreachable": "the leader of the partition cannot be reached",
    "timed_out": "the leader of the partition does not answer in time",
}
_NOT_AUTHORIZED = "not_authorized"
_DURING_ELECTION: Final = (_NO_LEADER, "leader_changed", "not_available", "unreachable", "timed_out")
"""The reasons why an end is not known while a partition changes its leader or its broker restarts."""
_TAIL_REASONS: Final = {
    _NOT_AUTHORIZED: "lagwarden has no right to Read topic {topic}",
    "no_leader": "the partition has no leader",
    "timed_out": "its leader does not answer in time",
    "unreachable": "its leader cannot be reached",
    "unsupported": "the broker does not support the request",
}
_NEXT_STEP = "Check whether the topic still exists, has a leader, and may be described by lagwarden's user."
_GRANT = (
    "Grant Read on topic {topic} to lagwarden's user if it may see the messages (lagwarden acls prints the command);"
    " else compare with the consumer's own position."
)
_RESTORE = (
    "Bring back a broker with an in-sync replica of that partition (kafka-topics.sh --describe --topic"
    " __consumer_offsets --unavailable-partitions)."
)
_WAIT_FOR_OWNER = "Nothing yet: members look for new partitions every few minutes (metadata.max.age.ms)."
_WAIT = (
    "Nothing, if it passes: the end is read again every minute. Otherwise find out why the leader of {topic} does not"
    " answer."
)


def _hidden_by_outage(window: Window) -> Flags:
    """Return the rows of groups whose partition of `__consumer_offsets` has had no known end for too long.

    These groups cannot commit, or their commits cannot be read, for longer than a leader election and the restart of a
    broker take. They are neither well nor stopped.
    """
    outage = window.inputs.offsets_outage
    if outage is None:
        return no_rows(window)
    return (outage.since >= 0) & (window.now - outage.since > window.limits.restart_grace)


def _outage_of(window: Window, row: int) -> OffsetsOutage | None:
    """Return the outage that hides a row; None if none does."""
    outage = window.inputs.offsets_outage
    if outage is None or not 0 <= int(outage.since[row]) < window.now - window.limits.restart_grace:
        return None
    return outage


def briefly_unknown_rows(window: Window) -> Flags:
    """Return the rows whose end has been unknown for at most `restart_grace`, as in a leader election.

    The reason of each is one that ends when a broker leads the partition and answers.
    """
    reasons, matches = window.inputs.reasons, no_rows(window)
    rows = np.flatnonzero(_unknown(window) & ~_hidden_by_outage(window))
    if reasons is None or not len(rows):
        return matches
    is_recent = window.now - window.memory.end_known_at[rows] <= window.limits.restart_grace
    matches[rows] = is_recent & np.isin(reasons[rows].astype(np.str_), _DURING_ELECTION)
    return matches


def reason(window: Window, row: int) -> str | None:
    """Return why a lag, or whether it holds any record, is not known; None if nothing more is known."""
    outage = _outage_of(window, row)
    if outage is not None:
        return f"offsets_partition_{outage.reasons[int(outage.partition[row])]}"
    if window.known[row]:
        return _tail_reason(window, row) if window.tail.unproven[row] else None
    if window.out_of_range[row]:
        return beyond.NAMES[window.out_of_range[row]]
    reasons = window.inputs.reasons
    return None if reasons is None or reasons[row] is None else str(reasons[row])


def _tail_reason(window: Window, row: int) -> str | None:
    inputs = window.inputs
    place = (int(inputs.topic[row]) << 32) | int(inputs.partition[row])
    return None if inputs.tails is None else inputs.tails.reason(place)


def _topic(window: Window, row: int) -> str:
    return window.inputs.topics[int(window.inputs.topic[row])]


def _unknown(window: Window) -> Flags:
    """The lag, or whether it holds any record, or whether the group commits, is not known; the reason is given."""
    return ~window.known | _hidden_by_outage(window)


def _unknown_sentence(window: Window, row: int) -> str:
    outage = _outage_of(window, row)
    if outage is not None:
        return _sentence_of_outage(outage, row, window.now)
    if window.known[row] and window.tail.unproven[row]:
        return _sentence_of_tail(window, row)
    if window.known[row]:
        members = say.count(int(window.members[row]), "member")
        unowned = f"None of the group's {members} owns this partition yet, and it is not known whether one will"
        return f"{unowned}: {unread_text(window, row)}."
    known_reason = reason(window, row)
    if known_reason is None:
        return "The lag is not known."
    return f"The lag is not known: {_REASONS.get(known_reason, known_reason.replace('_', ' '))}."


def _sentence_of_outage(outage: OffsetsOutage, row: int, now: int) -> str:
    partition = int(outage.partition[row])
    cause = outage.reasons[partition]
    has = "no leader" if cause == _NO_LEADER else f"no known end ({cause.replace('_', ' ')})"
    return (
        f"Partition {partition} of __consumer_offsets, which stores the commits of the group, has had {has} for"
        f" {say.duration(now - int(outage.since[row]))}: the group can neither commit nor be evaluated."
    )


def _sentence_of_tail(window: Window, row: int) -> str:
    lag = int(window.lag[row])
    fate, offsets = "unread", f"{say.count(lag, 'offset')} left"
    if not lag:
        fate, offsets = "lost", f"{say.count(int(window.ends.lost[row]), 'offset')} that retention removed"
    tail_reason = _tail_reason(window, row) or "unknown"
    cause = _TAIL_REASONS.get(tail_reason, f"the end of the partition cannot be read ({tail_reason.replace('_', ' ')})")
    cause = cause.format(topic=_topic(window, row))
    return f"It is not known whether a record is {fate}: the {offsets} may be transaction markers, and {cause}."


def _unknown_step(window: Window, row: int) -> str:
    if _outage_of(window, row) is not None:
        return _RESTORE
    if not window.known[row]:
        return _NEXT_STEP
    if not window.tail.unproven[row]:
        return _WAIT_FOR_OWNER
    step = _GRANT if _tail_reason(window, row) == _NOT_AUTHORIZED else _WAIT
    return step.format(topic=_topic(window, row))


UNKNOWN = Rule(
    verdict=Verdict.UNKNOWN,
    matches=_unknown,
    sentence=_unknown_sentence,
    next_step=f"{_NEXT_STEP} Where the end of a topic cannot be read, grant Read on it (optional).",
    next_step_of=_unknown_step,
    evidence=("committed_offset", "high_watermark", "lag", "commit_time", "reason"),
)
