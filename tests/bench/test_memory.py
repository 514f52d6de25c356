"""The benchmark of memory: its samples, its sizes and its table."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from bench import memory
from bench.memory import MemoryPeak, MemoryUse, memory_by_role, memory_table, traffic_of


def test_memory_of_a_tree_is_that_of_its_processes() -> None:
    """The process itself is the driver. Roles without processes are absent."""
    with subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = memory_by_role(process.pid)
        process.kill()
    assert found["driver"] > 1 << 20
    assert "jvm" not in found


def test_peak_is_the_sample_with_the_highest_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """The peak has all roles of one sample, because a memory limit must hold their sum."""
    samples = [{"driver": 5, "jvm": 20}, {"driver": 10, "jvm": 30}, {"driver": 25, "jvm": 6}]
    exhausted = threading.Event()

    def sample(_: int) -> dict[str, int]:
        if samples:
            return samples.pop(0)
        exhausted.set()
        return {}

    monkeypatch.setattr(memory, "memory_by_role", sample)
    monkeypatch.setattr(memory, "_SAMPLE_SECONDS", 0.0)
    with MemoryPeak(1) as peak:
        assert exhausted.wait(60)
    assert peak.roles == {"driver": 10, "jvm": 30}


@pytest.mark.parametrize(("partitions", "groups"), [(1, 1), (20, 1), (21, 2), (33_000, 1650)])
def test_traffic_has_whole_groups(partitions: int, groups: int) -> None:
    """The number of group partitions is rounded up to whole groups."""
    assert traffic_of(partitions, 1000).groups == groups


def test_table_has_a_row_per_phase() -> None:
    """Bytes become MB. A role without processes and an unknown heap are dashes."""
    row = MemoryUse(33_000, "512m", "idle", {"driver": 300_000_000, "jvm": 700_400_000}, None)
    cells = [cell.strip() for cell in memory_table([row]).splitlines()[2].strip("|").split("|")]
    assert cells == ["33,000", "512m", "idle", "300", "700", "-", "-", "1,000", "-"]
