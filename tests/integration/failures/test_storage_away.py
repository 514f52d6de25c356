"""The shared storage of a checkpoint, on a real mount, stops answering and is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stream.errors import ExitCode
from tests.conftest import MakeBroker
from tests.integration.failures.fuse_mount import FuseMount, MountMissingError
from tests.integration.traffic import commit, make_topic, offsets_ends, tool_offsets_and_lags
from tests.support.monitor import Monitor
from tests.support.processes import patience

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(patience(900))]

AWAY, BACK = "checkpoint storage away", "checkpoint storage answers again"


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[FuseMount]:
    """Return the mounted folder of the checkpoint; skip where nothing can be mounted."""
    try:
        storage = FuseMount(tmp_path / "checkpoint", tmp_path / "kept")
    except MountMissingError as error:
        pytest.skip(str(error))
    with storage:
        yield storage


def test_storage_that_stops_answering_and_is_lost(mount: FuseMount, make_broker: MakeBroker, tmp_path: Path) -> None:
    """Readiness has the reason while the storage does not answer, and one line is logged. The monitor then continues.

    A lost mount ends the process. A start is refused until the storage returns, and then the state is restored.
    """
    broker = make_broker()
    make_topic(broker.bootstrap, "t", 2)
    commit(broker.bootstrap, "g", "t", {0: 1, 1: 2})
    options = {"job.master": "local-cluster[1,1,512]", "checkpoint.shared": "true"}
    with Monitor(broker.bootstrap, tmp_path, options) as monitor:
        monitor.wait_ready().wait_read(offsets_ends(broker.bootstrap))
        assert monitor.events(AWAY) == []

        mount.pause()
        monitor.wait_for(lambda: str(mount.path) in monitor.reasons(), "the reason in /readyz")
        assert "is away: no answer" in monitor.reasons()
        assert monitor.get("/livez").status == 200
        assert monitor.metrics().committed == {("g", "t", 0): 1, ("g", "t", 1): 2}

        mount.resume()
        monitor.wait_events(BACK)
        commit(broker.bootstrap, "g", "t", {0: 3})
        shown = monitor.wait_ready().wait_read(offsets_ends(broker.bootstrap))
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(broker.bootstrap)
        assert [line["cause"] for line in monitor.events(AWAY)] == ["no answer"]

        mount.lose()
        commit(broker.bootstrap, "g", "t", {0: 4})
        assert monitor.ending(limit=180).code == ExitCode.QUERY_FAILED
        assert "Transport endpoint is not connected" in monitor.output
        assert monitor.start().ending(limit=120).code == ExitCode.CHECKPOINT_UNUSABLE

        mount.unmount()
        mount.mount()
        monitor.start().wait_ready()
        assert monitor.events("state restored")
        shown = monitor.wait_read(offsets_ends(broker.bootstrap))
        assert shown.committed["g", "t", 0] == 4
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(broker.bootstrap)
        assert monitor.stop().code == ExitCode.OK
