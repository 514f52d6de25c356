"""Leaves out groups that cannot be evaluated because of an internal error, and tries them again later.

The evaluation works on columns of all groups, so one group that it cannot handle makes the whole tick fail. Such a
group is searched for by bisection, left out from then on, and shown as unknown (`snapshot.additions`),
so that all other groups are published. It is tried again, alone, when its state in the log has changed, and every ten
minutes; a trial that fails doubles the time to the next one. Used by the tick thread.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import structlog

from stream.groups.driver_state import GroupColumns
from stream.groups.short_cache import is_same

_log = structlog.get_logger(__name__)
REASON: Final = "internal_error"
"""The reason for the unknown lag of such a group."""
MAX_TRIALS: Final = 256
"""Trials of one search. One faulty group of 100,000 takes 35, which together evaluate each group about three times."""
_TRIALS: Final = 4
"""Maximum number of groups tried again per tick."""
_FIRST_WAIT: Final = 10.0
_LONGEST_WAIT: Final = 600.0
"""Seconds between trials of one group."""
_LOGGED_GROUPS: Final = 20
"""Groups logged by name per tick; more are logged as a number."""
_LOG_SECONDS: Final = 600.0
"""Minimum interval between log lines about the same group."""


@dataclasses.dataclass(frozen=True, slots=True)
class QuarantinedGroup:
    """A group in quarantine."""

    error: Exception
    since: float
    """Unix seconds."""
    state: tuple[object, ...]
    """Its membership, history and newest commit when it was last tried."""
    wait: float
    """Seconds from that trial to the next one."""
    tried_at: float
    """Unix seconds."""


class Quarantine:
    """One instance per process."""

    def __init__(self) -> None:
        self._groups: dict[str, QuarantinedGroup] = {}
        self._logged_at: dict[str, float] = {}
        self._last_selection: tuple[GroupColumns, frozenset[str], GroupColumns] | None = None
        self.faults = 0
        """The number of times a group was put in quarantine."""

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, group: str) -> bool:
        return group in self._groups

    @property
    def groups(self) -> Mapping[str, QuarantinedGroup]:
        """The groups in quarantine, by name; replaced, never changed."""
        return self._groups

    def admit(self, state: GroupColumns, trial: Callable[[GroupColumns], None], now: float) -> GroupColumns:
        """Return the driver state without the groups in quarantine; `trial` evaluates some groups, or raises.

        Groups whose records could not even be interpreted (`state.faults`) go to quarantine; due ones are tried again.
        """
        if not self._groups and not state.faults:
            return state
        known = state.all_groups() | state.faults.keys()
        self._groups = {name: group for name, group in self._groups.items() if name in known}
        self._add({name: error for name, error in state.faults.items() if name not in self._groups}, state, now)
        due = [name for name in self._groups if name not in state.faults and self._is_due(state, name, now)]
        for name in due[:_TRIALS]:
            error, previous = _raised(trial, state.select({name})), self._groups[name]
            if error is None:
                self._groups = {other: group for other, group in self._groups.items() if other != name}
                _log.info("group can be evaluated again", group=name)
            else:
                facts, wait = _facts(state, {name})[name], min(2 * previous.wait, _LONGEST_WAIT)
                self._groups = self._groups | {name: QuarantinedGroup(error, previous.since, facts, wait, now)}
        return self._without_groups(state)

    def search(self, state: GroupColumns, trial: Callable[[GroupColumns], None], now: float) -> bool:
        """Quarantine the groups that make the evaluation fail; return whether there are any.

        There are none if the evaluation also fails without any group, does not fail again, or fails for all groups:
        then no single group is the cause.
        """
        groups = sorted(state.all_groups())

        def fails(some: Sequence[str]) -> Exception | None:
            return _raised(trial, state.select(frozenset(some)))

        if fails(()) is not None:
            return False
        found = faulty_groups(groups, fails)
        if not found or (len(found) == len(groups) > 1):
            return False
        self._add(found, state, now)
        return True

    def _without_groups(self, state: GroupColumns) -> GroupColumns:
        """Return the state without the groups; while its rows stay the same, the result keeps its row order object."""
        excluded = frozenset(self._groups)
        if not excluded:
            self._last_selection = None
            return state
        rest = state.select(state.all_groups() - excluded)
        last_state, last_excluded, last = self._last_selection or (None, excluded, rest)
        if last_state is not None and last_excluded == excluded and last_state.row_order is state.row_order:
            rest = dataclasses.replace(
                rest, row_order=last.row_order, group=last.group, topic=last.topic, partition=last.partition
            )
        self._last_selection = state, excluded, rest
        return rest

    def _add(self, errors: Mapping[str, Exception], state: GroupColumns, now: float) -> None:
        if not errors:
            return
        self.faults += len(errors)
        facts = _facts(state, errors.keys())
        new = {name: QuarantinedGroup(error, now, facts[name], _FIRST_WAIT, now) for name, error in errors.items()}
        self._groups = self._groups | new
        self._log(errors, now)

    def _is_due(self, state: GroupColumns, name: str, now: float) -> bool:
        """Return whether to try a group: at once after its first change, later when its wait is over."""
        known = self._groups[name]
        waited = now - known.tried_at
        if waited >= _LONGEST_WAIT:
            return True
        soon = known.wait == _FIRST_WAIT or waited >= known.wait
        return soon and not is_same(_facts(state, {name})[name], known.state)

    def _log(self, errors: Mapping[str, Exception], now: float) -> None:
        """Log the groups, the first one with its traceback."""
        self._logged_at = {name: at for name, at in self._logged_at.items() if now - at < _LOG_SECONDS}
        new = [name for name in errors if name not in self._logged_at]
        for number, name in enumerate(new[:_LOGGED_GROUPS]):
            _log.error(
                "group cannot be evaluated because of an internal error; shown as unknown",
                group=name,
                error=repr(errors[name]),
                exc_info=errors[name] if number == 0 else None,
            )
        if len(new) > _LOGGED_GROUPS:
            _log.error("more groups cannot be evaluated", groups=len(new) - _LOGGED_GROUPS)
        self._logged_at |= dict.fromkeys(new, now)


def faulty_groups(groups: Sequence[str], fails: Callable[[Sequence[str]], Exception | None]) -> dict[str, Exception]:
    """Return the groups whose evaluation fails, each with its error; empty if all groups together do not fail.

    `fails` evaluates some groups and returns what was raised. A block that fails is halved until single groups are
    left. When no trials are left, all groups of the blocks that still fail are returned.
    """
    found: dict[str, Exception] = {}
    blocks = [list(groups)]
    for _ in range(MAX_TRIALS):
        if not blocks:
            return found
        block = blocks.pop(0)
        error = fails(block)
        if error is None:
            continue
        if len(block) == 1:
            found[block[0]] = error
        else:
            half = len(block) // 2
            blocks += [block[:half], block[half:]]
    for block in blocks:
        error = fails(block)
        if error is not None:
            found |= dict.fromkeys(block, error)
    return found


def _raised(trial: Callable[[GroupColumns], None], state: GroupColumns) -> Exception | None:
    try:
        trial(state)
    except Exception as error:  # noqa: BLE001 - any error fails the trial
        return error
    return None


def _facts(state: GroupColumns, names: Iterable[str]) -> dict[str, tuple[object, ...]]:
    """Return membership, history and (newest commit position, number of commits) of each group."""
    groups = frozenset(names)
    rows = state.rows_of(groups)
    newest: dict[str, tuple[int, int]] = {}
    columns = state.group.take(rows).to_pylist(), state.runs.spans.last_position[rows].tolist()
    for name, position in zip(*columns, strict=True):
        highest, count = newest.get(name, (-1, 0))
        newest[name] = max(highest, position), count + 1
    return {name: (state.memberships.get(name), state.histories.get(name), newest.get(name)) for name in groups}
