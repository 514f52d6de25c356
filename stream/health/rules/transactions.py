"""Rules about transactions: an open one that holds a reader back, and those of the group that are all aborted."""

from typing import Final

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import AbortStreak
from stream.health.rules.rule import OWNER, Rule, no_rows, unread_text
from stream.health.verdict import Verdict


def _held_back(window: Window) -> Flags:
    """A group that reads committed records only has read up to an open transaction that does not end."""
    return window.stuck & window.before_transaction


def _held_back_sentence(window: Window, row: int) -> str:
    place = (int(window.inputs.topic[row]), int(window.inputs.partition[row]))
    transaction = window.inputs.transactions.get(place)
    known_since = None if transaction is None else transaction.since
    since = int(window.stable_since[row]) if known_since is None else known_since
    cause = "an open transaction"
    if transaction is not None:
        name = f" ({transaction.transactional_id})" if transaction.transactional_id else ""
        state = "hanging" if transaction.hanging else "open"
        cause = f"the {state} transaction of producer {transaction.producer_id}{name}"
    offset = int(window.ends.last_stable[row])
    return f"Blocked at offset {offset:,} by {cause} since {say.moment(since)}: {unread_text(window, row)}."


HELD_BACK = Rule(
    verdict=Verdict.HELD_BACK,
    matches=_held_back,
    sentence=_held_back_sentence,
    verb="is",
    next_step="End the producer's transaction; one that hangs is aborted with kafka-transactions.sh abort.",
    evidence=("last_stable_offset", "high_watermark", "committed_offset", "stable_since", "transaction", "time_lag"),
    confirm=1,
    is_reported_beside=True,
)


_LEAST_ABORTS: Final = 3
"""A rebalance aborts one transaction, and its retry may be a second one."""
_MISSING_ABORTS: Final = 3
"""Intervals without another aborted transaction after which the group no longer tries."""


def _aborting(window: Window) -> Flags:
    """The group works, but every transaction with its offsets is aborted, so its committed offset never advances."""
    matches = no_rows(window)
    for row, streak in window.inputs.aborts.items():
        matches[row] = bool(window.stuck[row]) and streak.count >= _LEAST_ABORTS and _goes_on(window, row, streak)
    return matches


def _goes_on(window: Window, row: int, streak: AbortStreak) -> bool:
    """Return whether the group still tries: otherwise it has stopped, like any other group."""
    interval = (streak.last_time - streak.first_time) // (streak.count - 1)
    silence = int(window.known_until[row]) - streak.last_time
    return silence <= max(int(window.patience[row]), _MISSING_ABORTS * interval) + window.limits.tick


def _aborting_sentence(window: Window, row: int) -> str:
    streak = window.inputs.aborts.get(row)
    if streak is None:
        return f"None of its transactions was committed: {unread_text(window, row)}."
    since, last = window.now - streak.first_time, window.now - streak.last_time
    return (
        f"Each of its {streak.count:,} transactions in {say.duration(since)} was aborted, the last one"
        f" {say.duration(last)} ago, by producer {streak.producer_id}; none was committed: {unread_text(window, row)}."
    )


ABORTING = Rule(
    verdict=Verdict.ABORTING,
    matches=_aborting,
    sentence=_aborting_sentence,
    next_step="Look for the exception in the log of the client: a record that fails each time, a time-out, or a fenced"
    " producer because two processes have the same transactional.id. kafka-transactions.sh list names the"
    " transactional.id of the producer.",
    evidence=(
        "aborted_transactions", "aborts_since", "last_abort_time", "producer_id", "committed_offset", "commit_time",
        "patience", "lag", "time_lag", "members", *OWNER,
    ),
    confirm=1,
    names_members=True,
)  # fmt: skip
