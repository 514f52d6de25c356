"""The progress of share groups at one poll of the cluster: the input of their verdicts."""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple


class SharePartitionProgress(NamedTuple):
    """The progress of a share group in one partition. Counts are totals since the reader of the topic began."""

    topic: str
    partition: int
    start_offset: int | None
    """All records before it are finished; None until the first delivery has ended."""
    lag: int | None
    """Records that are not finished; None: not known."""
    finished: int | None
    """Finished records after the start offset; None: written by a broker before 4.2."""
    returned: int | None
    """Records that were delivered, came back without an acknowledgement, and wait for another delivery."""
    most_deliveries: int | None
    """The highest number of deliveries of a returned record; None if there is none."""
    acknowledged: int
    archived: int
    """Records that were rejected, or delivered as often as allowed."""
    returns: int
    """Deliveries of records that came back."""
    end: int | None = None
    """The high watermark; None: not known. No rule needs it, so it is not stored."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShareProgress:
    """The progress of all share groups at one poll. Replaced by the next poll, never changed."""

    taken_at: int
    """When it was read (ms)."""
    groups: Mapping[str, tuple[SharePartitionProgress, ...]]
    unknown_reason: str | None = None
    """Why nothing is known, as an error of the cluster has it; None: `groups` has what there is."""
    incomplete: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict)
    """The known topics of each group that is not in `groups`, because some of its partitions are not known."""
