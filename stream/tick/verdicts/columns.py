"""What was judged, as columns of the read model: unknown is null there, and times are seconds or moments.

Health has -1 and NaN for what is not known, milliseconds, and codes for words; readers get none of these.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from exporters.readmodel import NAME, TIMESTAMP, UNREADABLE_TAILS, VERDICT_GROUPS
from exporters.wording import SEVERITIES
from stream.health.features import lag_trend as trends
from stream.health.features import time_lag as timelag
from stream.health.verdict import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream.health.columns import Codes, Flags, Ints, Reals
    from stream.health.evaluation import Evaluation
    from stream.health.features.control_records import LogTails
    from stream.health.features.window import Window
    from stream.tick.inputs.rows import InputRows

_TRENDS: Final = {trends.FALLS: "shrinking", trends.LEVEL: "steady", trends.RISES: "growing"}
_DIGITS: Final = 3
"""Of seconds and rates: all that their sources tell."""


@dataclasses.dataclass(frozen=True, slots=True)
class EvaluatedTick:
    """One moment as it was judged, and what of it had to be asked."""

    evaluation: Evaluation
    asked: Flags
    """By row of the fleet: the commit is a coordinator's answer."""
    held_back: frozenset[str]
    """Groups whose coordinators are asked for their commits."""
    alive: Flags
    """By group: of the dead nothing is said."""


def partition_columns(rows: InputRows, diagnosed: EvaluatedTick | None) -> dict[str, pa.Array]:
    """Give the columns of PARTITIONS that a judgement fills, by name; without one there is none."""
    if diagnosed is None:
        return {}
    opinion = diagnosed.evaluation
    window = opinion.window
    ends, committed = window.ends, rows.committed
    age, exact = _ages(window, committed)
    return {
        "lost": pa.array(ends.lost, mask=ends.lost < 0),
        "margin": pa.array(ends.margin, mask=ends.margin < 0),
        "time_lag": _seconds(age),
        "time_lag_exact": pa.array(exact, mask=age < 0),
        "produce_rate": _real(window.rates.produce),
        "consume_rate": _real(window.rates.consume),
        "catch_up_seconds": _seconds(np.where(window.known & committed, window.rates.catch_up, -1)),
        "trend": _trend(window.trend),
        "verdict": words(opinion.verdict, opinion.verdict_names),
        "verdict_since": pa.array(opinion.since).cast(TIMESTAMP),
        "offset_asked": pa.array(rows.take(diagnosed.asked, False)),
    }


def group_columns(groups: Sequence[str], rows: InputRows, diagnosed: EvaluatedTick | None) -> dict[str, pa.Array]:
    """Give the columns of GROUPS that a judgement fills, by name; without one there is none."""
    if diagnosed is None:
        return {}
    opinion, alive = diagnosed.evaluation, diagnosed.alive
    severity = opinion.severities[opinion.group_verdict]
    told = [
        opinion.group_sentence(at) if shown else None
        for at, shown in enumerate((alive & (severity > Severity.FINE)).tolist())
    ]
    return {
        "verdict": words(opinion.group_verdict, opinion.verdict_names, ~alive),
        "severity": words(severity, SEVERITIES, ~alive),
        "verdict_since": pa.array(opinion.group_since, mask=(opinion.group_since < 0) | ~alive).cast(TIMESTAMP),
        "verdict_partitions": pa.array(opinion.group_rows.astype(np.int32), mask=~alive),
        "sentence": pa.array(told, pa.string()),
        **worst_age(rows, diagnosed, rows.group, len(groups)),
        "held_back": pa.array([name in diagnosed.held_back for name in groups], pa.bool_(), mask=~alive),
    }


def worst_age(rows: InputRows, diagnosed: EvaluatedTick, of: Ints, owners: int) -> dict[str, pa.Array]:
    """Give the columns of the greatest time lag (seconds) of each owner of rows; of unknown ones nothing is said."""
    age, exact = _ages(diagnosed.evaluation.window, rows.committed)
    most, sure = timelag.oldest_by_owner(timelag.TimeLag(age, exact | (age < 0), age), of, owners)
    return {"time_lag_max": _seconds(most), "time_lag_max_exact": pa.array(sure, mask=most < 0)}


def groups_by_verdict(diagnosed: EvaluatedTick | None) -> pa.Table:
    """Count the groups by verdict (schema VERDICT_GROUPS)."""
    if diagnosed is None:
        return VERDICT_GROUPS.empty_table()
    opinion = diagnosed.evaluation
    every = np.arange(len(opinion.verdict_names))
    counts = np.bincount(opinion.group_verdict[diagnosed.alive], minlength=len(every))
    columns = [
        words(every, opinion.verdict_names),
        words(opinion.severities, SEVERITIES),
        pa.array(counts.astype(np.int64)),
    ]
    return pa.table(columns, schema=VERDICT_GROUPS)


def unreadable_tails(tails: LogTails | None) -> pa.Table:
    """Count the partitions whose tails cannot be read, by reason (schema UNREADABLE_TAILS)."""
    counts = collections.Counter(() if tails is None else tails.reasons.tolist())
    reasons = sorted(counts)
    names = pa.array(reasons, pa.string()).dictionary_encode().cast(NAME)
    return pa.table([names, pa.array([counts[reason] for reason in reasons], pa.int64())], schema=UNREADABLE_TAILS)


def words(codes: NDArray[Any], among: Sequence[str], mask: Flags | None = None) -> pa.DictionaryArray:
    """Give the words of codes; null where the mask says so."""
    indices = pa.array(codes.astype(np.int32), mask=mask)
    return pa.DictionaryArray.from_arrays(indices, pa.array(among, pa.string())).cast(NAME)


def _ages(window: Window, committed: Flags) -> tuple[Ints, Flags]:
    """Give the ages of the oldest unread records (ms, -1 not known).

    Where nothing was ever committed it is not known which record a group would begin with, but what was written since
    it formed is the least that it has not read.
    """
    age = window.time_lag.age
    known = window.known & (committed | (age > 0))
    return np.where(known, age, -1), window.time_lag.exact & committed


def _trend(codes: Codes) -> pa.DictionaryArray:
    shift = -min(_TRENDS)
    told = np.isin(codes, list(_TRENDS))
    return words(np.where(told, codes + shift, 0), [_TRENDS[code] for code in sorted(_TRENDS)], ~told)


def _seconds(milliseconds: Ints) -> pa.Array:
    return pa.array(milliseconds / 1000, mask=milliseconds < 0)


def _real(values: Reals) -> pa.Array:
    return pa.array(np.round(values, _DIGITS), mask=np.isnan(values))
