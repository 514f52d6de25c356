"""Commit histories in plain Python: a slow reference for the columnar implementation."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from stream.groups.commits import runs
from stream.groups.commits import slots as window
from stream.groups.commits.run_table import Runs, join_runs
from stream.groups.commits.runs import NEVER, TOPIC_ID

SLOT_MS = 10
KEEP = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Commit:
    """One record of a key: an offset commit, or its tombstone when `offset` is None."""

    position: int
    offset: int | None
    time: int


def histories(*, most: int = 30) -> st.SearchStrategy[list[Commit]]:
    """Histories of one key: offsets rise, repeat and fall, times jump a little, tombstones come in between."""
    step = st.tuples(st.one_of(st.none(), st.integers(0, 6)), st.integers(0, 60), st.integers(1, 3))

    def build(steps: list[tuple[int | None, int, int]]) -> list[Commit]:
        position, commits = 0, []
        for offset, time, gap in steps:
            position += gap
            commits.append(Commit(position, offset, time))
        return commits

    return st.lists(step, max_size=most).map(build)


def expected(history: list[Commit]) -> dict[str, Any]:
    """Return the expected run of this history, computed record by record, with the fields that are valid."""
    none = {"commits": 0, "rewinds": 0, "rewind_from": NEVER, "rewind_to": NEVER, "rewind_time": NEVER}
    out: dict[str, Any] = {"reset": False, "slots": {}, **none}
    for commit in history:
        if commit.offset is None:
            last = {"last_position": commit.position, "last_time": commit.time}
            out = {"reset": True, "slots": {}, **last, **none}
            continue
        if not out["commits"]:
            out |= {"first_offset": commit.offset, "first_position": commit.position, "first_time": commit.time}
        elif commit.offset < out["last_offset"]:
            out["rewinds"] += 1
            out |= {"rewind_from": out["last_offset"], "rewind_to": commit.offset, "rewind_time": commit.time}
        if not out["commits"] or commit.offset != out["last_offset"]:
            out |= {"reached_position": commit.position, "reached_time": commit.time}
        out |= {"last_offset": commit.offset, "last_position": commit.position, "last_time": commit.time}
        out["commits"] += 1
        count = out["slots"].get(commit.time // SLOT_MS, (0, 0, 0))[2]
        out["slots"][commit.time // SLOT_MS] = (commit.offset, commit.time, count + 1)
    out["slots"] = dict(sorted(out["slots"].items())[-KEEP:])
    return _valid(out)


def _valid(run: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a run that are valid: few without a commit."""
    names = ("reset", "commits", "last_position", "last_time", "slots")
    return run if run["commits"] else {name: run[name] for name in names}


def run_of(key: bytes, history: list[Commit]) -> Runs:
    """Fold one key's history into one run, through the columns."""
    return join_runs([_unit(key, commit) for commit in history], KEEP)


def _unit(key: bytes, commit: Commit) -> Runs:
    """Return one record as a run."""
    one = np.array([1], np.int64)
    dead = commit.offset is None
    slots = window.Slots(0 * one, commit.time // SLOT_MS * one, (commit.offset or 0) * one, commit.time * one, one)
    return Runs(
        keys=pa.array([key], pa.binary()),
        spans=runs.single_record_spans(
            commit.position * one, (NEVER if dead else commit.offset) * one, commit.time * one, np.array([dead])
        ),
        leader_epoch=np.array([commit.position], np.int32),
        expire_time=one * NEVER,
        metadata=pa.array([str(commit.position).encode()], pa.binary()),
        topic_id=pa.array([None], TOPIC_ID),
        slots=window.Slots.empty() if dead else slots,
    )


def read_run(run: Runs, row: int = 0) -> dict[str, Any]:
    out: dict[str, Any] = {name: getattr(run.spans, name)[row].item() for name in runs.Spans.__dataclass_fields__}
    slots = run.slots.take(run.slots.row == row)
    columns = (slots.number, slots.offset, slots.time, slots.commits)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    out["slots"] = {number: (offset, time, commits) for number, offset, time, commits in rows}
    return _valid(out)
