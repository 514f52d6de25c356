"""Groups are in the partition of the offsets topic that their scenario needs."""

from __future__ import annotations

import pytest

from sandbox.clients.group_names import RESERVED_PARTITION, group_name, topic_name
from stream.groups.placement import partition_for


@pytest.mark.parametrize("reserved", [pytest.param(True, id="reserved"), pytest.param(False, id="ordinary")])
@pytest.mark.parametrize("name", ["steady", "shaded", "transactional"])
def test_group_name_selects_the_offsets_partition(name: str, *, reserved: bool) -> None:
    """Reserved groups are in the reserved partition, all others are not, and the name begins with the scenario's."""
    found = group_name(name, 4, reserved=reserved)
    assert (partition_for(found, 4) == RESERVED_PARTITION) == reserved
    assert found.startswith(name)
    assert topic_name(found, "in") == f"{found}-in"
