"""The table of sizes in docs/install.md, and the defaults that follow from it."""

import re
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from stream.config.options import JobOptions

_GIB: Final = 1 << 30
_UNITS: Final = {"m": 1 << 20, "g": 1 << 30, "Mi": 1 << 20, "Gi": 1 << 30}


class Size(NamedTuple):
    """A row of the table. The heap is a text such as `512m`; the other sizes are in bytes."""

    partitions: int
    heap: str
    limit: int
    expected: int
    """The first of the expected sizes, which is the highest."""


def in_bytes(size: str) -> int:
    """Return the bytes of a size such as `512m` or `2.5Gi`."""
    number, unit = re.fullmatch(r"([0-9.]+)([A-Za-z]+)", size).groups()  # type: ignore[union-attr]
    return int(float(number) * _UNITS[unit])


def sizes() -> list[Size]:
    rows = re.findall(
        r"^\| ([0-9,]+) \| `(\w+)` \| `([\w.]+)` \| ([0-9.]+) GB", Path("docs/install.md").read_text(), re.MULTILINE
    )
    return [
        Size(int(partitions.replace(",", "")), heap, in_bytes(limit), int(float(expected) * 1e9))
        for partitions, heap, limit, expected in rows
    ]


def chart() -> dict[str, Any]:
    """Return the default values of the chart."""
    return yaml.safe_load(Path("deploy/helm/lagwarden/values.yaml").read_text())


def test_limits_hold_what_was_measured() -> None:
    """Every row has a valid heap, room for the Python processes, and a tenth of the limit as a reserve."""
    rows = sizes()
    assert rows
    assert rows == sorted(rows)
    for row in rows:
        assert JobOptions(driver_memory=row.heap)
        assert row.limit >= in_bytes(row.heap) + _GIB
        assert row.limit * 0.9 >= row.expected


def test_defaults_are_those_of_33_000_partitions() -> None:
    """The heap of the option and the chart, and the limit of the chart, are those of the row of 33,000 partitions."""
    row = next(row for row in sizes() if row.partitions == 33_000)
    memory = {kind: chart()["resources"][kind]["memory"] for kind in ("requests", "limits")}
    assert JobOptions.model_fields["driver_memory"].default == row.heap
    assert chart()["config"]["job"]["driver_memory"] == row.heap
    assert in_bytes(memory["limits"]) == row.limit
    assert in_bytes(memory["requests"]) <= row.limit
