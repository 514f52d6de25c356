"""The evidence of a verdict: the numbers that a rule used, by name."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from stream.groups.membership.model import MemberClient
from stream.health.features.window import Window
from stream.health.inputs import AbortStreak
from stream.health.rules import unknown_lag
from stream.health.rules.rule import owner_of

Value = int | float | str | bool | None
"""Times are ms since 1970 (`..._time`, `..._since`), durations ms, rates offsets per second. None: not known."""


def _whole(pick: Callable[[Window], Any]) -> Callable[[Window, int], Value]:
    """Return a reader of a column of integers; negative: not known."""

    def read(window: Window, row: int) -> Value:
        column = pick(window)
        return None if column is None or column[row] < 0 else int(column[row])

    return read


def _real(pick: Callable[[Window], Any]) -> Callable[[Window, int], Value]:
    """Return a reader of a column of real numbers, rounded to three digits; NaN: not known."""

    def read(window: Window, row: int) -> Value:
        value = float(pick(window)[row])
        return None if np.isnan(value) else round(value, 3)

    return read


def _of_group(pick: Callable[[Window], Any]) -> Callable[[Window, int], Value]:
    """Return a reader of a column of groups by the row of a partition."""
    read = _whole(pick)
    return lambda window, row: read(window, int(window.inputs.group[row]))


def _lag(window: Window, row: int) -> Value:
    return int(window.lag[row]) if window.known[row] else None


def _consume_rate(window: Window, row: int) -> Value:
    """Return `Rates.consume_now` of one row."""
    rate = _real(lambda w: w.rates.consume)(window, row)
    return rate if rate is None or not window.rates.ended[row] else 0.0


def _catch_up(window: Window, row: int) -> Value:
    """Return `Rates.catch_up_now` of one row; None for -1."""
    left = int(window.rates.catch_up[row])
    return None if left < 0 or (left > 0 and window.rates.ended[row]) else left


def _transaction(window: Window, row: int) -> Value:
    transaction = window.inputs.transactions.get((int(window.inputs.topic[row]), int(window.inputs.partition[row])))
    if transaction is None:
        return None
    return ", ".join(name for name in (f"producer {transaction.producer_id}", transaction.transactional_id) if name)


def _of_owner(pick: Callable[[MemberClient], str]) -> Callable[[Window, int], Value]:
    """Return a reader of a field of the member that owns the partition; None with `hide_members`."""

    def read(window: Window, row: int) -> Value:
        client = owner_of(window, row)
        return None if client is None or window.limits.hide_members else pick(client)

    return read


def _of_aborts(pick: Callable[[AbortStreak], int]) -> Callable[[Window, int], Value]:
    """Return a reader of a field of the aborted commits since the last commit."""

    def read(window: Window, row: int) -> Value:
        streak = window.inputs.aborts.get(row)
        return None if streak is None else pick(streak)

    return read


COLUMNS: Final[dict[str, Callable[[Window, int], Value]]] = {
    "committed_offset": _whole(lambda w: w.committed_offset),
    "commit_time": _whole(lambda w: w.commit_time),
    "progress_time": _whole(lambda w: w.progress_time),
    "high_watermark": _whole(lambda w: w.ends.high_watermark),
    "last_stable_offset": _whole(lambda w: w.ends.last_stable),
    "log_start_offset": _whole(lambda w: w.ends.log_start),
    "lag": _lag,
    "lost": _whole(lambda w: w.ends.lost),
    "margin": _whole(lambda w: w.ends.margin),
    "loss_in": _whole(lambda w: w.loss_in),
    "time_lag": _whole(lambda w: w.time_lag.age),
    "patience": _whole(lambda w: w.patience),
    "longest_pause": _whole(lambda w: w.longest_pause),
    "produce_rate": _real(lambda w: w.rates.produce),
    "consume_rate": _consume_rate,
    "catch_up": _catch_up,
    "rewind_from": _whole(lambda w: w.inputs.spans.rewind_from),
    "rewind_to": _whole(lambda w: w.inputs.spans.rewind_to),
    "rewind_time": _whole(lambda w: w.inputs.spans.rewind_time),
    "rewinds": _whole(lambda w: w.inputs.spans.rewinds),
    "jump_from": _whole(lambda w: w.memory.skip_from),
    "jump_to": _whole(lambda w: w.memory.skip_to),
    "jump_time": _whole(lambda w: w.memory.skip_time),
    "steps_back": _whole(lambda w: w.memory.steps_back),
    "turns": _whole(lambda w: w.memory.swings),
    "turn_from": _whole(lambda w: w.memory.back_from),
    "turn_to": _whole(lambda w: w.memory.back_to),
    "turn_time": _whole(lambda w: w.memory.back_time),
    "forgotten_time": _whole(lambda w: w.memory.removed_early),
    "removed_time": _whole(lambda w: w.memory.removed),
    "last_committed_offset": _whole(lambda w: w.memory.last_committed),
    "split_since": _whole(lambda w: w.memory.split_since),
    "habit_since": _whole(lambda w: w.memory.first_seen),
    "habit_until": _whole(lambda w: w.memory.schedule_unknown_until),
    "members": _whole(lambda w: w.members),
    "group_since": _of_group(lambda w: w.inputs.groups.since),
    "generation": _of_group(lambda w: w.inputs.groups.generation),
    "rebalances": _of_group(lambda w: w.inputs.groups.rebalances),
    "aborted_transactions": _of_aborts(lambda streak: streak.count),
    "aborts_since": _of_aborts(lambda streak: streak.first_time),
    "last_abort_time": _of_aborts(lambda streak: streak.last_time),
    "producer_id": _of_aborts(lambda streak: streak.producer_id),
    "offset_expiry_time": _whole(lambda w: w.inputs.expiry),
    "stable_since": _whole(lambda w: w.stable_since),
    "transaction": _transaction,
    "reason": unknown_lag.reason,
    "owner_client": _of_owner(lambda client: client.client_id),
    "owner_host": _of_owner(lambda client: client.client_host.removeprefix("/")),
    "owner_member": _of_owner(lambda client: client.member_id),
}
"""Readers of all numbers that a rule may list as evidence."""


def evidence(window: Window, row: int, names: tuple[str, ...]) -> dict[str, Value]:
    """Return these numbers of one row by name."""
    return {name: COLUMNS[name](window, row) for name in names}
