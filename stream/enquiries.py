"""What health must ask from the cluster beside the ends, tick after tick.

Owns the order of the questions and what one tick's answers leave for the next; each kind of question is a module
of its own (`enquiries_tails`, `enquiries_retention`, ...), and each is bounded (`enquiries_limits`). Nothing here
raises: what is not answered is not known.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from stream.enquiries_ends import EndsByName
from stream.enquiries_limits import Allowances
from stream.enquiries_retention import Retentions
from stream.enquiries_tails import TailWatch
from stream.held_back import HeldBack, nothing_held_back
from stream.observed import Asked
from stream.observed_groups import rebalancing_since

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from stream.cluster.client import Cluster
    from stream.groups.fleet import FleetColumns
    from stream.health.windows import Window
    from stream.surroundings import Surroundings


class Enquiries:
    """Used by the thread of the ticks alone. `clock` gives seconds that only rise."""

    def __init__(
        self,
        cluster: Cluster,
        allowances: Allowances | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        allowances = allowances or Allowances()
        self._tails = TailWatch(cluster, allowances, clock)
        self._retentions = Retentions(cluster, allowances)
        self._rebalancing: dict[str, int] = {}

    def held_back(self, fleet: FleetColumns, _ends: pa.Table, _around: Surroundings, _now: float) -> HeldBack:
        """Put into the fleet what the log cannot tell because an open transaction hides it, at `now` (Unix seconds)."""
        return nothing_held_back(fleet)

    def asked(self, fleet: FleetColumns, ends: pa.Table, around: Surroundings, now: float) -> Asked:
        """Ask what is due at `now` (Unix seconds), when these ends (schema ENDS) had been read."""
        by_name = EndsByName(ends)
        self._rebalancing = rebalancing_since(self._rebalancing, around, int(now * 1000))
        return Asked(
            retention=self._retentions.look(by_name.topics, now),
            tails=self._tails.look(_topics_of(fleet), by_name),
            rebalancing_since=self._rebalancing,
        )

    def note(self, window: Window) -> None:
        """Take note of what health saw, for the questions of the next tick."""
        self._tails.note(window)


def _topics_of(fleet: FleetColumns) -> list[str]:
    """Give the topics in the order by which `stream.observed` numbers them."""
    return sorted(set(fleet.topic.dictionary.to_pylist()))
