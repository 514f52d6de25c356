"""The numbers of share groups are not among the metrics about committed offsets."""

from exporters.selection.series import without_share_numbers
from tests.exporters.snapshots import snapshot

OWN = {"members": 2, "lag_sum": 7, "lag_max": 4, "partitions": 3, "partitions_lag_unknown": 1}


def test_only_share_groups_lose_their_numbers() -> None:
    """Share groups keep members and all other columns; groups of other and of unknown kinds do not change."""
    kinds = {"a": "classic", "s": "share", "u": None}
    world = snapshot(
        groups=[{"group": name, "kind": kind, **OWN} for name, kind in kinds.items()],
        topics=[{"group": name, "topic": "t", "lag_sum": 7} for name in kinds],
    )
    found = without_share_numbers(world)
    rows = {row["group"]: {name: row[name] for name in OWN} for row in found.groups.to_pylist()}
    assert rows == {"a": OWN, "s": dict.fromkeys(OWN) | {"members": 2}, "u": OWN}
    assert found.topics.column("group").to_pylist() == ["a", "u"]
    assert found.groups.schema == world.groups.schema
    plain = snapshot(groups=[{"group": "a", "kind": "classic", **OWN}])
    assert without_share_numbers(plain) is plain, "no copy without share groups"
