"""Rules about offsets that are not used, expire, were lost, or were never committed."""

from typing import Final

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT, GroupStage
from stream.health.rules.rule import OWNER, Rule, no_rows, rows_of_topic, unread_text
from stream.health.verdict import Verdict


def _abandoned(window: Window) -> Flags:
    """The group has offsets of a topic that none of its members subscribes to, or that none of its last ones did."""
    subscribed = window.inputs.subscribed
    if subscribed is None:
        return no_rows(window)
    matches: Flags = subscribed == 0
    if matches.any():
        matches &= (window.silence > window.limits.restart_grace) & (window.members > 0)
        matches &= window.settled_time > window.limits.restart_grace
    return matches | window.left


def _abandoned_sentence(window: Window, row: int) -> str:
    age = say.duration(window.now - int(window.commit_time[row]))
    members = say.count(int(window.members[row]), "member")
    if window.members[row] <= 0:
        last = say.moment(int(window.memory.unsubscribed_until[row]))
        return f"None of the last members, until {last}, subscribed to this topic; its last commit is {age} old."
    return f"None of the {members} subscribes to this topic; its last commit is {age} old."


ABANDONED = Rule(
    verdict=Verdict.ABANDONED,
    matches=_abandoned,
    sentence=_abandoned_sentence,
    next_step="If the group is done with the topic, delete its offsets (kafka-consumer-groups.sh --delete-offsets).",
    evidence=("committed_offset", "commit_time", "members", "lag"),
)


def _expiring(window: Window) -> Flags:
    """The broker is about to expire an offset of the group."""
    expiry = window.inputs.expiry
    if expiry is None:
        return no_rows(window)
    matches: Flags = (expiry >= 0) & (expiry - window.now < window.limits.expiry_notice)
    if matches.any():
        # Less than a whole quarter of the offset's retention ahead: short retentions are for tests.
        matches &= 4 * (expiry - window.now + 1) <= expiry - window.commit_time
    return matches


def _expiring_sentence(window: Window, row: int) -> str:
    expiry = window.inputs.expiry
    at = 0 if expiry is None else int(expiry[row])
    when = f"in {say.duration(at - window.now)}" if at > window.now else "at its next check"
    return f"The broker expires this offset {when} ({say.moment(at)}); the group would then start by auto.offset.reset."


EXPIRING = Rule(
    verdict=Verdict.EXPIRING,
    matches=_expiring,
    sentence=_expiring_sentence,
    next_step="Start the group, or commit the offset again; if the group is not needed any more, delete it.",
    evidence=("offset_expiry_time", "commit_time", "committed_offset", "members", "lag"),
    confirm=1,
    is_reported_beside=True,
)


def _was_removed(window: Window) -> Flags:
    """Return which rows without a commit have had one, as far as is known."""
    memory = window.memory
    return (memory.removed >= 0) | (memory.removed_early >= 0) | (memory.last_committed >= 0)


def _stuck_without_commit(window: Window) -> Flags:
    stuck: Flags = window.stuck & (window.committed_offset == NO_COMMIT)
    return stuck & ~window.habit_unknown if stuck.any() else stuck


def _forgotten(window: Window) -> Flags:
    """The group has lost a committed offset: removed by the broker before its time, or deleted, and records wait.

    The first is reported at once if the group was alive. Kafka's tool deletes offsets of topics without a subscriber,
    so the group may have been stopped for that: then it is reported where records wait for as long as a first commit
    may take.
    """
    removed = window.memory.removed_early
    lives = removed >= 0
    if lives.any():
        is_recent = window.now - removed <= window.limits.event_shown
        lives &= is_recent | (window.committed_offset == NO_COMMIT)
    uncommitted = _stuck_without_commit(window)
    return lives | (uncommitted & _was_removed(window)) if uncommitted.any() else lives


def _forgotten_sentence(window: Window, row: int) -> str:
    forgotten = int(window.memory.removed_early[row])
    last = int(window.memory.last_committed[row])
    at = f" {last:,}" if last >= 0 else ""
    committed = int(window.committed_offset[row])
    if forgotten < 0:
        return (
            f"The committed offset{at} {_removal(window, row)}. Records have come for"
            f" {say.duration(int(window.idle_time[row]))}, and the group has committed none of them since:"
            f" {unread_text(window, row)}."
        )
    removed = say.moment(forgotten)
    if committed == NO_COMMIT:
        rest = "and the group has committed none since: after a restart it begins by auto.offset.reset"
    else:
        rest = f"and the group has committed {committed:,} since"
    return f"The committed offset{at} was removed at {removed} before its time, while the group was alive, {rest}."


def _removal(window: Window, row: int) -> str:
    memory = window.memory
    time, expired = int(memory.removed[row]), int(memory.removed_by_expiry[row])
    if time < 0:
        return "was removed, at a time that is not known"
    how = {0: "was deleted by a request", 1: "expired"}.get(expired, "was removed")
    return f"{how} at {say.moment(time)}"


FORGOTTEN = Rule(
    verdict=Verdict.FORGOTTEN,
    matches=_forgotten,
    sentence=_forgotten_sentence,
    next_step="Do not restart the group before it has committed again, or set its offset first"
    " (kafka-consumer-groups.sh --reset-offsets --to-offset). Then find out why: the broker's log of that time,"
    " offsets.retention.minutes, a tool that deletes offsets or groups.",
    evidence=(
        "forgotten_time",
        "removed_time",
        "last_committed_offset",
        "committed_offset",
        "commit_time",
        "members",
        "lag",
    ),
    confirm=1,
    is_reported_beside=True,
)


_LOOK: Final = "Check whether the member that owns it reads it at all, and whether it fails before its first commit."
_ASSIGN: Final = (
    "A consumer that assigns partitions to itself does not notice new ones: assign this one, or subscribe to the topic."
)


def _never_committed(window: Window) -> Flags:
    """A partition of the group receives records, and the group has never committed an offset for it."""
    uncommitted = _stuck_without_commit(window)
    return uncommitted & ~_was_removed(window) if uncommitted.any() else uncommitted


def _never_committed_sentence(window: Window, row: int) -> str:
    since = say.duration(int(window.idle_time[row]))
    others = int((window.committed_offset[rows_of_topic(window, row)] != NO_COMMIT).sum())
    but = f" It commits {say.count(others, 'other partition')} of the topic." if others else ""
    return f"Records have come for {since}, and the group has never committed an offset for this partition.{but}"


NEVER_COMMITTED = Rule(
    verdict=Verdict.NEVER_COMMITTED,
    matches=_never_committed,
    sentence=_never_committed_sentence,
    next_step=f"{_LOOK} {_ASSIGN}",
    next_step_of=lambda window, row: _ASSIGN if window.stage[row] == GroupStage.OFFSETS_ONLY else _LOOK,
    evidence=("high_watermark", "log_start_offset", "group_since", "time_lag", "members", *OWNER),
    confirm=1,
    # At a rebalance, records that no member has committed are taken as new.
    withdraw=3,
    names_members=True,
)
