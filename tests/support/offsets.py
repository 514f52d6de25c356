"""Builds the driver's columns from rows of committed offsets, without a log."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from stream.groups.commits import runs as run_columns
from stream.groups.commits.run_table import no_runs
from stream.groups.driver_state import DriverState, GroupColumns
from stream.groups.membership.memberships import Membership
from tests.support.raw import commit_key


@dataclasses.dataclass(frozen=True, slots=True)
class Offset:
    """One committed offset: group, partition, commit time (ms), and the expiry time stored in it (-1: none)."""

    group: str
    topic: str
    partition: int
    commit: int
    stored: int = -1

    @property
    def key(self) -> bytes:
        return commit_key(self.group, self.topic, self.partition)


def columns(offsets: Sequence[Offset], memberships: Mapping[str, Membership]) -> GroupColumns:
    """Return columns with these offsets as rows, and these groups."""
    numbers = np.arange(len(offsets), dtype=np.int64)
    times = np.array([each.commit for each in offsets], np.int64)
    runs = dataclasses.replace(
        no_runs(),
        keys=pa.array([each.key for each in offsets], pa.binary()),
        spans=run_columns.single_record_spans(numbers, numbers, times, np.zeros(len(offsets), np.bool_)),
        expire_time=np.array([each.stored for each in offsets], np.int64),
    )
    return dataclasses.replace(
        DriverState().columns(),
        runs=runs,
        group=pa.array([each.group for each in offsets], pa.string()).dictionary_encode(),
        topic=pa.array([each.topic for each in offsets], pa.string()).dictionary_encode(),
        partition=np.array([each.partition for each in offsets], np.int32),
        memberships=memberships,
    )
