"""When the broker will forget offsets and groups: its own rules, over whole columns.

Owns predictions, and nothing about what really happened: `forecast` holds them against tombstones, `causes` looks back.
A prediction is a function of what stands in the log (commit times, the time a group became empty, subscriptions) and of
the brokers' retention; no clock is asked. What is not known of is not in it: the phases of a classic group's rebalance,
and commits in open transactions other than those that the fleet names.

Source: `OffsetMetadataManager#cleanupExpiredOffsets`; the rules for one group are in `expiry.broker_rules`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.groups.commits.keys import group_of_commit_key
from stream.groups.commits.run_table import find_rows
from stream.groups.expiry.broker_rules import (
    EMPTY,
    NEVER,
    UNKNOWN,
    ExpiryRules,
    OffsetsRetention,
    RetentionStart,
    exempt_topics,
    retention_start,
)
from stream.groups.membership.memberships import CLASSIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from stream.groups.driver_state import GroupColumns
    from stream.groups.membership.memberships import Membership

__all__ = [
    "NEVER",
    "UNKNOWN",
    "CommitTimesByOffset",
    "ExpiryPrediction",
    "ExpiryRules",
    "OffsetsRetention",
    "Times",
    "predict",
    "predict_commits",
]

_SINCE_EMPTY: Final = -3
"""In the place of a time: since the group is empty, which its records do not tell; its life may."""

_ENDLESS: Final = np.iinfo(np.int64).max

Times = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclasses.dataclass(frozen=True, slots=True)
class CommitTimesByOffset:
    """The last commits of some offsets: of which group and topic, when (ms), and the expiry stored in it (-1: none)."""

    group: pa.DictionaryArray
    topic: pa.DictionaryArray
    time: Times
    stored: Times

    @property
    def codes(self) -> Times:
        """The number of each row's group."""
        codes: Times = self.group.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return codes


@dataclasses.dataclass(frozen=True, slots=True)
class ExpiryPrediction:
    """Predicted times in ms, `NEVER` or `UNKNOWN`. What has expired goes when the broker looks the next time.

    `offset` has one element per row of the fleet's runs; `soonest` (the first of its offsets) and `group` (the group
    itself, once all its offsets are) one per name in `names`. The dictionary of the fleet's groups comes first in it,
    in its order; then groups without offsets.
    """

    offset: Times
    names: tuple[str, ...]
    soonest: Times
    group: Times

    def of_groups(self, names: Sequence[str]) -> tuple[Times, Times]:
        """Give `soonest` and `group` for these groups in this order; `NEVER` for one that is not known."""
        place = {name: number for number, name in enumerate(self.names)}
        rows = np.array([place.get(name, len(place)) for name in names], np.int64)
        return np.append(self.soonest, NEVER)[rows], np.append(self.group, NEVER)[rows]


def predict(fleet: GroupColumns, retention: OffsetsRetention) -> ExpiryPrediction:
    """Predict for every offset and every group when the broker will consider it expired.

    An offset that carries its own expiry (value version 1) follows that, in groups whose clock runs. A group goes with
    the last of its offsets if it is empty; empty and without offsets, it has been due since it is so.
    """
    commits = CommitTimesByOffset(fleet.group, fleet.topic, fleet.runs.spans.last_time, fleet.runs.expire_time)
    groups = _Groups(commits, fleet.memberships, retention.rules)
    offset = _of_offsets(commits, groups, retention)
    pending = fleet.pending if retention.rules is ExpiryRules.NONE_PENDING else frozenset()
    if pending:
        offset[find_rows(pa.array(sorted(pending), pa.binary()), fleet.runs.keys) >= 0] = NEVER
        groups.keep(group_of_commit_key(key) for key in pending)
    soonest, group = _of_groups(offset, commits.codes, groups)
    for number in np.flatnonzero(group == _SINCE_EMPTY).tolist():
        life = fleet.histories.get(groups.names[number])
        group[number] = UNKNOWN if life is None or life.since is None else life.since
    return ExpiryPrediction(offset, groups.names, soonest, group)


