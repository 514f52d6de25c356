"""A second monitor and the checkpoint of a running one."""

import contextlib
from pathlib import Path

import pytest

from sandbox.kafka.broker import Broker
from stream.errors import ExitCode
from tests.integration.failures.refused import assert_refused
from tests.integration.traffic import commit, offsets_ends
from tests.support.monitor import Monitor
from tests.support.processes import patience

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(400))]


def test_checkpoint_in_use_is_refused(cluster: Broker, monitor: Monitor, tmp_path: Path) -> None:
    """A second monitor does not start over the folder of a running one, which keeps running."""
    second = Monitor(cluster.bootstrap, tmp_path)
    with contextlib.closing(second.start("--checkpoint-dir", str(monitor.checkpoint))):
        assert_refused(second, ExitCode.CHECKPOINT_UNUSABLE, "in use by another lagwarden", "--checkpoint-dir")
    commit(cluster.bootstrap, "undisturbed", "t", {0: 6})
    assert monitor.wait_read(offsets_ends(cluster.bootstrap)).committed["undisturbed", "t", 0] == 6
