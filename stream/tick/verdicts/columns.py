"""Converts evaluation results to columns of the read model: null for unknown values, seconds or timestamps for times.

`stream.health` uses -1 and NaN for unknown values, milliseconds, and codes instead of words.
"""

import collections
import mmap
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from exporters.readmodel import FINDINGS, NAME, TIMESTAMP, UNREADABLE_TAILS, VERDICT_GROUPS, columns_table, rows_table
from exporters.wording import SEVERITIES
from stream.health.columns import Codes, Flags, Ints, Reals
from stream.health.features import lag_trend as trends
from stream.health.features import time_lag as timelag
from stream.health.features.control_records import LogTails
from stream.health.features.window import Window
from stream.health.packed_columns import LEAST_BYTES
from stream.health.verdict import Severity
from stream.tick.verdicts.evaluated_tick import EvaluatedTick

_TRENDS: Final = {trends.FALLS: "shrinking", trends.LEVEL: "steady", trends.RISES: "growing"}
_DIGITS: Final = 3
"""Decimal digits of seconds and rates; their sources have no more."""


def partition_columns(evaluated: EvaluatedTick | None) -> dict[str, pa.Array]:
    """Return the columns of PARTITIONS that an evaluation fills, by name; none without an evaluation."""
    if evaluated is None:
        return {}
    evaluation, rows = evaluated.evaluation, evaluated.inputs.rows
    window = evaluation.window
    ends, committed = window.ends, rows.committed
    age, exact = _time_lag(window, committed)
    return {
        "lost": nullable(ends.lost, ends.lost < 0),
        "margin": nullable(ends.margin, ends.margin < 0),
        "time_lag": _seconds(age),
        "time_lag_exact": pa.array(exact, mask=age < 0),
        "produce_rate": _rate(window.rates.produce),
        "consume_rate": _rate(window.rates.consume_now),
        "catch_up_seconds": _seconds(np.where(window.known & committed, window.rates.catch_up_now, -1)),
        "trend": _trend(window.trend),
        "verdict": words(evaluation.verdict, evaluation.verdict_names),
        "verdict_since": pa.array(evaluation.since).cast(TIMESTAMP),
        "offset_hidden": pa.array(rows.align(evaluated.derived.hidden.is_hidden, False)),
    }


def group_columns(evaluated: EvaluatedTick | None) -> dict[str, pa.Array]:
    """Return the columns of GROUPS that an evaluation fills, by name; none without an evaluation."""
    if evaluated is None:
        return {}
    evaluation, alive, rows = evaluated.evaluation, evaluated.alive, evaluated.inputs.rows
    severity = evaluation.severities[evaluation.group_verdict]
    behind_transactions = evaluated.derived.hidden.read_groups | evaluated.derived.hidden.unread_groups
    return {
        "verdict": words(evaluation.group_verdict, evaluation.verdict_names, ~alive),
        "severity": words(severity, SEVERITIES, ~alive),
        "verdict_since": nullable(evaluation.group_since, (evaluation.group_since < 0) | ~alive, TIMESTAMP),
        "verdict_partitions": nullable(evaluation.group_rows.astype(np.int32), ~alive),
        **greatest_time_lag(evaluated, rows.group, len(rows.groups)),
        "held_back": pa.array(list(map(behind_transactions.__contains__, rows.groups)), pa.bool_(), mask=~alive),
        "not_alerted": pa.array(list(map(evaluated.unpaged.__contains__, rows.groups)), pa.bool_(), mask=~alive),
        "records_skipped": nullable(evaluation.group_skipped, ~alive),
    }


def greatest_time_lag(evaluated: EvaluatedTick, owner: Ints, owners: int) -> dict[str, pa.Array]:
    """Return the columns of the greatest known time lag (seconds) per owner; `owner` is that of each row."""
    age, exact = _time_lag(evaluated.evaluation.window, evaluated.inputs.rows.committed)
    greatest, is_exact = timelag.oldest_by_owner(timelag.TimeLag(age, exact | (age < 0), age), owner, owners)
    return {"time_lag_max": _seconds(greatest), "time_lag_max_exact": pa.array(is_exact, mask=greatest < 0)}


def groups_by_verdict(evaluated: EvaluatedTick | None) -> pa.Table:
    """Return the number of groups per verdict, dead ones excluded, and its legend (schema VERDICT_GROUPS)."""
    if evaluated is None:
        return VERDICT_GROUPS.empty_table()
    evaluation = evaluated.evaluation
    codes = np.arange(len(evaluation.verdict_names))
    counts = np.bincount(evaluation.group_verdict[evaluated.alive], minlength=len(codes))
    columns = [
        words(codes, evaluation.verdict_names),
        words(evaluation.severities, SEVERITIES),
        pa.array(counts.astype(np.int64)),
        *(pa.array(texts, pa.string()) for texts in zip(*evaluation.legend, strict=True)),
    ]
    return pa.table(columns, schema=VERDICT_GROUPS)


