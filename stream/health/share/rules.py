"""The rules for a partition of a share group, and their texts. The first that matches decides its verdict.

Verdicts that say what becomes of the records come before those about time: a group that rejects everything has members
and moves.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Final

from stream import wording as say
from stream.health.inputs import GroupStage
from stream.health.verdict import Severity

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.health.share.memory import SharePartitionMemory

FRUITLESS_POLLS: Final = 3
"""The number of polls at which deliveries must have ended, none of them accepted: one record that no member can process
is no fault of the group."""


LEAST_ARCHIVING: Final = 60_000
"""The least time (ms) for which the records of a group are archived: one batch of bad records is no fault of it."""
LONGEST_SESSION: Final = 120_000
"""A member that ends leaves its group within this time (ms), which is more than the usual session timeouts, and within
a poll. One that does not poll leaves after max.poll.interval.ms, five minutes by default."""


class ShareVerdict(enum.StrEnum):
    """The faults of share groups, the worst last. Without one a share group is unknown, ok or caught up."""

    SHARE_REDELIVERING = "share_redelivering"
    SHARE_STOPPED = "share_stopped"
    SHARE_NO_MEMBERS = "share_no_members"
    SHARE_REJECTING = "share_rejecting"


@dataclasses.dataclass(frozen=True, slots=True)
class ShareSituation:
    """Everything that the rules know of a partition at one poll. Times and durations in ms."""

    now: int
    memory: SharePartitionMemory
    stage: GroupStage
    empty_since: int
    """When the group became empty; negative: not known, or it has members."""
    members: int
    """Negative: not known."""
    pause: int
    """The time without a change that is no fault, whatever was learned."""

    @property
    def patience(self) -> int:
        """The time without a change that is no fault: at least `pause`, and twice the longest pause."""
        return max(self.pause, 2 * self.memory.longest_pause)

    @property
    def longest_idle(self) -> int:
        """The idle time that is no fault: half of `pause` if records came back and none was accepted."""
        return max(self.pause // 2 if self.only_returned else self.pause, 2 * self.memory.longest_pause)

    @property
    def only_returned(self) -> bool:
        """True if records came back and wait, and none was accepted since."""
        return self.memory.fruitless_polls > 0 and bool(self.memory.progress.returned)

    @property
    def idle_time(self) -> int:
        """The time without a change while records waited."""
        return self.memory.idle_time(self.now)

    @property
    def fruitless_time(self) -> int:
        """The time from the first to the last poll of the fruitless ones; 0 without any."""
        memory = self.memory
        return memory.changed_at - memory.fruitless_since if memory.fruitless_polls else 0


@dataclasses.dataclass(frozen=True, slots=True)
class ShareRule:
    """One rule for a partition of a share group."""

    verdict: ShareVerdict
    meaning: str
    matches: Callable[[ShareSituation], bool]
    sentence: Callable[[ShareSituation], str]
    """Returns the fault in one sentence with its numbers."""
    next_step: str
    """The action of an operator."""
    severity: Severity = Severity.CRITICAL


def _goes_on(situation: ShareSituation) -> bool:
    """Return whether deliveries go on."""
    return situation.now - situation.memory.changed_at <= situation.patience


def _archives(situation: ShareSituation) -> bool:
    """Return whether records were archived at several polls, for a minute or more, and none was accepted."""
    lasts = situation.fruitless_time >= min(LEAST_ARCHIVING, situation.pause) and _goes_on(situation)
    return situation.memory.archiving_polls >= FRUITLESS_POLLS and lasts


def _returns(situation: ShareSituation) -> bool:
    """Return whether records wait for another delivery after the first one."""
    progress = situation.memory.progress
    return bool(progress.returned) and (progress.most_deliveries or 0) > 1


def _rejects(situation: ShareSituation) -> bool:
    return _archives(situation) and not _returns(situation)


def _redelivers(situation: ShareSituation) -> bool:
    memory = situation.memory
    lasts = _goes_on(situation) and situation.fruitless_time >= situation.pause
    is_fruitless = memory.fruitless_polls >= FRUITLESS_POLLS and bool(memory.progress.returned)
    return (is_fruitless and lasts) or (_archives(situation) and _returns(situation)) or _took_and_left(situation)


def _waits(situation: ShareSituation) -> bool:
    """Return whether records wait for too long.

    A member takes a returned record at its next poll and holds it for one lock. So a group whose records came back, and
    of which none is finished or comes back again, does not poll.
    """
    return bool(situation.memory.progress.lag) and situation.idle_time >= situation.longest_idle


def _hung(situation: ShareSituation) -> bool:
    """Return whether the members left long after the locks of what they had taken: they did not poll.

    Members that crash, or are stopped, leave within a session timeout of that.
    """
    return situation.only_returned and situation.empty_since - situation.memory.changed_at >= LONGEST_SESSION


def _has_no_members(situation: ShareSituation) -> bool:
    return situation.stage is GroupStage.EMPTY and _waits(situation)


def _took_and_left(situation: ShareSituation) -> bool:
    return _has_no_members(situation) and _hung(situation)


def _stopped(situation: ShareSituation) -> bool:
    return situation.stage is not GroupStage.EMPTY and _waits(situation)


def _unfinished(situation: ShareSituation) -> str:
    """Return how many records are unfinished and from where on."""
    progress = situation.memory.progress
    return f"{say.count(progress.lag or 0, 'record')} not finished from offset {progress.start_offset or 0:,} on"


def _held(situation: ShareSituation) -> str:
    """Return what holds the start offset, as far as the brokers have recorded it."""
    progress = situation.memory.progress
    if progress.finished:
        later = say.count(progress.finished, "later record")
        are = "is" if progress.finished == 1 else "are"
        return f"; the start offset cannot move past that record, and {later} {are} finished"
    if progress.returned:
        records = say.count(progress.returned, "record")
        return f"; {records} came back from a delivery, at most {_most_deliveries(situation)} each"
    return "; no record has come back from a delivery"


def _most_deliveries(situation: ShareSituation) -> str:
    """Return the highest number of deliveries of a returned record."""
    return say.count(situation.memory.progress.most_deliveries or 0, "delivery", "deliveries")


def _stopped_sentence(situation: ShareSituation) -> str:
    members = f"The group has {say.count(situation.members, 'member')}, but no" if situation.members >= 0 else "No"
    return (
        f"{members} record was finished or returned for {say.duration(situation.idle_time)}, with "
        f"{_unfinished(situation)}{_held(situation)}."
    )


def _no_members_sentence(situation: ShareSituation) -> str:
    since = situation.empty_since
    for_ = f" for {say.duration(max(situation.now - since, 0))}" if since >= 0 else ""
    return f"The group has had no members{for_}, with {_unfinished(situation)}."


def _rejecting_sentence(situation: ShareSituation) -> str:
    archived = say.count(situation.memory.archived, "record")
    return f"No record was accepted for {say.duration(situation.fruitless_time)}; {archived} were archived."


def _redelivering_sentence(situation: ShareSituation) -> str:
    progress = situation.memory.progress
    waiting = say.count(progress.returned or 0, "record")
    wait = "waits" if progress.returned == 1 else "wait"
    if _took_and_left(situation):
        left = say.duration(situation.empty_since - situation.memory.changed_at)
        return (
            f"Members took records and finished none: {waiting} came back, and {left} later the last member left"
            " without having taken one again."
        )
    return (
        f"No record was accepted for {say.duration(situation.fruitless_time)}, but deliveries came back; {waiting} "
        f"{wait} for another delivery, after at most {_most_deliveries(situation)} each."
    )


SHARE_RULES: Final[tuple[ShareRule, ...]] = (
    ShareRule(
        ShareVerdict.SHARE_REJECTING,
        "A share group archives its records and accepts none, for a minute and at three reads: members reject them."
        " Archived records are never delivered again.",
        _rejects,
        _rejecting_sentence,
        "See the log of the consumers: do they reject each record, or fail before they accept it? Stop them until they "
        "are fixed. Then set the start offset back with kafka-share-groups.sh --reset-offsets.",
    ),
    ShareRule(
        ShareVerdict.SHARE_REDELIVERING,
        "Members of a share group take records and do not finish them: they release each one, or hold it until its "
        "lock expires. None is accepted. After the last allowed delivery a record is archived.",
        _redelivers,
        _redelivering_sentence,
        "See whether the consumers fail, forget to acknowledge, or need longer than share.record.lock.duration.ms.",
    ),
    ShareRule(
        ShareVerdict.SHARE_NO_MEMBERS,
        "Records wait, and the share group has no members.",
        _has_no_members,
        _no_members_sentence,
        "Start the consumers; see why they ended. If the group is not needed any more, delete it with "
        "kafka-share-groups.sh --delete.",
    ),
    ShareRule(
        ShareVerdict.SHARE_STOPPED,
        "Records wait, the share group has members, and no record is finished or returned.",
        _stopped,
        _stopped_sentence,
        "Take a thread dump of the consumers: a member that works on one record and renews its lock holds the start "
        "offset, and one that does not poll takes no records.",
    ),
)
