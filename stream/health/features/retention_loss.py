"""When retention will reach the first record that a group has not read: a forecast from the log start and from ages.

There are two estimates; the earlier one counts. The log start moves by whole segments. Once it has moved in both halves
of its history it has a rate, and a group that reads more slowly is overtaken after margin / difference. It has no rate
if it follows the commits of the group itself (`memory.own_deletes`). And where the retention time is known,
the oldest unread record may be removed when it reaches that age.
"""

from typing import Final

import numpy as np

from stream.health.columns import Codes, Flags, Ints, Reals
from stream.health.features import lag_trend as trends
from stream.health.features.end_history import EndHistory
from stream.health.features.lag import OffsetDistances
from stream.health.features.time_lag import Rates, TimeLag
from stream.health.inputs import HealthInputs
from stream.health.limits import HealthLimits

NEVER: Final = -1
_SHARE_OF_RETENTION: Final = 4
"""By age a loss is near when less than a quarter of the retention time is left."""


def forecast(  # noqa: PLR0917 - columns of one table
    inputs: HealthInputs,
    log_start: EndHistory,
    rows: Ints,
    ends: OffsetDistances,
    age: TimeLag,
    rates: Rates,
    trend: Codes,
    deletes_own: Flags,
    limits: HealthLimits,
) -> tuple[Ints, Flags]:
    """Return the time (ms) until retention removes the next record of each row, and the rows where that is near.

    `NEVER`: no forecast is possible, or the lag falls. No loss is near that is further away than `limits.loss_notice`
    or than the length of the history behind the forecast. `rows` are the rows in the history of log starts, -1: none.
    """
    loss_in = np.full(len(rows), NEVER, np.int64)
    near = np.zeros(len(rows), np.bool_)
    at_risk = np.flatnonzero((rows >= 0) & (age.age > 2 * limits.tick) & (trend != trends.FALLS) & (ends.margin >= 0))
    if not len(at_risk):
        return loss_in, near
    rate, span = _log_start_rate(log_start, rows[at_risk], inputs.now)
    rate = np.where(deletes_own[at_risk], 0.0, rate)
    slower = rate - np.nan_to_num(rates.consume[at_risk])
    left = np.where(slower > 0, ends.margin[at_risk] / np.where(slower > 0, slower, 1.0) * 1_000, np.inf)
    close = left < np.minimum(limits.loss_notice, span)
    if inputs.retention is not None:
        retention = inputs.retention[at_risk]
        by_age = np.where(retention > 0, np.maximum(retention - age.age[at_risk], 0), np.inf)
        close |= by_age < np.minimum(limits.loss_notice, retention / _SHARE_OF_RETENTION)
        left = np.minimum(left, by_age)
    finite = np.isfinite(left)
    loss_in[at_risk[finite]] = np.minimum(left[finite], 1e15).astype(np.int64)
    near[at_risk] = close
    return loss_in, near


def _log_start_rate(log_start: EndHistory, rows: Ints, now: int) -> tuple[Reals, Ints]:
    """Return the rate of each log start (offsets per second; 0: not known yet) and its measuring time (ms)."""
    first_time, first = log_start.oldest_time(rows), log_start.oldest_end(rows)
    span = now - first_time
    middle = log_start.end_at(rows, first_time + span // 2)
    last = log_start.end_at(rows, np.full(len(rows), now))
    moved = (first >= 0) & (middle > first) & (last > middle) & (span > 0)
    rate: Reals = np.where(moved, (last - first) * 1_000.0 / np.maximum(span, 1), 0.0)
    return rate, span
