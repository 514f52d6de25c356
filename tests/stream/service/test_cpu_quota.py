"""The number of usable cores, also in a container."""

import os
from pathlib import Path

import pytest

from stream.service.cpu_quota import usable_cores

ALL = 8


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(ALL)))


V1 = "cpu/cpu.cfs_quota_us"
PERIOD = {"cpu/cpu.cfs_period_us": "100000\n"}
QUOTAS: dict[str, tuple[dict[str, str], int]] = {
    "no cgroups at all": ({}, ALL),
    "no limit": ({"cpu.max": "max 100000\n"}, ALL),
    "two cores": ({"cpu.max": "200000 100000\n"}, 2),
    "two and a half: the JVM rounds up, too": ({"cpu.max": "250000 100000\n"}, 3),
    "half a core": ({"cpu.max": "50000 100000\n"}, 1),
    "a limit above the machine": ({"cpu.max": "6400000 100000\n"}, ALL),
    "an unknown format": ({"cpu.max": "something else\n"}, ALL),
    "zeros": ({"cpu.max": "0 0\n"}, ALL),
    "cgroups v1": ({V1: "300000\n", **PERIOD}, 3),
    "v1 without limit": ({V1: "-1\n", **PERIOD}, ALL),
    "v1, a file is missing": ({V1: "300000\n"}, ALL),
}


def test_the_quota_of_a_container_limits_the_cores(tmp_path: Path) -> None:
    """A quota below the cores of the machine counts; an unreadable quota is ignored."""
    found = {}
    for name, (files, _) in QUOTAS.items():
        for file, text in files.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(text)
        found[name] = usable_cores(tmp_path / name)
    assert found == {name: cores for name, (_, cores) in QUOTAS.items()}
