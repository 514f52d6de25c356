"""Counts the recent rebalances of each group from tick to tick.

A group history keeps only its newest transitions, and a large group in a rebalance storm exceeds that limit; but the
history also counts every rebalance. The count is therefore recorded at each tick where it rose, and the difference of
two counts is the number of rebalances in between. Pure, and not part of the stored state: after a restart, counting
continues from what the verdict file has, or starts from the counts in the group histories.
"""

from collections.abc import Mapping

from stream.groups.lifecycle.model import GroupHistory, TransitionType

CountsByTime = list[tuple[int, int]]
"""(time in ms, count), oldest first; only times at which the count rose."""

_REBALANCED = str(TransitionType.REBALANCED)


class RebalanceCounter:
    """Counts the rebalances of each group within a time window that ends now."""

    def __init__(self, window: int, stored: Mapping[str, CountsByTime] | None = None) -> None:
        """Count within `window` ms; `stored` is what an earlier process recorded."""
        self._window = window
        self._counts: dict[str, CountsByTime] = {group: list(counts) for group, counts in (stored or {}).items()}
        self._histories: dict[str, GroupHistory] = {}
        self._recent: dict[str, int] = {}

    @property
    def recorded(self) -> dict[str, CountsByTime]:
        """The recorded counts of groups that rebalanced recently, for the next process."""
        return {group: list(self._counts[group]) for group in self._recent}

    def update(self, histories: Mapping[str, GroupHistory], now: int) -> Mapping[str, int]:
        """Record the counts at `now` (ms) and return the rebalances within the window, by group.

        Groups without a new rebalance for longer than the window are left out.
        """
        for group in self._histories.keys() - histories.keys():
            self._counts.pop(group, None)
            self._recent.pop(group, None)
        for group, history in histories.items():
            if self._histories.get(group) is not history:
                self._record(group, history.counts.get(_REBALANCED, 0), now)
        self._histories = dict(histories)
        for group in list(self._recent):
            self._update_recent(group, now)
        return self._recent

    def _record(self, group: str, count: int, now: int) -> None:
        counts = self._counts.setdefault(group, [])
        if counts and (count < counts[-1][1] or now <= counts[-1][0]):
            counts.clear()  # a new group of the same name, or the clock was set back
        if not counts or count > counts[-1][1]:
            counts.append((now, count))
        self._recent[group] = 0

    def _update_recent(self, group: str, now: int) -> None:
        """Count from the last record before the window, or from the first record if there is none before."""
        counts = self._counts[group]
        while len(counts) > 1 and counts[1][0] <= now - self._window:
            del counts[0]
        self._recent[group] = counts[-1][1] - counts[0][1]
        if len(counts) == 1 and counts[0][0] <= now - self._window:
            del self._recent[group]  # the remaining record is the base for the group's next rebalance
