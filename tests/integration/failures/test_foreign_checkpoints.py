"""Checkpoints that do not fit the topic are set aside, and the topic is read again."""

from pathlib import Path
from typing import Final

import pytest

from sandbox.kafka.log_truncation import truncate_log
from stream.checkpoint.manifest import FORMAT
from stream.errors import ExitCode
from tests.conftest import MakeBroker
from tests.integration.traffic import commit, committed_at_broker, make_topic
from tests.support.in_process_job import InProcessJob, Jvm
from tests.support.processes import patience

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(400))]

SET_ASIDE: Final = "checkpoint set aside; reading the topic from its start"


def test_recreated_topic_is_read_again(jvm: Jvm, make_broker: MakeBroker, tmp_path: Path) -> None:
    """The checkpoint of a recreated cluster with the same id is set aside and kept, and no old group is shown."""
    before = make_broker()
    make_topic(before.bootstrap, "t", 2)
    commit(before.bootstrap, "old", "t", {0: 5, 1: 6})
    with InProcessJob(before.bootstrap, tmp_path, jvm) as job:
        job.wait_ready().wait_batch()
        assert job.stop().code == ExitCode.OK
    before.stop()
    read = commits_in(job.checkpoint / f"v{FORMAT}")
    rebuilt = make_broker()
    make_topic(rebuilt.bootstrap, "t", 2)
    commit(rebuilt.bootstrap, "new", "t", {0: 1, 1: 2}, times=20)
    with InProcessJob(rebuilt.bootstrap, tmp_path, jvm) as job:
        shown = job.wait_ready().metrics()
        assert shown.committed == {("new", "t", 0): 1, ("new", "t", 1): 2}
        assert shown.value("lagwarden_resyncs_total") == 1
        (line,) = job.events(SET_ASIDE)
        assert "created again" in line["why"]
    assert commits_in(job.checkpoint / f"v{FORMAT}" / "set-aside-1") == read != {}


def commits_in(folder: Path) -> dict[str, bytes]:
    """Return the files of the batches that have ended, by their names in the folder of a checkpoint."""
    found = (folder / "spark" / "commits").iterdir()
    return {path.name: path.read_bytes() for path in found}


def test_log_that_lost_its_end_is_read_again(jvm: Jvm, make_broker: MakeBroker, tmp_path: Path) -> None:
    """The offsets topic is cut below what was read and written past it, as by an unclean election (KIP-320).

    A running job shows nothing any more and ends; the next start sets the state aside and shows what is in the log.
    """
    broker = make_broker(offsets_partitions=1)
    make_topic(broker.bootstrap, "t", 2)
    commit(broker.bootstrap, "kept", "t", {0: 1})
    for group in range(20):
        commit(broker.bootstrap, f"group-{group}", "t", {0: group})
    with InProcessJob(broker.bootstrap, tmp_path, jvm) as job:
        assert ("group-19", "t", 0) in job.wait_ready().metrics().committed
        broker.stop()
        truncate_log(broker.data / "__consumer_offsets-0", 0.5)
        broker.start()
        commit(broker.bootstrap, "new", "t", {1: 3}, times=40)
        assert job.ending(60).code == ExitCode.TOPIC_CHANGED
        (line,) = job.events("state does not match the topic; restart to read the topic from its start")
        assert "partition 0 of __consumer_offsets lost its end" in line["why"]

        shown = job.start().wait_ready().metrics()
        left = committed_at_broker(broker.bootstrap, ["kept", "new", *(f"group-{group}" for group in range(20))])
        assert shown.committed == left
        assert ("kept", "t", 0) in left
        assert ("group-19", "t", 0) not in left
        assert shown.value("lagwarden_resyncs_total") == 1
        (line,) = job.events(SET_ASIDE)
        assert "lost its end" in line["why"]
