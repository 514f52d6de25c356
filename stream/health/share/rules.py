"""The rules for a partition of a share group, and their texts. The first that matches decides its verdict.

Verdicts that say what becomes of the records come before those about time: a group that rejects everything has members
and moves. A fault is shown at the first poll at which its rule matches, because the rules themselves wait.
"""

from typing import Final

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.inputs import GroupStage
from stream.health.rules.rule import Rule
from stream.health.share.window import ShareWindow
from stream.health.verdict import Verdict

FRUITLESS_POLLS: Final = 3
"""The number of polls at which deliveries must have ended, none of them accepted: one record that no member can process
is no fault of the group."""
LEAST_ARCHIVING: Final = 60_000
"""The least time (ms) for which the records of a group are archived: one batch of bad records is no fault of it."""
LONGEST_SESSION: Final = 120_000
"""A member that ends leaves its group within this time (ms), which is more than the usual session timeouts, and within
a poll. One that does not poll leaves after max.poll.interval.ms, five minutes by default."""


def _goes_on(window: ShareWindow) -> Flags:
    """Return whether deliveries go on."""
    return window.now - window.memory.changed_at <= window.patience


def _archives(window: ShareWindow) -> Flags:
    """Return whether records were archived at several polls, for a minute or more, and none was accepted."""
    lasts = (window.fruitless_time >= min(LEAST_ARCHIVING, window.limits.share_pause)) & _goes_on(window)
    return (window.memory.archiving_polls >= FRUITLESS_POLLS) & lasts


def _returns(window: ShareWindow) -> Flags:
    """Return whether records wait for another delivery after the first one."""
    return (window.memory.returned > 0) & (window.memory.most_deliveries > 1)


def _redelivers(window: ShareWindow) -> Flags:
    lasts = _goes_on(window) & (window.fruitless_time >= window.limits.share_pause)
    is_fruitless = (window.memory.fruitless_polls >= FRUITLESS_POLLS) & (window.memory.returned > 0)
    return (is_fruitless & lasts) | (_archives(window) & _returns(window)) | _took_and_left(window)


def _waits(window: ShareWindow) -> Flags:
    """Return whether records wait for too long.

    A member takes a returned record at its next poll and holds it for one lock. So a group whose records came back, and
    of which none is finished or comes back again, does not poll.
    """
    return (window.memory.lag > 0) & (window.idle_time >= window.longest_idle)


def _has_no_members(window: ShareWindow) -> Flags:
    without: Flags = (window.stage == GroupStage.EMPTY) & _waits(window)
    return without


def _took_and_left(window: ShareWindow) -> Flags:
    """Return whether the members left long after the locks of what they had taken: they did not poll.

    Members that crash, or are stopped, leave within a session timeout of that.
    """
    hung = window.empty_since - window.memory.changed_at >= LONGEST_SESSION
    return _has_no_members(window) & window.only_returned & hung


def _unfinished(window: ShareWindow, row: int) -> str:
    """Return how many records are unfinished and from where on."""
    lag, start = max(int(window.memory.lag[row]), 0), max(int(window.memory.start_offset[row]), 0)
    return f"{say.count(lag, 'record')} not finished from offset {start:,} on"


def _held(window: ShareWindow, row: int) -> str:
    """Return what holds the start offset, as far as the brokers have recorded it."""
    finished, returned = int(window.memory.finished[row]), int(window.memory.returned[row])
    if finished > 0:
        later = say.count(finished, "later record")
        are = "is" if finished == 1 else "are"
        return f"; the start offset cannot move past that record, and {later} {are} finished"
    if returned > 0:
        records = say.count(returned, "record")
        return f"; {records} came back from a delivery, at most {_most_deliveries(window, row)} each"
    return "; no record has come back from a delivery"


def _most_deliveries(window: ShareWindow, row: int) -> str:
    """Return the highest number of deliveries of a returned record."""
    return say.count(max(int(window.memory.most_deliveries[row]), 0), "delivery", "deliveries")


def _stopped_sentence(window: ShareWindow, row: int) -> str:
    count = int(window.members[row])
    members = f"The group has {say.count(count, 'member')}, but no" if count >= 0 else "No"
    return (
        f"{members} record was finished or returned for {say.duration(int(window.idle_time[row]))}, with "
        f"{_unfinished(window, row)}{_held(window, row)}."
    )


def _no_members_sentence(window: ShareWindow, row: int) -> str:
    since = int(window.empty_since[row])
    for_ = f" for {say.duration(max(window.now - since, 0))}" if since >= 0 else ""
    return f"The group has had no members{for_}, with {_unfinished(window, row)}."


