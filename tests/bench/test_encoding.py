"""The encoding of the benchmark's records, checked with the independent decoders."""

from __future__ import annotations

import numpy as np
import pytest

from bench.encoding import LAYOUTS, commit_keys, group_keys, group_value, layout_of, member_count, values
from bench.traffic import Kind, Traffic, chunks
from decoders import scalar
from decoders.errors import DecodeError
from decoders.events import ClassicGroupRecorded
from decoders.interpret import events
from stream.groups.membership import classic
from stream.groups.membership.partition_bits import mask_of_first

SIZE = Traffic(20_000, groups=50)


def test_records_decode_to_the_columns_they_were_built_from() -> None:
    """Each record of a small traffic decodes, in every layout, to the key and the numbers of its columns."""
    (chunk,) = chunks(SIZE)
    offsets, groups = commit_keys(SIZE), group_keys(SIZE)
    for row, value in enumerate(values(SIZE, chunk)):
        kind, number = chunk.kind[row], int(chunk.key[row])
        of_group = kind in {Kind.MEMBERSHIP, Kind.GROUP_TOMBSTONE}
        read = scalar.decode(groups[number] if of_group else offsets[number], value)
        assert not isinstance(read, DecodeError)
        group, partition = (number, None) if of_group else divmod(number, SIZE.partitions_per_group)
        assert read.key["group"] == SIZE.group(group)
        if not of_group:
            assert (read.key["topic"], read.key["partition"]) == (SIZE.topic(group), partition)
        if kind == Kind.COMMIT:
            assert read.value is not None
            assert (read.value["offset"], read.value["commit_timestamp"]) == (chunk.offset[row], chunk.time[row])
        elif kind == Kind.MEMBERSHIP:
            assert read.value is not None
            assert read.value["generation"] == chunk.offset[row]
        else:
            assert read.value is None


def test_shares_of_value_versions_match_the_layouts() -> None:
    """The shares of value versions are those of `LAYOUTS`."""
    assert sum(each.share for each in LAYOUTS) == 1
    counted = np.bincount(layout_of(np.arange(100_000)), minlength=len(LAYOUTS)) / 100_000
    np.testing.assert_allclose(counted, [each.share for each in LAYOUTS], atol=0.01)


def test_group_metadata_has_a_realistic_size() -> None:
    """The metadata of two members of a usual client takes about 500 bytes. A third member adds half of that."""
    assert 450 <= len(group_value(SIZE, 42, 7, 0)) <= 650
    assert 650 <= len(group_value(SIZE, 43, 7, 0)) <= 900


@pytest.mark.parametrize("number", [42, 43], ids=["two members", "three members"])
def test_every_partition_is_assigned_to_exactly_one_member(number: int) -> None:
    """Every partition of the group's topic is assigned to exactly one member, and all subscribe to it."""
    read = scalar.decode(group_keys(SIZE)[number], group_value(SIZE, number, 7, 0))
    assert not isinstance(read, DecodeError)
    (event,) = events(read)
    assert isinstance(event, ClassicGroupRecorded)
    membership = classic.membership(event)
    assert (membership.members, membership.idle, membership.subscribed) == (
        member_count(number),
        0,
        {SIZE.topic(number)},
    )
    assert membership.owned == ((SIZE.topic(number), mask_of_first(SIZE.partitions_per_group)),)
