"""The table of starts with one executor and more."""

from __future__ import annotations

from bench.executors import executors_table
from bench.service import Start


def start(seconds: float, batch: float | None) -> Start:
    """Return a start with these times."""
    return Start("start", seconds, {}, {}, 5_000_000, 1.0, 0, [], batch)


def test_speed_up_is_that_of_the_first_batch() -> None:
    """The speed-up compares first batches, because a whole start includes the start of JVMs and executors."""
    lines = executors_table({1: start(40.0, 20.0), 2: start(32.0, 12.5), 3: start(30.0, None)}).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    assert cells == [
        ["1", "40.0", "20.0", "1.00", "5,000,000"],
        ["2", "32.0", "12.5", "1.60", "5,000,000"],
        ["3", "30.0", "unknown", "unknown", "5,000,000"],
    ]
