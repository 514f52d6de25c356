"""Several instances: their shares of the groups are disjoint and complete, for any number of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.placement import EVERY_GROUP, MOST, InstancePart, owner_of, partition_for

INSTANCES = st.integers(1, MOST)
PARTITIONS = st.integers(1, 2_000)


@given(st.integers(1, 60), st.integers(1, 200))
def test_each_partition_belongs_to_one_instance(instances: int, partitions: int) -> None:
    """The shares are disjoint and complete, and differ by at most one partition; none is empty without need."""
    shares = [InstancePart(index, instances).owned(range(partitions)) for index in range(instances)]
    assert sorted(partition for share in shares for partition in share) == list(range(partitions))
    sizes = [*map(len, shares)]
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) > 0 or partitions < instances


@given(INSTANCES, PARTITIONS, st.integers(0, 2_000))
def test_added_partitions_change_no_owner(instances: int, partitions: int, added: int) -> None:
    """A partition keeps its instance, so that no instance has to read records of another one."""
    for index in range(min(instances, 5)):
        share = InstancePart(index, instances)
        assert share.owned(range(partitions + added))[: len(share.owned(range(partitions)))] == share.owned(
            range(partitions)
        )


@given(st.text(max_size=20), PARTITIONS, INSTANCES)
def test_a_group_belongs_to_the_instance_of_its_partition(group: str, partitions: int, instances: int) -> None:
    """The owner of a group owns the partition that the group's coordinator writes."""
    assert owner_of(group, partitions, instances).owns(partition_for(group, partitions))


def test_entries_of_other_instances_are_left_out() -> None:
    """Entries of the own partitions keep their order and their values."""
    assert InstancePart(1, 3).of({4: "d", 0: "a", 1: "b", 2: "c"}) == {4: "d", 1: "b"}
    assert EVERY_GROUP.of({0: "a", 7: "b"}) == {0: "a", 7: "b"}


def test_an_instance_is_a_number_or_a_name_that_ends_in_one() -> None:
    """The name of a pod of a StatefulSet names its instance. The text of a share is parsed to the same share."""
    rows = {
        "0/1": EVERY_GROUP,
        "0/3": InstancePart(0, 3),
        "2/3": InstancePart(2, 3),
        "lagwarden-2/3": InstancePart(2, 3),
        "team-7-lagwarden-10/12": InstancePart(10, 12),
        "007/100": InstancePart(7, 100),
    }
    assert {text: InstancePart.parse(text) for text in rows} == rows
    assert [share for share in rows.values() if InstancePart.parse(str(share)) != share] == []


REFUSED = {
    "3/3": "counts instances from 0: the last of 3 is 2/3",
    "0/0": "1 to 1000 instances",
    "0/1001": "1 to 1000 instances",
    "1": "INSTANCE/INSTANCES, counted from 0: 0/3",
    **dict.fromkeys(["1of3", "-/3", "lagwarden/3", "lagwarden2/3", "1/3/3", ""], "INSTANCE/INSTANCES"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_other_texts_are_rejected(text: str) -> None:
    """The error has the value and explains how an instance is written."""
    with pytest.raises(ValueError, match=REFUSED[text]) as error:
        InstancePart.parse(text)
    assert repr(text) in str(error.value)


def test_the_only_instance_is_the_first_and_has_all_groups() -> None:
    """Of several instances, only the one with index 0 is the first, and none of them has all groups."""
    assert (EVERY_GROUP.is_whole, EVERY_GROUP.is_first) == (True, True)
    shares = [InstancePart(index, 2) for index in range(2)]
    assert [(share.is_whole, share.is_first) for share in shares] == [(False, True), (False, False)]
