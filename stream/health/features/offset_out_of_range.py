"""What has become of a partition whose group committed something that its log cannot have: cut back, or made anew.

A commit above the end is proof that something happened, because ends are read after commits. *What* is told by the
topic id (stored with commits from Kafka 4.1 on) and by the leader epoch of the last consumed record. Both also show it
when the new log has already grown past the old commit, where offsets alone look sound. Where neither is stored, it is
told by who saw the end of the log go back.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stream.health.columns import NOT_KNOWN
from stream.health.features.lag import BEYOND_END

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from stream.health.columns import Codes, Ints
    from stream.health.features.lag import Lag, OffsetDistances, PartitionEnds

RECREATED: Final = "recreated"
"""The commit belongs to an earlier topic of the same name."""
TRUNCATED: Final = "truncated"
"""The log was cut back below what the group had read: an unclean leader election, or a lost disk."""
STALE_END: Final = "stale_end"
"""Same topic, no newer leader, and yet the end is lower: the end that was read is old, or the commit was invented."""
NAMES: Final = ("", BEYOND_END, RECREATED, TRUNCATED, STALE_END)
"""By code; 0: nothing is wrong."""
_SOUND, _BEYOND, _RECREATED, _TRUNCATED, _STALE = range(5)


@dataclasses.dataclass(frozen=True, slots=True)
class CommitOrigins:
    """Where each commit comes from. None: of no commit is that known."""

    leader_epoch: NDArray[np.int32] | None = None
    """Epoch of the last record that was consumed before the commit; -1 where not known."""
    epoch_end: Ints | None = None
    """The end of that epoch by OffsetForLeaderEpoch, -1 where not asked; worth asking only where the epochs differ."""
    topic_id: NDArray[np.uint64] | None = None
    """Two numbers per commit (see `topic_ids`), zeros where not known."""
    current_topic_id: NDArray[np.uint64] | None = None
    """The id that the topic of each commit has now."""


def topic_ids(ids: pa.FixedSizeBinaryArray) -> NDArray[np.uint64]:
    """Give each id of 16 bytes as two numbers; null and the all-zero id of old records become zeros."""
    filled = ids.fill_null(bytes(16)) if ids.null_count else ids
    buffer = filled.buffers()[1]
    if buffer is None:
        return np.empty((0, 2), np.uint64)
    every: NDArray[np.uint64] = np.frombuffer(buffer, np.uint64).reshape(-1, 2)
    return every[filled.offset : filled.offset + len(filled)]


def classify(committed: Ints, found: Lag, ends: PartitionEnds, origins: CommitOrigins) -> Codes:
    """Say for each commit what is wrong with it (a code of `NAMES`), 0 for nothing.

    A commit to an earlier topic has no lag, wherever its offset happens to lie. One on a log that was cut and has
    grown again has a lag: its code says what happened all the same.
    """
    same, other = _topics(origins, len(committed))
    commit_epoch, leader_epoch = _epochs(origins, found, ends)
    both = (commit_epoch >= 0) & (leader_epoch >= 0)
    cut = found.beyond_end & both & (leader_epoch > commit_epoch)
    if origins.epoch_end is not None:
        cut |= (origins.epoch_end >= 0) & (origins.epoch_end < committed)
    code = np.where(found.beyond_end, _BEYOND, _SOUND).astype(np.int8)
    code[found.beyond_end & same] = _STALE
    code[found.beyond_end & ~same & both & (commit_epoch > leader_epoch)] = _RECREATED
    code[cut] = _TRUNCATED
    code[other] = _RECREATED
    return code


def mark_truncated(code: Codes, cut: NDArray[np.bool_], origins: CommitOrigins) -> Codes:
    """Name what was seen to happen where the commit itself does not tell: the log of these rows ended higher before.

    Without an id the topic may as well have been made anew.
    """
    ids = origins.current_topic_id
    one = np.zeros(len(code), np.bool_) if ids is None else ids.any(axis=1)
    return np.where(cut & ((code == _STALE) | ((code == _BEYOND) & one)), np.int8(_TRUNCATED), code)


def is_unknown(code: Codes) -> NDArray[np.bool_]:
    """Tell of which commits the lag is therefore not known, apart from those above the end."""
    other: NDArray[np.bool_] = code == _RECREATED
    return other


def clear_foreign_distances(ends: OffsetDistances, code: Codes) -> OffsetDistances:
    """Leave out what is measured from an offset of another log: the earlier topic's, or the part that was cut off."""
    foreign = (code == _RECREATED) | (code == _TRUNCATED)
    lost, margin = (np.where(foreign, NOT_KNOWN, column) for column in (ends.lost, ends.margin))
    return dataclasses.replace(ends, lost=lost, margin=margin)


def _topics(origins: CommitOrigins, rows: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which commits surely belong to the topic of today, and which surely do not."""
    if origins.topic_id is None or origins.current_topic_id is None:
        no = np.zeros(rows, np.bool_)
        return no, no
    both = origins.topic_id.any(axis=1) & origins.current_topic_id.any(axis=1)
    equal = (origins.topic_id == origins.current_topic_id).all(axis=1)
    return both & equal, both & ~equal


def _epochs(origins: CommitOrigins, found: Lag, ends: PartitionEnds) -> tuple[NDArray[Any], NDArray[Any]]:
    unknown = np.full(len(found.row), -1, np.int32)
    commit = unknown if origins.leader_epoch is None else origins.leader_epoch
    if ends.leader_epoch is None or not len(ends.place):
        return commit, unknown
    return commit, np.where(found.row >= 0, ends.leader_epoch[found.row], -1)
