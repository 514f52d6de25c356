"""The limits on cores, memory and descriptors, also in a container."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stream.service.system_limits import memory_limit, usable_cores

ALL = 8


@pytest.fixture
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


@pytest.mark.usefixtures("eight_cores")
def test_the_quota_of_a_container_limits_the_cores(tmp_path: Path) -> None:
    """A quota below the cores of the machine counts; an unreadable quota is ignored."""
    found = {}
    for name, (files, _) in QUOTAS.items():
        for file, text in files.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(text)
        found[name] = usable_cores(tmp_path / name)
    assert found == {name: cores for name, (_, cores) in QUOTAS.items()}


_RAISE = """
import resource, subprocess, sys
from stream import logs
from stream.service.system_limits import raise_limit
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, 200))
logs.configure("debug", "json")
raise_limit()
show = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"
print(subprocess.run([sys.executable, "-c", show], capture_output=True, text=True).stdout.strip())
"""


@pytest.mark.parametrize("soft", [100, 200])
def test_soft_limit_is_raised_to_the_hard_one_and_inherited(soft: int) -> None:
    """Processes that are started later, such as the JVM, have the raised limit, which is logged at level debug."""
    done: Any = subprocess.run(
        [sys.executable, "-c", _RAISE.format(soft=soft)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "(200, 200)"
    assert f'"limit": 200, "before": {soft}' in done.stderr
    assert '"level": "debug"' in done.stderr


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        pytest.param({"memory.max": "2147483648\n"}, 2 << 30, id="a container with cgroups v2"),
        pytest.param({"memory.max": "max\n"}, None, id="a container without a limit"),
        pytest.param({"memory/memory.limit_in_bytes": "536870912\n"}, 512 << 20, id="a container with cgroups v1"),
        pytest.param({"memory/memory.limit_in_bytes": "9223372036854771712\n"}, None, id="cgroups v1 without a limit"),
        pytest.param({}, None, id="no cgroups"),
        pytest.param({"memory.max": "much"}, None, id="an unknown format"),
    ],
)
def test_memory_limit_of_a_container(tmp_path: Path, files: dict[str, str], limit: int | None) -> None:
    """The limit is in bytes, and None if no limit can be read."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory_limit(tmp_path) == limit
