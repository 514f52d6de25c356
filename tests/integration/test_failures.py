"""What ends the process from within: one line of cause, a code that a supervisor can tell, and no process left."""

from __future__ import annotations

import os
import shutil
import signal
from typing import TYPE_CHECKING

import pytest

from stream.exits import ExitCode
from tests.integration.traffic import commit
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sandbox.broker import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(400)]


def kill_the_jvm(monitor: Monitor) -> None:
    """End Spark's JVM, as the kernel does when memory is short."""
    os.kill(monitor.jvm, signal.SIGKILL)


def delete_the_checkpoint(monitor: Monitor) -> None:
    """Remove the state under the running job."""
    shutil.rmtree(monitor.checkpoint)
    # A file in its place: folders would only be made again.
    monitor.checkpoint.write_text("")


@pytest.mark.parametrize("misfortune", [kill_the_jvm, delete_the_checkpoint])
def test_query_that_fails_ends_the_process_with_its_cause(
    cluster: Broker, tmp_path: Path, misfortune: Callable[[Monitor], None]
) -> None:
    """Within seconds: one line with the cause, the code of a failed query, nothing left behind."""
    with Monitor(cluster.bootstrap, tmp_path) as monitor:
        monitor.wait_ready()
        misfortune(monitor)
        commit(cluster.bootstrap, "unlucky", "t", {0: 1})
        ending = monitor.ending(30)
        assert ending.code == ExitCode.QUERY_FAILED
        assert ending.left_behind == ()
        (line,) = monitor.events("the query failed")
        assert line["cause"]
        assert "\n" not in line["cause"]
        assert "fault of lagwarden" not in monitor.said
