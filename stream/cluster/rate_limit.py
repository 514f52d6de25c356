"""Whom to ask for its state, and how often: the bound on what describing groups may cost the cluster.

Pure: the time is an argument. A group is worth asking where the log may be silent about it: a classic group with
members, because a rebalance shows in no record until it is over, and one whose record is recent, because a first member
that is joining has written nothing yet either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stream.groups.membership.memberships import Membership


def worth_asking(memberships: Mapping[str, Membership], now: int, recent_ms: int) -> list[str]:
    """Name the classic groups that have members, or changed their state within `recent_ms` before `now` (ms)."""
    return [
        group
        for group, membership in memberships.items()
        if membership.kind == "classic"
        and (membership.members > 0 or (membership.state_time is not None and now - membership.state_time < recent_ms))
    ]


class RequestBudget:
    """Chooses the groups to ask now: those that wait longest, at most so many per second on average.

    `per_second` groups are saved up to `most`, which is also what one choice gives at most. A group waits since it was
    last asked, or since it was first worth asking; it is not chosen again within `again_ms`. So each one's turn comes,
    however many new ones turn up.
    """

    def __init__(self, *, per_second: float, most: int, again_ms: int) -> None:
        self._per_second = per_second
        self._most = most
        self._again_ms = again_ms
        self._saved = float(most)
        self._then: int | None = None
        self._waits_since: dict[str, int] = {}
        self._asked: set[str] = set()

    def choose(self, worth: Iterable[str], now: int) -> list[str]:
        """Choose among the groups worth asking at `now` (ms), and take it that they are asked.

        What is not worth asking any more is forgotten, so this remembers no more groups than it is given.
        """
        self._save(now)
        since = {group: self._waits_since.get(group, now) for group in worth}
        due = [group for group, when in since.items() if not self._too_soon(group, now - when)]
        due.sort(key=lambda group: (since[group], group in self._asked, group))
        chosen = due[: int(self._saved)]
        self._saved -= len(chosen)
        self._waits_since = since | dict.fromkeys(chosen, now)
        self._asked = (self._asked & since.keys()).union(chosen)
        return chosen

    def _too_soon(self, group: str, waited: int) -> bool:
        return group in self._asked and 0 <= waited < self._again_ms

    def _save(self, now: int) -> None:
        """Let the budget grow with the time; a clock that was set back adds nothing."""
        elapsed = 0 if self._then is None else max(now - self._then, 0)
        self._then = now
        self._saved = min(self._saved + elapsed * self._per_second / 1000, float(self._most))
