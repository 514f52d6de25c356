"""The groups to describe, and how often: limits the load of DescribeGroups requests on the cluster.

Pure: the time is an argument. A group needs a description if its state may not be in the log: a classic group with
members, because a rebalance writes no record until it has completed, and one with a recent record, because a first
member that is joining has caused no other record yet.
"""

from collections.abc import Iterable, Mapping

from stream.groups.membership.memberships import Membership
from stream.groups.membership.model import CLASSIC, SIMPLE


def describe_candidates(memberships: Mapping[str, Membership], now: int, recent_ms: int) -> list[str]:
    """Return the classic groups that have members, or changed their state within `recent_ms` before `now` (ms).

    And those of which the log has only the record of the first JoinGroup: the coordinator stores a group when its first
    rebalance ends, and never if the record would exceed `message.max.bytes`; the members then rebalance for ever.
    """
    return [
        group
        for group, membership in memberships.items()
        if _is_before_first_generation(membership)
        or (
            membership.kind == CLASSIC
            and (
                membership.members > 0
                or (membership.state_time is not None and now - membership.state_time < recent_ms)
            )
        )
    ]


def _is_before_first_generation(group: Membership) -> bool:
    """Return whether the group joined for the first time, and has no generation in the log."""
    return group.kind == SIMPLE and group.generation == 0


class RequestBudget:
    """Selects the groups to describe now: those that have waited longest, within an average rate.

    A token bucket: it gains `per_second` groups up to `most`, which is also the limit of one selection. A group waits
    since it was last selected, or since it was first a candidate; it is not selected again within `again_ms`. So every
    candidate is selected at some time, however many new ones appear.
    """

    def __init__(self, *, per_second: float, most: int, again_ms: int) -> None:
        self._per_second = per_second
        self._most = most
        self._again_ms = again_ms
        self._available = float(most)
        self._last_time: int | None = None
        self._waits_since: dict[str, int] = {}
        self._selected: set[str] = set()

    def choose(self, candidates: Iterable[str], now: int) -> list[str]:
        """Return the groups to describe at `now` (ms), and record them as described.

        A group that is no longer a candidate is removed, so the memory is bounded by the number of candidates.
        """
        self._add_budget(now)
        since = {group: self._waits_since.get(group, now) for group in candidates}
        due = [group for group, when in since.items() if not self._too_soon(group, now - when)]
        due.sort(key=lambda group: (since[group], group in self._selected, group))
        selected = due[: int(self._available)]
        self._available -= len(selected)
        self._waits_since = since | dict.fromkeys(selected, now)
        self._selected = (self._selected & since.keys()).union(selected)
        return selected

    def _too_soon(self, group: str, waited: int) -> bool:
        return group in self._selected and 0 <= waited < self._again_ms

    def _add_budget(self, now: int) -> None:
        """Add the budget of the elapsed time; a clock that was set back adds nothing."""
        elapsed = 0 if self._last_time is None else max(now - self._last_time, 0)
        self._last_time = now
        self._available = min(self._available + elapsed * self._per_second / 1000, float(self._most))
