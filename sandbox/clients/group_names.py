"""Names of groups and topics in scenarios, chosen so that a group is in the partition of the offsets topic it needs."""

from typing import Final

from stream.groups.placement import partition_for

RESERVED_PARTITION: Final = 0
"""The partition of the offsets topic for groups whose open transactions hide the commits behind them from readers."""


def group_name(scenario: str, offsets_partitions: int, *, reserved: bool) -> str:
    """Return the scenario's name, with a number appended where the bare name is in the wrong offsets partition.

    Groups that are `reserved` are in RESERVED_PARTITION, all others are not.
    """
    name, number = scenario, 1
    while (partition_for(name, offsets_partitions) == RESERVED_PARTITION) != reserved:
        number += 1
        name = f"{scenario}-{number}"
    return name


def topic_name(group: str, short: str) -> str:
    """Return the full name of a topic that belongs to one group."""
    return f"{group}-{short}"