def _redelivering_sentence(window: ShareWindow, row: int) -> str:
    returned = max(int(window.memory.returned[row]), 0)
    waiting, wait = say.count(returned, "record"), "waits" if returned == 1 else "wait"
    if _took_and_left(window)[row]:
        left = say.duration(int(window.empty_since[row] - window.memory.changed_at[row]))
        return (
            f"Members took records and finished none: {waiting} came back, and {left} later the last member left"
            " without having taken one again."
        )
    return (
        f"No record was accepted for {_fruitless_time(window, row)}, but deliveries came back; {waiting} "
        f"{wait} for another delivery, after at most {_most_deliveries(window, row)} each."
    )


def _fruitless_time(window: ShareWindow, row: int) -> str:
    return say.duration(int(window.fruitless_time[row]))


def _unknown_sentence(window: ShareWindow, row: int) -> str:
    if window.memory.lag[row] >= 0:
        unfinished = say.count(int(window.memory.lag[row]), "record")
        return f"Not observed for long enough to decide: {unfinished} not finished."
    if window.memory.start_offset[row] >= 0:
        return "The lag is not known: the end of the partition is not, or its state was written by Kafka before 4.2."
    return (
        "No delivery in the partition has ended yet, so the brokers have recorded no start offset: no record was "
        "delivered, or members still hold the first ones."
    )


SHARE_RULES: Final[tuple[Rule[ShareWindow], ...]] = (
    Rule(
        verdict=Verdict.SHARE_REJECTING,
        matches=lambda window: _archives(window) & ~_returns(window),
        sentence=lambda window, row: (
            f"No record was accepted for {_fruitless_time(window, row)};"
            f" {say.count(int(window.memory.archived_since[row]), 'record')} were archived."
        ),
        next_step=(
            "See the log of the consumers: do they reject each record, or fail before they accept it? Stop them until "
            "they are fixed. Then set the start offset back with kafka-share-groups.sh --reset-offsets."
        ),
        confirm=1,
        text=(
            "A share group archives its records and accepts none, for a minute and at three reads: members reject them."
            " Archived records are never delivered again."
        ),
    ),
    Rule(
        verdict=Verdict.SHARE_REDELIVERING,
        matches=_redelivers,
        sentence=_redelivering_sentence,
        next_step=(
            "See whether the consumers fail, forget to acknowledge, or need longer than share.record.lock.duration.ms."
        ),
        confirm=1,
        text=(
            "Members of a share group take records and do not finish them: they release each one, or hold it until its "
            "lock expires. None is accepted. After the last allowed delivery a record is archived."
        ),
    ),
    Rule(
        verdict=Verdict.SHARE_NO_MEMBERS,
        matches=_has_no_members,
        sentence=_no_members_sentence,
        next_step=(
            "Start the consumers; see why they ended. If the group is not needed any more, delete it with "
            "kafka-share-groups.sh --delete."
        ),
        confirm=1,
        text="Records wait, and the share group has no members.",
    ),
    Rule(
        verdict=Verdict.SHARE_STOPPED,
        matches=lambda window: (window.stage != GroupStage.EMPTY) & _waits(window),
        sentence=_stopped_sentence,
        next_step=(
            "Take a thread dump of the consumers: a member that works on one record and renews its lock holds the "
            "start offset, and one that does not poll takes no records."
        ),
        confirm=1,
        text="Records wait, the share group has members, and no record is finished or returned.",
    ),
)
"""The faults."""
RULES: Final[tuple[Rule[ShareWindow], ...]] = (
    *SHARE_RULES,
    Rule(
        verdict=Verdict.CAUGHT_UP,
        matches=lambda window: window.memory.lag == 0,
        sentence=lambda *_: "All records are finished.",
        next_step="Nothing.",
    ),
    Rule(
        verdict=Verdict.OK,
        matches=lambda window: (window.memory.lag > 0) & window.memory.moved,
        sentence=lambda window, row: (
            f"Records are being finished; {say.count(int(window.memory.lag[row]), 'record')} are not."
        ),
        next_step="Nothing.",
    ),
    Rule(
        verdict=Verdict.UNKNOWN,
        matches=lambda window: np.ones(len(window), np.bool_),
        sentence=_unknown_sentence,
        next_step="kafka-share-groups.sh --describe --offsets has what the brokers know.",
    ),
)
"""All of them, in their order."""
