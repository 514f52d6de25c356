"""The benchmark's bytes, read back by the decoders that know nothing of them."""

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


def test_every_record_says_what_its_columns_say() -> None:
    """Each record of a small traffic decodes, whatever its layout, to the key and the numbers it was made from."""
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


def test_layouts_have_their_shares() -> None:
    """The mix of value versions is the one the table of layouts names."""
    assert sum(each.share for each in LAYOUTS) == 1
    counted = np.bincount(layout_of(np.arange(100_000)), minlength=len(LAYOUTS)) / 100_000
    np.testing.assert_allclose(counted, [each.share for each in LAYOUTS], atol=0.01)


def test_memberships_are_as_large_as_real_ones() -> None:
    """About 500 bytes, like a group of two members of an ordinary client; a third member makes it half as much more."""
    assert 450 <= len(group_value(SIZE, 42, 7, 0)) <= 650
    assert 650 <= len(group_value(SIZE, 43, 7, 0)) <= 900


@pytest.mark.parametrize("number", [42, 43], ids=["two members", "three members"])
def test_members_share_what_the_group_reads(number: int) -> None:
    """Every partition of the group's topic is assigned to exactly one member, and all subscribe to it."""
    read = scalar.decode(group_keys(SIZE)[number], group_value(SIZE, number, 7, 0))
    assert not isinstance(read, DecodeError)
    (event,) = events(read)
    assert isinstance(event, ClassicGroupRecorded)
    told = classic.membership(event)
    assert (told.members, told.idle, told.subscribed) == (member_count(number), 0, {SIZE.topic(number)})
    assert told.owned == ((SIZE.topic(number), mask_of_first(SIZE.partitions_per_group)),)
