"""Assertions about a refused start."""

from stream.errors import ExitCode
from tests.support.in_process_job import InProcessJob
from tests.support.monitor import Monitor


def assert_refused(monitor: Monitor | InProcessJob, code: ExitCode, *words: str) -> None:
    ending = monitor.ending(90)
    assert (ending.code, ending.left_behind) == (code, ()), monitor.output
    output = monitor.output
    assert "Traceback" not in output
    (line,) = (line for line in output.splitlines() if line.startswith("error: "))
    assert [word for word in words if word not in line] == [], line
