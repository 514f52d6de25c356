"""Rows that could not commit or could not be read until recently."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stream.health.columns import Flags, Ints


def latest_outage_end(partition_back_since: Ints, coordinator_back_since: Ints | None) -> Ints:
    """Return when each row last regained its leader or its coordinator (ms); -1: it never lost them."""
    if coordinator_back_since is None:
        return partition_back_since
    return np.maximum(partition_back_since, coordinator_back_since)


def excused_rows(outage_end: Ints, settled_since: Ints, known_until: Ints, grace: Ints, rebalance: int) -> Flags:
    """Return the rows that regained their coordinator or leader within the last `grace` ms.

    Clients need some time to notice. They often come back through a rebalance that waits for the sessions of lost
    members; the grace then begins when the group has settled (`settled_since`), if that was at most `rebalance` +
    `grace` ms after the outage.
    """
    by_rebalance = (settled_since >= outage_end) & (settled_since - outage_end <= rebalance + grace)
    back_since = np.where(by_rebalance, settled_since, outage_end)
    excused: Flags = (outage_end >= 0) & (known_until - back_since <= grace)
    return excused
