"""The tables of a benchmark run."""

from __future__ import annotations

from bench.report import Target, target_table


def test_target_is_met_at_the_limit_and_missed_beyond_it() -> None:
    """`at_least` makes the limit a minimum, otherwise it is a maximum."""
    rows = {(0.7, True): "yes", (0.69, True): "no", (0.7, False): "yes", (0.71, False): "no"}
    lines = {row: target_table([Target("x", 0.7, row[0], "s", row[1])]).splitlines()[-1] for row in rows}
    assert {row: line.strip("| ").rpartition(" ")[2] for row, line in lines.items()} == rows
