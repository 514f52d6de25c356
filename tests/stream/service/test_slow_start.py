"""A Python process that does not start in the time that Spark waits, as on a machine without free CPU."""

import sys
from pathlib import Path

import pytest

from sandbox.waiting import wait_until
from stream.service.kept_state import is_of_the_state, is_slow_start
from stream.spark.pipeline import changes, write
from stream.spark.query import failure
from stream.spark.session import end_session, open_session
from tests.stream.offline.captures import capture_of, commit
from tests.stream.spark.capture_job import job_options, session_options
from tests.stream.spark.capture_source import capture_file

pytestmark = pytest.mark.spark


@pytest.mark.long
def test_the_error_of_spark_is_recognised(tmp_path: Path) -> None:
    """A process that starts later than Spark waits is a slow start, and not an error of the state."""
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\ncase "$*" in *python_streaming_source_runner*) sleep 12 ;; esac\nexec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    path = capture_of(tmp_path / "c.avro", [commit(0, 0)])
    session = open_session(session_options())
    try:
        session.sparkContext.pythonExec = str(python)
        job = job_options(tmp_path / "checkpoint")
        query = write(changes(capture_file(session, path, job.reading), job), job, lambda *_: None)
        wait_until(lambda: failure(query) is not None, "the query to fail", limit=120)
        failed = failure(query)
    finally:
        end_session(session, 20)
    assert failed is not None
    assert is_slow_start(failed)
    assert not is_of_the_state(failed)
