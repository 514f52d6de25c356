"""The files of a recording have the data that a monitor needs, and are read unchanged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bench.incidents.files import read_ends, write_ends
from sandbox.verdict_scenarios.record import RecordedEnds

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_offsets_over_time_are_read_as_written(tmp_path: Path) -> None:
    """Each sample has the known offsets of each partition. Unknown ones are absent, not 0."""
    looks = [
        RecordedEnds(1_000.0, [("t", 0, 9), ("u", 1, 0)], [("t", 0, 7), ("u", 1, 0)], [("t", 0, 2), ("u", 1, 0)]),
        RecordedEnds(1_002.125, [("t", 0, 12)], [], [("t", 0, 2)]),
    ]
    write_ends(tmp_path / "ends.csv.gz", looks)
    assert read_ends(tmp_path / "ends.csv.gz") == looks


def test_the_same_offsets_give_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compressed file has no name and no time of its own, so that recordings can be compared."""
    looks = [RecordedEnds(1_000.0, [("t", 0, 9)])]
    for now, name in enumerate(("one", "other")):
        monkeypatch.setattr(time, "time", lambda now=now: 1_000_000.0 + now)
        write_ends(tmp_path / name, looks)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
