"""Prediction of the time at which the broker removes offsets and groups: the broker's rules, applied to columns.

A prediction is a function of the log (commit times, the time at which a group became empty, subscriptions) and of the
brokers' retention, without a clock. It does not include what the log does not have: the phases of a classic group's
rebalance, and commits in open transactions other than `GroupColumns.pending`. `expiry.check` compares predictions with
tombstones, `expiry.causes` explains removals.

Source: `OffsetMetadataManager#cleanupExpiredOffsets`; the rules for one group are in `expiry.broker_rules`.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stream.groups.commits.run_table import find_rows, group_of_commit_key
from stream.groups.driver_state import GroupColumns
from stream.groups.expiry import broker_rules
from stream.groups.expiry.broker_rules import NEVER, UNKNOWN, ExpiryRules, OffsetsRetention, RetentionStart
from stream.groups.membership.memberships import CLASSIC, Membership
from stream.groups.row_order import RemovedOffset
from stream.groups.short_cache import keep_each, keep_last

_SINCE_EMPTY: Final = -3
"""In place of a time: when the group became empty, which is in its history but not in its records."""

_MAX_TIME: Final = np.iinfo(np.int64).max

Times = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclasses.dataclass(frozen=True, slots=True)
class ExpiryPrediction:
    """Predicted times in ms, `NEVER` or `UNKNOWN`. The broker removes what has expired at its next check.

    `offset` has one element per row of the runs. `soonest` (the first offset of the group to expire) and `group` (the
    group itself, after all its offsets) have one element per name in `names`: the dictionary of the group column, in
    its order, then groups without offsets.
    """

    offset: Times
    names: tuple[str, ...]
    soonest: Times
    group: Times

    def for_groups(self, names: Sequence[str]) -> tuple[Times, Times]:
        """Return `soonest` and `group` for these groups, in this order; `NEVER` for unknown groups."""
        rows = _positions(self.names, names)
        return np.append(self.soonest, NEVER)[rows], np.append(self.group, NEVER)[rows]


@keep_last
def _positions(known: tuple[str, ...], names: Sequence[str]) -> Times:
    """Return the position of each name among the known ones, their number for another one."""
    position = {name: at for at, name in enumerate(known)}
    return np.array([position.get(name, len(position)) for name in names], np.int64)


def predict(columns: GroupColumns, retention: OffsetsRetention) -> ExpiryPrediction:
    """Return for every offset and every group when the broker considers it expired.

    An offset with an expire timestamp of its own (value version 1) follows that, if the retention counts for its group.
    An empty group expires with its last offset; an empty group without offsets is due since it became empty.
    """
    groups = _group_rules(columns.group, columns.topic, _expiry_of(columns.memberships, retention.rules))
    offset = _predict_offsets(groups, columns.runs.spans.last_time, columns.runs.expire_time, retention)
    pending = columns.pending if retention.rules is ExpiryRules.NONE_PENDING else frozenset()
    if pending:
        offset[find_rows(pa.array(sorted(pending), pa.binary()), columns.runs.keys) >= 0] = NEVER
    soonest, group = _predict_groups(offset, groups)
    if pending:  # the broker keeps these groups, also without offsets
        kept = {group_of_commit_key(key) for key in pending}
        group[[name in kept for name in groups.names]] = NEVER
    for number in np.flatnonzero(group == _SINCE_EMPTY).tolist():
        history = columns.histories.get(groups.names[number])
        group[number] = UNKNOWN if history is None or history.since is None else history.since
    return ExpiryPrediction(offset, groups.names, soonest, group)


def predict_removed(
    removed: Sequence[RemovedOffset], memberships: Mapping[str, Membership], retention: OffsetsRetention
) -> Times:
    """Return the predictions for removed offsets; `UNKNOWN` if the time of the commit is negative.

    `memberships` are those from before the tombstones.
    """
    names = ([getattr(each, name) for each in removed] for name in ("group", "topic"))
    group, topic = (pa.array(each, pa.string()).dictionary_encode() for each in names)
    concerned = {each.group for each in removed if each.group in memberships}
    rules = {name: _group_expiry(memberships[name], retention.rules) for name in concerned}
    time = np.array([each.last_time for each in removed], np.int64)
    stored = np.array([-1 if each.expire_time is None else each.expire_time for each in removed], np.int64)
    offset = _predict_offsets(_GroupRules(group, topic, rules), time, stored, retention)
    offset[(time < 0) & (offset >= 0)] = UNKNOWN
    return offset


def _predict_offsets(groups: _GroupRules, time: Times, stored: Times, retention: OffsetsRetention) -> Times:
    """Return the predictions for offsets by their last commits: time (ms), stored expire timestamp (-1: none)."""
    codes = groups.codes
    start = groups.retention_start[codes]
    # Before 2.1 an offset expired one millisecond after its expire timestamp.
    extra = int(retention.rules is ExpiryRules.PER_OFFSET)
    offset = np.full(len(codes), UNKNOWN, np.int64)
    if retention.retention_ms is not None:
        start_time = np.where(start == RetentionStart.STATE, groups.since[codes], time)
        offset = np.maximum(_add(start_time, retention.retention_ms + extra), 0)
    offset = np.where(stored >= 0, _add(stored, extra), offset)
    offset[start == RetentionStart.UNKNOWN] = UNKNOWN
    offset[(start == RetentionStart.STOPPED) | groups.exempt] = NEVER
    return offset


def _add(time: Times, duration: int) -> Times:
    """Return times plus a duration; a sum beyond 64 bits becomes the greatest number, as in the broker."""
    duration = min(duration, _MAX_TIME)
    return np.minimum(time, _MAX_TIME - duration) + duration


class _GroupExpiry(NamedTuple):
    """What decides when the offsets of one group expire."""

    start: RetentionStart = RetentionStart.COMMIT
    since: int = _SINCE_EMPTY
    is_removable: bool = True
    """The broker removes the group when it has no offsets."""
    exempt_topics: Collection[str] = ()


_OFFSETS_ONLY: Final = _GroupExpiry()


def _group_expiry(group: Membership, rules: ExpiryRules) -> _GroupExpiry:
    start, topics = broker_rules.retention_start(group, rules), None
    if start is RetentionStart.COMMIT:
        topics = broker_rules.exempt_topics(group, rules)
        if topics is None:
            is_known = group.kind == CLASSIC and not group.unresolved
            start = RetentionStart.STOPPED if is_known else RetentionStart.UNKNOWN
    return _GroupExpiry(
        start,
        group.state_time if group.state_time is not None and group.state_time >= 0 else _SINCE_EMPTY,
        group.state == broker_rules.EMPTY and group.kind != "share",
        topics or (),
    )


_expiry_of = keep_each(_group_expiry)


class _GroupRules:
    """The rules that apply to each group, by its number: its index in the dictionary, or a number above.

    `group` and `topic` are those of each offset.
    """

    def __init__(self, group: pa.DictionaryArray, topic: pa.DictionaryArray, found: Mapping[str, _GroupExpiry]) -> None:
        self._group, self._topic = group, topic
        with_offsets = [*map(sys.intern, group.dictionary.to_pylist())]
        known = set(with_offsets)
        self.names = (*with_offsets, *(name for name in found if name not in known))
        each = [found.get(name, _OFFSETS_ONLY) for name in self.names]
        self.retention_start = np.array([one.start for one in each], np.int8)
        self.since = np.array([one.since for one in each], np.int64)
        self.is_removable = np.array([one.is_removable for one in each], np.bool_)
        self._topics: dict[str, int] = {name: code for code, name in enumerate(topic.dictionary.to_pylist())}
        self._exempt = [
            (number, self._topics[name])
            for number, one in enumerate(each)
            for name in one.exempt_topics
            if name in self._topics
        ]

    @property
    def codes(self) -> Times:
        """The number of each offset's group."""
        codes: Times = self._group.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return codes

    @functools.cached_property
    def exempt(self) -> NDArray[np.bool_]:
        """A mask of the rows whose topic is exempt because their group subscribes to it."""
        if not self._exempt:
            return np.zeros(len(self._group), np.bool_)
        width = len(self._topics)
        pairs = np.array(self._exempt, np.int64) @ np.array([width, 1])
        rows = self.codes * width + self._topic.indices.to_numpy(zero_copy_only=False)
        exempt: NDArray[np.bool_] = pc.is_in(pa.array(rows), value_set=pa.array(pairs)).to_numpy(zero_copy_only=False)
        return exempt


_group_rules = keep_last(_GroupRules)


def _predict_groups(offset: Times, groups: _GroupRules) -> tuple[Times, Times]:
    """Return for each group when its first offset expires, and when the group itself does."""
    count, codes = len(groups.names), groups.codes
    rows = np.bincount(codes, minlength=count)
    unknown = np.bincount(codes[offset == UNKNOWN], minlength=count) > 0
    kept = np.bincount(codes[offset == NEVER], minlength=count)
    timed = offset >= 0
    soonest = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(soonest, codes[timed], offset[timed])
    last = np.full(count, NEVER, np.int64)
    np.maximum.at(last, codes[timed], offset[timed])
    soonest[rows == kept] = NEVER
    soonest[unknown] = UNKNOWN
    group = np.where(rows > 0, last, groups.since)
    group[unknown] = UNKNOWN
    group[(kept > 0) | ~groups.is_removable] = NEVER
    return soonest, group
