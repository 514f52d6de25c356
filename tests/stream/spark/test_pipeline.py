"""The pipeline in Spark over a capture file: it reaches the same state as an offline replay of the file."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from sandbox.waiting import LoadedLimit
from stream.groups.codec import unpack_change
from stream.groups.commits.runs import Spans
from stream.groups.driver_state import DriverState
from stream.offline.capture import CaptureFile
from stream.offline.replay import Replay
from stream.service.processes import processes_by_role
from stream.spark.delta_source import COLUMNS
from stream.spark.pipeline import changes, write
from stream.spark.planners import CREATOR, PLANNER, end_planners
from stream.spark.session import end_session, open_session
from stream.spark.shard_processor import OUTPUT
from tests.stream.offline.captures import RECORDED, capture_of, commit
from tests.stream.spark.capture_job import job_options, session_options
from tests.stream.spark.capture_source import capture_file

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session(session_options())
    yield session
    end_session(session, 20)


def _rows(driver_state: DriverState) -> list[dict[str, Any]]:
    """Return every number of every run, sorted by group, topic and partition."""
    columns = driver_state.columns()
    names = zip(columns.group.to_pylist(), columns.topic.to_pylist(), columns.partition.tolist(), strict=True)
    spans = columns.runs.spans
    numbers = {
        name: np.asarray(getattr(spans, name)).tolist() for name in Spans.__dataclass_fields__ if name != "reset"
    }
    metadata = columns.runs.metadata.to_pylist()
    found = [
        {"name": name, "metadata": metadata[at], **{key: column[at] for key, column in numbers.items()}}
        for at, name in enumerate(names)
    ]
    return sorted(found, key=lambda each: each["name"])


class _Driver:
    """Applies the changes of each micro-batch to a driver state."""

    def __init__(self) -> None:
        self.driver_state = DriverState()
        self.batches = 0

    def __call__(self, table: pa.Table, _: int) -> None:
        self.batches += 1
        for each in table.to_pylist():
            self.driver_state.apply(each["shard"], unpack_change(each["change"]))


def test_job_over_a_capture_reaches_the_state_of_a_replay(spark: SparkSession, tmp_path: Path) -> None:
    """All runs and memberships are equal for recorded traffic of every kind of group."""
    driver, job = _Driver(), job_options(tmp_path / "checkpoint")
    query = write(changes(capture_file(spark, RECORDED, job.reading), job), job, driver)
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    replay = Replay()
    replay.read(CaptureFile(RECORDED).rows())
    assert driver.batches
    assert _rows(driver.driver_state) == _rows(replay.driver_state)
    assert driver.driver_state.columns().memberships == replay.driver_state.columns().memberships


def _planners() -> set[str]:
    """Return the modules of planning processes of this process' JVM."""
    found = ""
    for process in processes_by_role(os.getpid())["python_daemon"]:
        with contextlib.suppress(OSError):
            found += Path(f"/proc/{process}/cmdline").read_text()
    return {each for each in (CREATOR, PLANNER) if each in found}


def test_processes_that_planned_a_query_end_and_start_again(spark: SparkSession, tmp_path: Path) -> None:
    """Ended after a batch of one query, they plan the next one, and no task or source ends with them."""
    job = job_options(tmp_path / "checkpoint")
    for folder in ("a", "b"):
        driver, job = _Driver(), job_options(tmp_path / folder)
        query = write(changes(capture_file(spark, RECORDED, job.reading), job), job, driver)
        try:
            query.processAllAvailable()
            assert _planners() == {CREATOR, PLANNER}
            end_planners(spark, CREATOR, PLANNER)
            assert driver.batches
            limit = LoadedLimit(10.0)
            while _planners():
                assert not limit.reached()
        finally:
            query.stop()


def test_rows_appended_to_a_capture_are_read_once(spark: SparkSession, tmp_path: Path) -> None:
    """A running job reads the rows that are appended to its capture, and no row twice."""
    path = capture_of(tmp_path / "c.avro", [commit(at, at, group=f"g{at % 2}", partition=at % 2) for at in range(10)])
    driver, job = _Driver(), job_options(tmp_path / "checkpoint")
    query = write(changes(capture_file(spark, path, job.reading), job), job, driver)
    try:
        query.processAllAvailable()
        before = _rows(driver.driver_state)
        capture_of(path, [commit(at, at, group=f"g{at % 2}", partition=at % 2) for at in range(10, 20)])
        query.processAllAvailable()
    finally:
        query.stop()
    assert [each["commits"] for each in before] == [5, 5]
    assert [each["commits"] for each in _rows(driver.driver_state)] == [10, 10]
    assert [each["last_offset"] for each in _rows(driver.driver_state)] == [18, 19]


@pytest.mark.parametrize("stage", ["read", "reduce"])
def test_a_task_whose_worker_is_killed_runs_again(
    spark: SparkSession, tmp_path: Path, stage: Literal["read", "reduce"]
) -> None:
    """The kernel may kill workers without memory. The batch ends, and no commit is lost or counted twice."""
    path = capture_of(tmp_path / "c.avro", [commit(at, at) for at in range(10)])
    driver, job = _Driver(), job_options(tmp_path / "checkpoint")
    deltas = capture_file(spark, path, job.reading)
    killed = tmp_path / "killed"
    if stage == "read":
        deltas = deltas.mapInArrow(_killing_once(killed), COLUMNS)
    changed = changes(deltas, job)
    if stage == "reduce":
        changed = changed.mapInArrow(_killing_once(killed), OUTPUT)
    query = write(changed, job, driver)
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert killed.exists()
    assert [(each["commits"], each["last_offset"]) for each in _rows(driver.driver_state)] == [(10, 9)]


def _killing_once(killed: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function of a task that kills its worker after the first batch, unless the file `killed` exists."""

    def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)

    return pass_on
