"""Rules about the log: records lost before they were read, and transactions that hold readers back or are aborted."""

from typing import Final

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features import offset_out_of_range as beyond
from stream.health.features.lag import BEYOND_END
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT, AbortStreak
from stream.health.rules.rule import OWNER, Rule, no_rows, unread_text
from stream.health.verdict import Verdict

_LEAST_STARTS: Final = 3
"""Rebalances of a group that does not get past the log start; a deployment after the loss makes one or two."""
_RAISE_RETENTION = "Raise the topic's retention (retention.ms, retention.bytes) now, then make the group faster."
_RESET = (
    "The records are gone. Restart the group if auto.offset.reset lets it go on; otherwise stop it and set it to the"
    " log start (kafka-consumer-groups.sh --reset-offsets --to-earliest). Then raise the topic's retention."
)


def _lost_rows(window: Window) -> Flags:
    """Return the rows of which retention has removed records above the commit, as far as the offsets show."""
    rows = window.ends.lost > 0
    if rows.any():
        rows &= (window.ends.lost > window.memory.last_read) & window.known & (window.committed_offset != NO_COMMIT)
    return rows


def _losing_data(window: Window) -> Flags:
    """Retention removes records that an active group has not read, has removed them, or is about to."""
    lost = _lost_rows(window) & window.unread
    if not (lost | window.losing).any():
        return no_rows(window)
    is_active = window.has_members | (window.silence <= window.patience)
    keeps_starting = lost & (window.inputs.groups.rebalances[window.inputs.group] >= _LEAST_STARTS)
    return ((lost | window.losing) & is_active & window.known) | keeps_starting


def _losing_data_sentence(window: Window, row: int) -> str:
    lost = int(window.ends.lost[row])
    if lost <= 0:
        soon = say.duration(int(window.loss_in[row]))
        margin = say.count(int(window.ends.margin[row]), "offset")
        return f"Retention will overtake the group in about {soon}: {margin} of margin, {unread_text(window, row)}."
    gone = f"Retention has removed {say.count(lost, 'offset')} before the group read them"
    starts = int(window.inputs.groups.rebalances[window.inputs.group[row]])
    if starts >= _LEAST_STARTS:
        period = say.duration(window.limits.storm_window)
        return f"{gone}, and it does not get past that: {starts} rebalances within {period}, and no progress."
    return f"{gone}: the log now starts at {int(window.ends.log_start[row]):,}."


LOSING_DATA = Rule(
    verdict=Verdict.LOSING_DATA,
    matches=_losing_data,
    sentence=_losing_data_sentence,
    next_step=f"Before a loss: {_RAISE_RETENTION} After it: {_RESET}",
    next_step_of=lambda window, row: _RESET if window.ends.lost[row] > 0 else _RAISE_RETENTION,
    evidence=("lost", "margin", "loss_in", "log_start_offset", "committed_offset", "lag", "rebalances", "consume_rate"),
    confirm=1,
    is_reported_beside=True,
)


def _below_log_start_sentence(window: Window, row: int) -> str:
    lost = say.count(int(window.ends.lost[row]), "offset")
    start = int(window.ends.log_start[row])
    return f"The log is empty up to its end ({start:,}), {lost} above the commit: whether they were read is not known."


BELOW_LOG_START = Rule(
    verdict=Verdict.BELOW_LOG_START,
    text="The group stands below the log start and has nothing to read: retention has removed what it did not commit.",
    matches=lambda window: _lost_rows(window) & ~window.unread & window.has_members,
    sentence=_below_log_start_sentence,
    next_step="Nothing now. Let the consumer commit its position also where it finds nothing to process: after a"
    " restart it would start by auto.offset.reset.",
    evidence=("lost", "log_start_offset", "committed_offset", "commit_time", "members"),
)


_TRUNCATED: Final = beyond.NAMES.index(beyond.TRUNCATED)
_OTHER_LOG: Final = [beyond.NAMES.index(name) for name in (BEYOND_END, beyond.RECREATED)]
_CAUSES: Final = {
    beyond.TRUNCATED: "The log was cut back below the committed offset",
    beyond.RECREATED: "The topic was deleted and created again, and the offset belongs to the earlier one",
    BEYOND_END: "The committed offset is above the end of the partition",
}


def _truncated(window: Window) -> Flags:
    """The committed offset is above the end of the partition: the log was cut back, or the topic created again."""
    above = ~window.known & (window.committed_offset > window.ends.high_watermark) & (window.ends.high_watermark >= 0)
    if not above.any():
        return above
    cut = window.out_of_range == _TRUNCATED
    # Consumers reset their offset when they next read; a topic that is created again may have no readers yet.
    other = np.isin(window.out_of_range, _OTHER_LOG) & window.has_members
    matches: Flags = above & (cut | (other & (window.silence > window.limits.restart_grace)))
    return matches


def _truncated_sentence(window: Window, row: int) -> str:
    committed, end = int(window.committed_offset[row]), int(window.ends.high_watermark[row])
    cause = _CAUSES.get(beyond.NAMES[window.out_of_range[row]], _CAUSES[BEYOND_END])
    above = say.count(committed - end, "offset")
    return f"{cause}: {committed:,} is {above} above the end ({end:,}), and the consumer will reset."


TRUNCATED = Rule(
    verdict=Verdict.TRUNCATED,
    matches=_truncated,
    sentence=_truncated_sentence,
    next_step="Set the offset before the consumer does: auto.offset.reset=latest skips what has been written since."
    " Find out why the leader lost records: an unclean leader election, or a lost disk.",
    evidence=("committed_offset", "high_watermark", "reason", "commit_time", "members"),
)


def _held_back_sentence(window: Window, row: int) -> str:
    transaction = window.inputs.transactions.get((int(window.inputs.topic[row]), int(window.inputs.partition[row])))
    since, cause = int(window.stable_since[row]), "an open transaction"
    if transaction is not None:
        since = since if transaction.since is None else transaction.since
        name = f" ({transaction.transactional_id})" if transaction.transactional_id else ""
        state = "hanging" if transaction.hanging else "open"
        cause = f"the {state} transaction of producer {transaction.producer_id}{name}"
    offset = int(window.ends.last_stable[row])
    return f"Blocked at offset {offset:,} by {cause} since {say.moment(since)}: {unread_text(window, row)}."


HELD_BACK = Rule(
    verdict=Verdict.HELD_BACK,
    text="A group that reads committed records only has read up to an open transaction that does not end.",
    matches=lambda window: window.stuck & window.before_transaction,
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
