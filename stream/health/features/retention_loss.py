"""When retention will reach what a group has not read: foretold from the log start's own pace, and from the ages.

Two ways to know, the nearer one counts. The log start moves on by whole segments; once it has moved in both halves of
what is remembered it has a pace, and a group that reads more slowly than that is overtaken after margin / difference.
And where the topic's retention time is known, the oldest unread record may go when it is that old.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream.health.features import lag_trend as trends

if TYPE_CHECKING:
    from stream.health.columns import Codes, Flags, Ints, Reals
    from stream.health.features.end_history import EndHistory
    from stream.health.features.lag import OffsetDistances
    from stream.health.features.time_lag import Rates, TimeLag
    from stream.health.inputs import HealthInputs
    from stream.health.limits import HealthLimits

NEVER = -1
_SHARE_OF_RETENTION = 4
"""By age: near is when less than this part (a quarter) of the retention time is left."""


def forecast(  # noqa: PLR0917 - columns of one table
    seen: HealthInputs,
    log_start: EndHistory,
    rows: Ints,
    ends: OffsetDistances,
    age: TimeLag,
    rates: Rates,
    trend: Codes,
    limits: HealthLimits,
) -> tuple[Ints, Flags]:
    """Give how long each group has until its next record goes (ms, `NEVER` where none can be told), and if it is near.

    A group whose lag falls is getting away from it and is not told. No forecast reaches further than `limits.loss`, nor
    further than the past it was drawn from.
    """
    soon = np.full(len(rows), NEVER, np.int64)
    near = np.zeros(len(rows), np.bool_)
    at_risk = np.flatnonzero((rows >= 0) & (age.age > 2 * limits.tick) & (trend != trends.FALLS) & (ends.margin >= 0))
    if not len(at_risk):
        return soon, near
    pace, span = _pace(log_start, rows[at_risk], seen.now)
    slower = pace - np.nan_to_num(rates.consume[at_risk])
    left = np.where(slower > 0, ends.margin[at_risk] / np.where(slower > 0, slower, 1.0) * 1_000, np.inf)
    close = left < np.minimum(limits.loss, span)
    if seen.retention is not None:
        keeps = seen.retention[at_risk]
        by_age = np.where(keeps > 0, np.maximum(keeps - age.age[at_risk], 0), np.inf)
        close |= by_age < np.minimum(limits.loss, keeps / _SHARE_OF_RETENTION)
        left = np.minimum(left, by_age)
    told = np.isfinite(left)
    soon[at_risk[told]] = np.minimum(left[told], 1e15).astype(np.int64)
    near[at_risk] = close
    return soon, near


def _pace(log_start: EndHistory, rows: Ints, now: int) -> tuple[Reals, Ints]:
    """Give how fast each log start moves (offsets per second; 0 if that cannot be told yet) and over what time."""
    first_time, first = log_start.oldest_time(rows), log_start.oldest_end(rows)
    span = now - first_time
    middle = log_start.end_at(rows, first_time + span // 2)
    last = log_start.end_at(rows, np.full(len(rows), now))
    moved = (first >= 0) & (middle > first) & (last > middle) & (span > 0)
    pace: Reals = np.where(moved, (last - first) * 1_000.0 / np.maximum(span, 1), 0.0)
    return pace, span