def predict_commits(
    commits: CommitTimesByOffset, memberships: Mapping[str, Membership], retention: OffsetsRetention
) -> Times:
    """Predict for some offsets only, as `predict` does for all; `UNKNOWN` where the time of the commit is negative."""
    own = set(commits.group.dictionary.to_pylist())
    groups = _Groups(commits, {name: memberships[name] for name in own if name in memberships}, retention.rules)
    offset = _of_offsets(commits, groups, retention)
    offset[(commits.time < 0) & (offset >= 0)] = UNKNOWN
    return offset


def _of_offsets(commits: CommitTimesByOffset, groups: _Groups, retention: OffsetsRetention) -> Times:
    codes = commits.codes
    clock = groups.clock[codes]
    # Before 2.1 an offset lived through the millisecond of its expiry.
    grace = int(retention.rules is ExpiryRules.PER_OFFSET)
    offset = np.full(len(codes), UNKNOWN, np.int64)
    if retention.retention_ms is not None:
        began = np.where(clock == RetentionStart.STATE, groups.since[codes], commits.time)
        offset = np.maximum(_later(began, retention.retention_ms + grace), 0)
    offset = np.where(commits.stored >= 0, _later(commits.stored, grace), offset)
    offset[clock == RetentionStart.UNKNOWN] = UNKNOWN
    offset[(clock == RetentionStart.STOPPED) | groups.exempt(codes, commits.topic)] = NEVER
    return offset


def _later(time: Times, by: int) -> Times:
    """Add a duration to times; a sum beyond 64 bits becomes the greatest number, as time stops there for the broker."""
    by = min(by, _ENDLESS)
    return np.minimum(time, _ENDLESS - by) + by


class _Groups:
    """What the prediction needs of each group, by the group's number: its code in the dictionary, or one beyond."""

    def __init__(self, commits: CommitTimesByOffset, memberships: Mapping[str, Membership], rules: ExpiryRules) -> None:
        own = commits.group.dictionary.to_pylist()
        known = set(own)
        self.names = (*own, *(name for name in memberships if name not in known))
        count = len(self.names)
        self.clock = np.full(count, RetentionStart.COMMIT, np.int8)
        self.since = np.full(count, _SINCE_EMPTY, np.int64)
        # Whether nothing but offsets keeps the group.
        self.may_go = np.ones(count, np.bool_)
        self._topics: dict[str, int] = {name: code for code, name in enumerate(commits.topic.dictionary.to_pylist())}
        self._exempt: tuple[list[int], list[int]] = [], []
        for number, name in enumerate(self.names):
            group = memberships.get(name)
            if group is not None:
                self._note(number, group, rules)

    def _note(self, number: int, group: Membership, rules: ExpiryRules) -> None:
        clock = retention_start(group, rules)
        if group.state_time is not None and group.state_time >= 0:
            self.since[number] = group.state_time
        self.may_go[number] = group.state == EMPTY and group.kind != "share"
        if clock is RetentionStart.COMMIT:
            topics = exempt_topics(group, rules)
            if topics is None:
                clock = RetentionStart.STOPPED if group.kind == CLASSIC else RetentionStart.UNKNOWN
            else:
                codes = [self._topics[topic] for topic in topics if topic in self._topics]
                self._exempt[0].extend([number] * len(codes))
                self._exempt[1].extend(codes)
        self.clock[number] = clock

    def keep(self, names: Iterable[str]) -> None:
        """Take it that these groups are kept by more than their offsets."""
        wanted = set(names)
        for number, name in enumerate(self.names):
            if name in wanted:
                self.may_go[number] = False

    def exempt(self, codes: Times, topic: pa.DictionaryArray) -> NDArray[np.bool_]:
        """Say which rows are of a topic that their group subscribes to."""
        if not self._exempt[0]:
            return np.zeros(len(codes), np.bool_)
        width = len(self._topics)
        pairs = np.array(self._exempt[0], np.int64) * width + np.array(self._exempt[1], np.int64)
        rows = codes * width + topic.indices.to_numpy(zero_copy_only=False)
        exempt: NDArray[np.bool_] = pc.is_in(pa.array(rows), value_set=pa.array(pairs)).to_numpy(zero_copy_only=False)
        return exempt


def _of_groups(offset: Times, codes: Times, groups: _Groups) -> tuple[Times, Times]:
    """Give for each group when the first of its offsets expires, and when it goes itself."""
    count = len(groups.names)
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
    group[(kept > 0) | ~groups.may_go] = NEVER
    return soonest, group
