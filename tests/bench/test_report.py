"""The tables of a benchmark run."""

from __future__ import annotations

import pytest

from bench.report import Target, catch_up_table, table, target_table
from bench.warm import Measured


def test_table_is_aligned_markdown() -> None:
    """All lines have the same length, and numbers are aligned to the right."""
    lines = table(("what", "n"), [("a longer one", "1"), ("b", "1,000")]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1] == "| ------------ | ----: |"
    assert lines[3] == "| b            | 1,000 |"


def test_ratio_is_relative_to_the_reader() -> None:
    """A pipeline at half of the source's rate has ratio 0.50, and CPU is summed over all roles."""
    row = Measured("pipeline warm 1", 1000, 2.0, {"driver": 1.0, "JVM": 2.5}, {"JVM": 3 << 20})
    line = catch_up_table([row], reader_rate=1000.0).splitlines()[-1]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        *("pipeline warm 1", "1,000", "2.0", "500", "0.50", "3.5", "0", "3", "0")
    ]


@pytest.mark.parametrize(
    ("found", "at_least", "met"),
    [(0.7, True, "yes"), (0.69, True, "no"), (0.7, False, "yes"), (0.71, False, "no")],
    ids=["enough", "too little", "just within", "too much"],
)
def test_target_is_met_at_the_limit_and_missed_beyond_it(found: float, at_least: bool, met: str) -> None:  # noqa: FBT001 -- a table's column
    """`at_least` makes the limit a minimum, otherwise it is a maximum."""
    line = target_table([Target("x", 0.7, found, "s", at_least)]).splitlines()[-1]
    assert line.strip("| ").endswith(met)
