"""The tables that a run prints."""

from __future__ import annotations

import pytest

from bench.report import Target, catch_up_table, table, target_table
from bench.warm import Measured


def test_table_is_aligned_markdown() -> None:
    """Every line is as long as the others; numbers stand to the right."""
    lines = table(("what", "n"), [("a longer one", "1"), ("b", "1,000")]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1] == "| ------------ | ----: |"
    assert lines[3] == "| b            | 1,000 |"


def test_ratio_is_to_the_raw_source() -> None:
    """A pipeline at half of the source's rate says 0.50, and its costs are summed over all roles."""
    row = Measured("pipeline warm 1", 1000, 2.0, {"driver": 1.0, "JVM": 2.5}, {"JVM": 3 << 20})
    line = catch_up_table([row], raw_rate=1000.0).splitlines()[-1]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        *("pipeline warm 1", "1,000", "2.0", "500", "0.50", "3.5", "0", "3", "0")
    ]


@pytest.mark.parametrize(
    ("found", "at_least", "met"),
    [(0.7, True, "yes"), (0.69, True, "no"), (0.7, False, "yes"), (0.71, False, "no")],
    ids=["enough", "too little", "just within", "too much"],
)
def test_targets_are_judged_by_their_direction(found: float, at_least: bool, met: str) -> None:  # noqa: FBT001 -- a table's column
    """At the limit a promise is kept, beyond it not."""
    line = target_table([Target("x", 0.7, found, "s", at_least)]).splitlines()[-1]
    assert line.strip("| ").endswith(met)
