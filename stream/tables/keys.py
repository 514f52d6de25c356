"""The names in the keys of a batch, and which of its records a query asks for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from decoders.columnar import decode_keys
from stream.groups.commits.run_table import DistinctKeys, RecordRole
from stream.groups.membership.summary import groups_of


@dataclasses.dataclass(frozen=True, slots=True)
class AskedNames:
    """The groups and the topics that a query asks for; None: all. A record without the name is not among them."""

    groups: frozenset[str] | None = None
    topics: frozenset[str] | None = None

    def mask(self, groups: pa.StringArray, topics: pa.StringArray) -> NDArray[np.bool_]:
        """Return which of these names are asked for."""
        mask = np.ones(len(groups), np.bool_)
        for names, asked in ((groups, self.groups), (topics, self.topics)):
            if asked is not None:
                # The null name of a record is in no set.
                among = pc.is_in(names, value_set=pa.array(sorted(asked), pa.string()), skip_nulls=True)
                mask &= among.to_numpy(zero_copy_only=False)
        return mask


@dataclasses.dataclass(frozen=True, slots=True)
class NamedKeys:
    """The distinct keys with the names in them, and for each record the index of its key."""

    distinct: DistinctKeys
    codes: NDArray[np.int32]
    group: pa.StringArray
    """Group, topic and partition of each distinct key; null if the key does not have it."""
    topic: pa.StringArray
    partition: pa.Int32Array

    @classmethod
    def build(cls, keys: pa.BinaryArray) -> NamedKeys:
        """Decode a column of keys."""
        distinct, codes = DistinctKeys.of_column(keys)
        read = decode_keys(distinct.canonical_keys)
        row = pa.array(distinct.canonical, mask=distinct.role != RecordRole.COMMIT)
        group = read.group.take(row)
        members = np.flatnonzero(distinct.role == RecordRole.MEMBERSHIP)
        if len(members):
            names = np.full(len(group), None, object)
            names[members] = groups_of(distinct.canonical_keys.take(pa.array(distinct.canonical[members])).to_pylist())
            group = pc.coalesce(group, pa.array(names, pa.string()))
        return cls(distinct, codes, group, read.topic.take(row), pa.array(read.partition).take(row))

    def rows(self, roles: tuple[RecordRole, ...], asked: AskedNames) -> NDArray[np.int64]:
        """Return the rows of the records with these roles that are asked for."""
        wanted = np.isin(self.distinct.role, roles) & asked.mask(self.group, self.topic)
        return np.flatnonzero(wanted[self.codes])
