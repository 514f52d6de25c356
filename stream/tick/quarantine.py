"""Groups that cannot be evaluated because of a fault of lagwarden: left out of the ticks, and tried again.

The evaluation works on columns of the whole fleet, so one group that it cannot handle makes the whole tick fail. Such a
group is searched for (`stream.tick.isolation`), left out from then on, and shown as unknown
(`snapshot.quarantined`), so that all other groups are published. It is tried again, alone, when its state in the
log has changed, and every ten minutes; a trial that fails doubles the time to the next one. Used by the thread of the
ticks; `errors` is replaced, never changed, and may be read by others.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import structlog

from stream.groups.driver_state_part import all_groups, rows_of_groups, select_groups
from stream.tick.isolation import faulty_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from stream.groups.driver_state import GroupColumns

_log = structlog.get_logger(__name__)
REASON: Final = "internal_error"
"""Why nothing is known of such a group."""
_TRIALS: Final = 4
"""Groups that are tried again at one tick, at most."""
_FIRST_WAIT: Final = 10.0
_LONGEST_WAIT: Final = 600.0
"""Seconds between trials of one group."""
_LINES: Final = 20
"""Groups named one by one in the log at a tick; of more, only how many."""
_SILENCE: Final = 600.0
"""Seconds in which the same group is not named again."""


@dataclasses.dataclass(frozen=True, slots=True)
class QuarantinedGroup:
    """One group that is left out."""

    error: Exception
    since: float
    """Unix seconds."""
    state: tuple[object, ...]
    """What stood in the log of it when it was tried last."""
    wait: float
    """Seconds from that trial to the next one."""
    tried: float


class Quarantine:
    """One instance per process."""

    def __init__(self) -> None:
        self._out: dict[str, QuarantinedGroup] = {}
        self._named: dict[str, float] = {}
        self._part: tuple[GroupColumns, frozenset[str], GroupColumns] | None = None
        self.faults = 0
        """How many times a group was put here."""

    def __len__(self) -> int:
        return len(self._out)

    def __contains__(self, group: str) -> bool:
        return group in self._out

    @property
    def groups(self) -> Mapping[str, QuarantinedGroup]:
        """The groups that are left out."""
        return self._out

    def admit(self, fleet: GroupColumns, trial: Callable[[GroupColumns], None], now: float) -> GroupColumns:
        """Return the fleet without the groups that are left out; `trial` evaluates some groups and raises if it fails.

        Groups of which not even the records could be evaluated (`fleet.faults`) are left out, and due ones tried again.
        """
        if not self._out and not fleet.faults:
            return fleet
        known = all_groups(fleet) | fleet.faults.keys()
        self._replace({name: each for name, each in self._out.items() if name in known})
        self._put({name: error for name, error in fleet.faults.items() if name not in self._out}, fleet, now)
        due = [name for name in self._out if name not in fleet.faults and self._is_due(fleet, name, now)]
        for name in due[:_TRIALS]:
            error = _raised(trial, select_groups(fleet, {name}))
            if error is None:
                self._replace({other: each for other, each in self._out.items() if other != name})
                _log.info("a group can be evaluated again", group=name)
            else:
                self._again(fleet, name, error, now)
        return self._rest(fleet)

    def search(self, fleet: GroupColumns, trial: Callable[[GroupColumns], None], now: float) -> bool:
        """Search for the groups that make the evaluation fail, and leave them out; return whether there are any.

        There are none if the evaluation fails without any group too, does not fail again, or fails for all groups: then
        it is not the fault of single groups.
        """
        groups = sorted(all_groups(fleet))

        def fails(some: Sequence[str]) -> Exception | None:
            return _raised(trial, select_groups(fleet, frozenset(some)))

        if fails(()) is not None:
            return False
        found = faulty_groups(groups, fails)
        if not found or (len(found) == len(groups) > 1):
            return False
        self._put(found, fleet, now)
        return True

    def _rest(self, fleet: GroupColumns) -> GroupColumns:
        """Leave the groups out; the same object as at the tick before where the fleet is the same, too."""
        out = frozenset(self._out)
        if not out:
            self._part = None
            return fleet
        rest = select_groups(fleet, all_groups(fleet) - out)
        if self._part is not None and self._part[1] == out and self._part[0].row_order is fleet.row_order:
            before = self._part[2]
            rest = dataclasses.replace(
                rest, row_order=before.row_order, group=before.group, topic=before.topic, partition=before.partition
            )
        self._part = fleet, out, rest
        return rest

    def _put(self, errors: Mapping[str, Exception], fleet: GroupColumns, now: float) -> None:
        if not errors:
            return
        self.faults += len(errors)
        states = _states(fleet, errors.keys())
        new = {name: QuarantinedGroup(error, now, states[name], _FIRST_WAIT, now) for name, error in errors.items()}
        self._replace(self._out | new)
        self._tell(errors, now)

    def _again(self, fleet: GroupColumns, name: str, error: Exception, now: float) -> None:
        before = self._out[name]
        state = _states(fleet, {name})[name]
        wait = min(2 * before.wait, _LONGEST_WAIT)
        self._replace(self._out | {name: QuarantinedGroup(error, before.since, state, wait, now)})

    def _is_due(self, fleet: GroupColumns, name: str, now: float) -> bool:
        """Tell whether to try a group: on the first change at once, then when its time has come."""
        known = self._out[name]
        waited = now - known.tried
        if waited >= _LONGEST_WAIT:
            return True
        soon = known.wait == _FIRST_WAIT or waited >= known.wait
        return soon and not _same(_states(fleet, {name})[name], known.state)

    def _replace(self, out: dict[str, QuarantinedGroup]) -> None:
        self._out = out

    def _tell(self, errors: Mapping[str, Exception], now: float) -> None:
        """Name the groups in the log, with one traceback."""
        self._named = {name: at for name, at in self._named.items() if now - at < _SILENCE}
        news = [name for name in errors if name not in self._named]
        for at, name in enumerate(news[:_LINES]):
            _log.error(
                "a group cannot be evaluated because of a fault of lagwarden; it is shown as unknown",
                group=name,
                error=repr(errors[name]),
                exc_info=errors[name] if not at else None,
            )
        if len(news) > _LINES:
            _log.error("more groups cannot be evaluated", groups=len(news) - _LINES)
        self._named |= dict.fromkeys(news, now)


def _raised(trial: Callable[[GroupColumns], None], fleet: GroupColumns) -> Exception | None:
    try:
        trial(fleet)
    except Exception as error:  # noqa: BLE001 - whatever it is: that is the question
        return error
    return None


def _states(fleet: GroupColumns, names: Iterable[str]) -> dict[str, tuple[object, ...]]:
    """Return what stands in the log of each group: membership, life and the position of the newest commit."""
    wanted = frozenset(names)
    rows = rows_of_groups(fleet, wanted)
    newest: dict[str, tuple[int, int]] = {}
    columns = fleet.group.take(rows).to_pylist(), fleet.runs.spans.last_position[rows].tolist()
    for name, position in zip(*columns, strict=True):
        most, count = newest.get(name, (-1, 0))
        newest[name] = max(most, position), count + 1
    return {name: (fleet.memberships.get(name), fleet.histories.get(name), newest.get(name)) for name in wanted}


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Compare memberships and lives by identity: one that no record touched stays the same object."""
    return one[0] is other[0] and one[1] is other[1] and one[2] == other[2]