def findings_table(evaluated: EvaluatedTick | None) -> pa.Table:
    """Return a partition with the verdict of its group for each unhealthy group (schema FINDINGS).

    It is the one with that verdict for longest, then the first: its labels stay while lags grow and others recover.
    """
    if evaluated is None:
        return FINDINGS.empty_table()
    evaluation, rows = evaluated.evaluation, evaluated.inputs.rows
    window, of_group = evaluation.window, evaluation.group_verdict
    is_unhealthy = evaluated.alive & (evaluation.severities[of_group] >= Severity.WARNING)
    found = np.flatnonzero(is_unhealthy[rows.group] & (evaluation.verdict == of_group[rows.group]))
    found = found[evaluation.since[found] == evaluation.group_since[rows.group[found]]]
    found = found[np.diff(rows.group[found], prepend=-1) > 0]
    clients, owner = window.inputs.clients, window.inputs.owner
    owners = [-1] * len(found) if owner is None or window.limits.hide_members else owner[found].tolist()
    columns = {
        "group": words(rows.group[found], rows.groups),
        "verdict": words(evaluation.verdict[found], evaluation.verdict_names),
        "topic": words(rows.topic[found], rows.topics),
        "partition": pa.array(rows.partition[found], pa.int32()),
        "client_id": pa.array([clients[each].client_id if each >= 0 else None for each in owners]).cast(NAME),
        "committed_offset": nullable(window.committed_offset[found], ~rows.committed[found]),
    }
    table, groups, share = columns_table(columns, FINDINGS), rows.group[found], list[tuple[Any, ...]]()
    for group, places in () if evaluation.share is None else evaluation.share.verdicts():
        verdict = evaluation.verdict_names[of_group[group]]
        named = {place: since for place, (word, since) in places.items() if word == verdict}
        if named and is_unhealthy[group]:
            place = min(named, key=lambda place: (named[place], place))
            share.append((rows.groups[group], verdict, *place, None, None))
            groups = np.append(groups, group)
    if share:  # they have no rows, and are few
        table = pa.concat_tables([table, rows_table(share, FINDINGS)]).unify_dictionaries().take(np.argsort(groups))
    return table


def unreadable_tails(tails: LogTails | None) -> pa.Table:
    """Return the number of partitions whose tails cannot be read, by reason (schema UNREADABLE_TAILS)."""
    counts = collections.Counter(() if tails is None else tails.reasons.tolist())
    return rows_table(sorted(counts.items()), UNREADABLE_TAILS)


def words(codes: NDArray[Any], by_code: Sequence[str] | pa.Array, mask: Flags | None = None) -> pa.DictionaryArray:
    """Return the word of each code; null where `mask` is set."""
    names = by_code if isinstance(by_code, pa.Array) else pa.array(by_code, pa.string())
    numbers = codes.astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(numbers) if mask is None else nullable(numbers, mask), names)


def nullable(numbers: NDArray[Any], mask: Flags, kind: pa.DataType | None = None) -> pa.Array:
    """Return numbers as a column, null where `mask`, ten times as fast as `pa.array`; `kind` has the same width.

    It shares the memory of the numbers, and takes none for those of a column that is null everywhere.
    """
    null_bits = pa.py_buffer(np.packbits(~mask, bitorder="little"))
    if numbers.nbytes >= LEAST_BYTES and mask.all():  # pages that are never written
        values = pa.py_buffer(mmap.mmap(-1, numbers.nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    else:
        values = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(kind or pa.from_numpy_dtype(numbers.dtype), len(numbers), [null_bits, values])


def _time_lag(window: Window, committed: Flags) -> tuple[Ints, Flags]:
    """Return the age of the oldest unread record per row (ms, -1 unknown), and whether it is exact.

    Without any commit the first record that the group would read is unknown, but it has not read what was written since
    it formed: that is a lower bound.
    """
    age = window.time_lag.age
    known = window.known & (committed | (age > 0))
    return np.where(known, age, -1), window.time_lag.exact & committed


def _trend(codes: Codes) -> pa.DictionaryArray:
    shift = -min(_TRENDS)
    known = np.isin(codes, list(_TRENDS))
    return words(np.where(known, codes + shift, 0), [_TRENDS[code] for code in sorted(_TRENDS)], ~known)


def _seconds(milliseconds: Ints) -> pa.Array:
    return nullable(milliseconds / 1000, milliseconds < 0)


def _rate(values: Reals) -> pa.Array:
    return nullable(np.round(values, _DIGITS), np.isnan(values))
