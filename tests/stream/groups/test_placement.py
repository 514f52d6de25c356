"""Placement: a group has the partition that the broker chooses, and the number of shards is about the requested one."""

from stream.groups.placement import Placement, java_hash, partition_for

# Hash and partition of 50, by Java itself.
JAVA = [
    ("", 0, 0),
    ("test", 3556498, 48),
    ("my-group", -1906497762, 12),
    ("console-consumer-12345", 158455506, 6),
    ("polygenelubricants", -2147483648, 0),
    ("groupé", -1237460406, 6),
    ("😀", 1772899, 49),
]


def test_names_are_hashed_as_in_java() -> None:
    """The 32-bit hash over UTF-16 units, and the partition of 50, are those of Java."""
    assert [(name, java_hash(name), partition_for(name, 50)) for name, _, _ in JAVA] == JAVA


def test_a_group_stays_in_the_shards_of_its_partition() -> None:
    """The sub-shards of a partition are consecutive, all used, and hold no group of another partition."""
    placement = Placement.build(4, 64)
    shards = {placement.shard(2, f"group-{n}") for n in range(500)}
    assert shards == set(range(32, 48))
    assert {placement.offsets_partition(shard) for shard in shards} == {2}
