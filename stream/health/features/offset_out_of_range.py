"""Why a committed offset does not fit the log of its partition: the log was truncated, or the topic was recreated.

A commit above the end offset is proof of one of these, because ends are read after commits. Which one follows from the
topic id (stored with commits from Kafka 4.1 on) and from the leader epoch of the last consumed record. The topic id
also shows it when the new log has already grown past the old commit, where offsets alone look valid. Where neither is
stored, it follows from a fall of the end offset that was observed (`PartitionHistory.is_truncated`).
"""

import dataclasses
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream.health.columns import NOT_KNOWN, Codes, Ints, replaced
from stream.health.features.lag import BEYOND_END, Lag, OffsetDistances, PartitionEnds

RECREATED: Final = "recreated"
"""The commit belongs to an earlier topic of the same name."""
TRUNCATED: Final = "truncated"
"""The log was truncated below what the group had read: an unclean leader election, or a lost disk."""
STALE_END: Final = "stale_end"
"""Same topic, no newer leader, and yet the end is lower: the end is stale, or the commit was never valid."""
NAMES: Final = ("", BEYOND_END, RECREATED, TRUNCATED, STALE_END)
"""By code; 0: the offset is in range."""
_SOUND, _BEYOND, _RECREATED, _TRUNCATED, _STALE = range(5)


@dataclasses.dataclass(frozen=True, slots=True)
class CommitOrigins:
    """The log that each commit belongs to. None: not known of any commit."""

    leader_epoch: NDArray[np.int32] | None = None
    """Epoch of the last record consumed before the commit; -1 where not known."""
    topic_id: NDArray[np.uint64] | None = None
    """Two numbers per commit (see `topic_ids`), zeros where not known."""
    current_topic_id: NDArray[np.uint64] | None = None
    """The current ids of topics."""
    topic: Ints | None = None
    """The row of `current_topic_id` with the topic of each commit; None: the row of the commit."""

    def of_commits(self, of_topic: NDArray[Any]) -> NDArray[Any]:
        """Return this column of topics for each commit."""
        return of_topic if self.topic is None else of_topic[self.topic]


def topic_ids(ids: pa.FixedSizeBinaryArray) -> NDArray[np.uint64]:
    """Return each id of 16 bytes as two numbers; null and the all-zero id of old records become zeros."""
    filled = ids.fill_null(bytes(16)) if ids.null_count else ids
    buffer = filled.buffers()[1]
    if buffer is None:
        return np.empty((0, 2), np.uint64)
    every: NDArray[np.uint64] = np.frombuffer(buffer, np.uint64).reshape(-1, 2)
    return every[filled.offset : filled.offset + len(filled)]


def classify(committed: Ints, lag: Lag, ends: PartitionEnds, origins: CommitOrigins) -> Codes:
    """Return a code of `NAMES` for each commit, 0 where its offset is in range.

    A commit to an earlier topic has no lag, whatever its offset is.
    """
    code = np.full(len(committed), _SOUND, np.int8)
    is_known, is_other = _of_known_and_other_topic(origins, len(committed))
    at = np.flatnonzero(lag.beyond_end)
    if len(at):
        same = is_known[at] & ~is_other[at]
        commit_epoch, leader_epoch = _epochs(origins, lag, ends, at)
        both = (commit_epoch >= 0) & (leader_epoch >= 0)
        of_row = np.where(same, _STALE, np.where(both & (commit_epoch > leader_epoch), _RECREATED, _BEYOND))
        code[at] = np.where(both & (leader_epoch > commit_epoch), _TRUNCATED, of_row)
    code[is_other] = _RECREATED
    return code


def mark_truncated(code: Codes, cut: NDArray[np.bool_], origins: CommitOrigins) -> Codes:
    """Return the codes with `TRUNCATED` for the `cut` rows (their end was observed to fall) that have no better code.

    Without a topic id the topic may as well have been recreated.
    """
    if not cut.any():
        return code
    ids = origins.current_topic_id
    has_id = np.zeros(len(code), np.bool_) if ids is None else origins.of_commits((ids != 0).any(axis=1))
    return np.where(cut & ((code == _STALE) | ((code == _BEYOND) & has_id)), np.int8(_TRUNCATED), code)


def is_unknown(code: Codes) -> NDArray[np.bool_]:
    """Return the commits whose lag is not known although they are not above the end."""
    other: NDArray[np.bool_] = code == _RECREATED
    return other


def clear_distances_of_earlier_topics(ends: OffsetDistances, code: Codes) -> OffsetDistances:
    """Return the distances without those from an offset of an earlier topic of the same name."""
    is_other = is_unknown(code)
    lost, margin = (replaced(column, is_other, NOT_KNOWN) for column in (ends.lost, ends.margin))
    return dataclasses.replace(ends, lost=lost, margin=margin)


def _of_known_and_other_topic(origins: CommitOrigins, rows: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return of which commits the topic is known to be the current one or not, and of which it is not."""
    if origins.topic_id is None or origins.current_topic_id is None:
        no = np.zeros(rows, np.bool_)
        return no, no
    # By halves: numpy is slow along short rows.
    (first, second), (current_first, current_second) = origins.topic_id.T, origins.current_topic_id.T
    is_known = ((first | second) != 0) & origins.of_commits((current_first | current_second) != 0)
    differs = (first != origins.of_commits(current_first)) | (second != origins.of_commits(current_second))
    return is_known, is_known & differs


def _epochs(origins: CommitOrigins, lag: Lag, ends: PartitionEnds, at: Ints) -> tuple[NDArray[Any], NDArray[Any]]:
    unknown = np.full(len(at), -1, np.int32)
    commit = unknown if origins.leader_epoch is None else origins.leader_epoch[at]
    if ends.leader_epoch is None or not len(ends.place):
        return commit, unknown
    return commit, np.where(lag.row[at] >= 0, ends.leader_epoch[lag.row[at]], -1)
