"""Helpers of the chaos tests: processes are found by their mark, and a wrong value is a difference."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys

import pytest

from sandbox.waiting import wait_until
from tests.chaos.flatness import check_flatness
from tests.chaos.truth import Values
from tests.support.processes import kill_processes, marked_processes, new_mark

VALUES = Values({("g", "t", 0): 5}, {("g", "t", 0): 2}, {"g": ("Stable", 1)})


def test_an_orphan_in_another_process_group_is_found_by_its_mark() -> None:
    """A grandchild outside the process group, as the Python daemon, is found after the end of its parent."""
    mark = new_mark()
    sleeper = "import os, time; os.setpgid(0, 0); time.sleep(60)"
    parent = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]]).wait()"
    process = subprocess.Popen([sys.executable, "-c", parent, sleeper], env={**os.environ, **mark})
    try:
        wait_until(lambda: len(marked_processes(mark, process.pid)) == 2, "both processes to run")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        (left,) = marked_processes(mark, process.pid)
        assert "os.setpgid" in left.command
    finally:
        kill_processes(mark, process.pid)
    assert marked_processes(mark, process.pid) == []


def test_each_kind_of_wrong_value_is_a_difference() -> None:
    """A wrong offset, lag or state, a missing group and an additional one are each reported with both values."""
    assert VALUES.differences(VALUES) == []
    wrong = [
        dataclasses.replace(VALUES, committed={("g", "t", 0): 4}),
        dataclasses.replace(VALUES, lags={}),
        dataclasses.replace(VALUES, groups={"g": ("Empty", 0)}),
        dataclasses.replace(VALUES, groups={}),
        dataclasses.replace(VALUES, groups={**VALUES.groups, "h": ("Empty", 0)}),
    ]
    for each in wrong:
        assert len(each.differences(VALUES)) == 1, each
    assert wrong[0].differences(VALUES) == ["committed offset of ('g', 't', 0): 4, not 5"]


UNEVEN_TEETH = [30, 270, 500, 710, 470, 590, 600, 480, 480, 600, 480, 480, 480, 480, 610, 610, 620, 610, 620, 620]
"""Files in the checkpoint at the start of each minute of a soak without growth: Spark removes old ones in lumps."""


@pytest.mark.parametrize(
    ("name", "values", "flat"),
    [
        ("descriptors jvm", [500 + minute % 7 for minute in range(60)], True),
        ("descriptors jvm", [500 + 2 * minute for minute in range(60)], False),
        ("descriptors jvm", [500 + (400 if minute % 10 == 0 else 0) for minute in range(60)], True),
        ("descriptors jvm", [300 + 20 * min(minute, 15) for minute in range(60)], True),
        ("checkpoint files", [200 + 30 * (minute % 6) for minute in range(60)], True),
        ("checkpoint files", [200 + 30 * (minute % 6) + 3 * minute for minute in range(60)], False),
        ("checkpoint files", [low + 40 * step for low in UNEVEN_TEETH for step in range(6)], True),
        (
            "checkpoint files",
            [low + 10 * tooth + 40 * step for tooth, low in enumerate(UNEVEN_TEETH) for step in range(6)],
            False,
        ),
        ("threads driver", [20 + minute // 5 for minute in range(60)], False),
        ("PSS MiB driver", [150 + minute % 9 for minute in range(60)], True),
        ("PSS MiB driver", [150 + 2 * minute for minute in range(60)], False),
    ],
    ids=[
        "noise",
        "leak",
        "outliers",
        "warm-up",
        "sawtooth",
        "rising sawtooth",
        "uneven sawtooth",
        "rising uneven sawtooth",
        "rising threads",
        "flat memory",
        "rising memory",
    ],
)
def test_growth_is_distinguished_from_noise(name: str, values: list[float], *, flat: bool) -> None:
    """A leak is found despite noise and sawtooth. Outliers and growth during the warm-up are ignored."""
    check = check_flatness(name, [float(minute) for minute in range(len(values))], values)
    assert check is not None
    assert check.flat is flat
