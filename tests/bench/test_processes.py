"""Roles in a process tree, parsing of the process table, and measured CPU and memory."""

from __future__ import annotations

import os

import pytest

from bench.processes import DRIVER, JVM, WORKERS, Process, Watch, parse_stat, roles


def process(pid: int, parent: int, name: str) -> Process:
    """Return a process without CPU time or memory."""
    return Process(pid, parent, name, 0.0, 0)


def test_process_names_may_contain_spaces_and_parentheses() -> None:
    """Spaces and parentheses in a name do not shift the fields behind it."""
    stat = "42 (a) b (c) S 7 42 42 0 -1 4194304 1 0 0 0 100 200 300 400 20 0 1 0 5 1000 3 18446744073709551615"
    read = parse_stat(stat)
    ticks = os.sysconf("SC_CLK_TCK")
    assert (read.pid, read.parent, read.name) == (42, 7, "a) b (c")
    assert read.cpu_seconds == pytest.approx(1000 / ticks)
    assert read.resident_bytes == 3 * os.sysconf("SC_PAGE_SIZE")


def test_roles_follow_the_tree() -> None:
    """Java below the driver is the JVM, its descendants are workers, and unrelated processes have no role."""
    table = {
        each.pid: each
        for each in (
            process(1, 0, "init"),
            process(10, 1, "python"),
            process(11, 10, "bash"),
            process(12, 11, "java"),
            process(13, 12, "python"),
            process(14, 13, "java"),
            process(20, 1, "java"),
        )
    }
    assert roles(table, 10) == {10: DRIVER, 11: DRIVER, 12: JVM, 13: WORKERS, 14: WORKERS}
    assert roles(table, 99) == {}


def test_watch_measures_the_current_process() -> None:
    """CPU used in the block is counted, and memory is never 0."""
    with Watch() as watch:
        sum(range(3_000_000))
    assert watch.cpu[DRIVER] > 0
    assert watch.peak[DRIVER] > 1 << 20
