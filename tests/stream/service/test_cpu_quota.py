"""The number of usable cores, also in a container."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from stream.service.cpu_quota import usable_cores

if TYPE_CHECKING:
    from pathlib import Path

ALL = 8


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate eight cores on any machine."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(ALL)))


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        pytest.param({}, ALL, id="no cgroups at all"),
        pytest.param({"cpu.max": "max 100000\n"}, ALL, id="no limit"),
        pytest.param({"cpu.max": "200000 100000\n"}, 2, id="two cores"),
        pytest.param({"cpu.max": "250000 100000\n"}, 3, id="two and a half: the JVM rounds up, too"),
        pytest.param({"cpu.max": "50000 100000\n"}, 1, id="half a core"),
        pytest.param({"cpu.max": "6400000 100000\n"}, ALL, id="a limit above the machine"),
        pytest.param({"cpu.max": "something else\n"}, ALL, id="an unknown format"),
        pytest.param({"cpu.max": "0 0\n"}, ALL, id="zeros"),
        pytest.param({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3, id="cgroups v1"),
        pytest.param({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, ALL, id="v1 without limit"),
        pytest.param({"cpu/cpu.cfs_quota_us": "300000\n"}, ALL, id="v1, a file is missing"),
    ],
)
def test_the_quota_of_a_container_limits_the_cores(tmp_path: Path, files: dict[str, str], cores: int) -> None:
    """A quota below the cores of the machine counts; an unreadable quota is ignored."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert usable_cores(tmp_path) == cores
