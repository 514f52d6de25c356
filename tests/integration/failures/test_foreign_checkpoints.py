"""Checkpoints that do not fit are refused and not modified, or set aside, and the topic is read again."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from sandbox.kafka.broker import Broker
from sandbox.kafka.log_truncation import truncate_log
from stream.checkpoint.manifest import FORMAT, MANIFEST
from stream.errors import ExitCode
from tests.conftest import MakeBroker
from tests.integration.failures.refused import assert_refused
from tests.integration.traffic import commit, committed_at_broker, make_topic
from tests.support.in_process_job import InProcessJob, Jvm
from tests.support.processes import patience

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(400))]

SET_ASIDE: Final = "checkpoint set aside; reading the topic from its start"


@pytest.fixture(scope="module")
def used(jvm: Jvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, Path]]:
    """Return a broker reset to an earlier state, and the checkpoint of a run that had read further."""
    folder = tmp_path_factory.mktemp("used")
    with Broker(folder / "broker") as broker:
        make_topic(broker.bootstrap, "t", 2)
        commit(broker.bootstrap, "old", "t", {0: 1})
        broker.stop()
        shutil.copytree(broker.data, folder / "backup")
        broker.start()
        commit(broker.bootstrap, "old", "t", {0: 5, 1: 6})
        with InProcessJob(broker.bootstrap, folder, jvm) as job:
            job.wait_ready()
            assert job.metrics().committed == {("old", "t", 0): 5, ("old", "t", 1): 6}
            assert job.stop().code == ExitCode.OK
        broker.stop()
        shutil.rmtree(broker.data)
        shutil.copytree(folder / "backup", broker.data)
        broker.start()
        yield broker, job.checkpoint


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"cluster_id": "another-cluster-id"}, ExitCode.CHECKPOINT_CLUSTER, ("another-cluster-id", "--checkpoint-dir")),
        ({"format": 99}, ExitCode.CHECKPOINT_FORMAT, ("has format 99", "move the directory")),
    ],
    ids=["another cluster", "a later format"],
)
def test_checkpoint_of_another_cluster_or_version_is_refused(
    used: tuple[Broker, Path], tmp_path: Path, change: dict[str, object], code: ExitCode, words: tuple[str, ...]
) -> None:
    """The refusal has the remedy, and no byte of the checkpoint changes."""
    broker, checkpoint = used
    job = InProcessJob(broker.bootstrap, tmp_path, None)
    shutil.copytree(checkpoint, job.checkpoint)
    change_manifest(job.checkpoint / f"v{FORMAT}", change)
    before = contents(job.checkpoint)
    with job:
        assert_refused(job, code, *words)
    assert contents(job.checkpoint) == before


def test_checkpoint_of_the_previous_format_is_set_aside_once(
    used: tuple[Broker, Path], jvm: Jvm, tmp_path: Path
) -> None:
    """Its folder stays unchanged, one line logs the read of the whole topic, and the next start continues."""
    broker, checkpoint = used
    job = InProcessJob(broker.bootstrap, tmp_path, jvm)
    previous = job.checkpoint / "v1"
    shutil.copytree(checkpoint / f"v{FORMAT}", previous)
    change_manifest(previous, {"format": 1})
    before = contents(previous)
    with job:
        shown = job.wait_ready().metrics()
        assert shown.committed == {("old", "t", 0): 1}
        assert shown.value("lagwarden_resyncs_total") == 1
        (line,) = job.events(SET_ASIDE)
        assert line["kept"] == str(previous)
        assert job.stop().code == ExitCode.OK
        assert contents(previous) == before

        job.start().wait_ready()
        assert job.events(SET_ASIDE) == []


def test_topic_behind_the_checkpoint_is_read_again(used: tuple[Broker, Path], jvm: Jvm, tmp_path: Path) -> None:
    """A checkpoint ahead of the topic is set aside with a log line, and the current topic is shown."""
    broker, checkpoint = used
    job = InProcessJob(broker.bootstrap, tmp_path, jvm)
    assert_read_again(job, checkpoint, "which was already read", {("old", "t", 0): 1})


def test_recreated_topic_is_read_again(
    used: tuple[Broker, Path], jvm: Jvm, make_broker: MakeBroker, tmp_path: Path
) -> None:
    """The checkpoint of a recreated cluster with the same id is set aside, and no old group is shown."""
    _, checkpoint = used
    rebuilt = make_broker()
    make_topic(rebuilt.bootstrap, "t", 2)
    commit(rebuilt.bootstrap, "new", "t", {0: 1, 1: 2}, times=20)
    job = InProcessJob(rebuilt.bootstrap, tmp_path, jvm)
    assert_read_again(job, checkpoint, "created again", {("new", "t", 0): 1, ("new", "t", 1): 2})


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


def assert_read_again(
    job: InProcessJob, checkpoint: Path, reason: str, committed: dict[tuple[str, str, int], int]
) -> None:
    """Assert that a job starts over a checkpoint that does not fit, and sets it aside."""
    shutil.copytree(checkpoint, job.checkpoint)
    with job:
        shown = job.wait_ready().metrics()
        assert shown.committed == committed
        assert shown.value("lagwarden_resyncs_total") == 1
        (line,) = (line for line in job.lines if "checkpoint set aside" in line.get("event", ""))
        assert reason in line["why"]
    aside = job.checkpoint / f"v{FORMAT}" / "set-aside-1"
    assert {name for name in contents(checkpoint) if name.startswith(f"v{FORMAT}/spark/commits/")} == {
        f"v{FORMAT}/{name}" for name in contents(aside) if name.startswith("spark/commits/")
    }


def change_manifest(folder: Path, change: dict[str, object]) -> None:
    """Change fields of the manifest of a checkpoint, and remove its checksum."""
    manifest = folder / MANIFEST
    content = {**json.loads(manifest.read_text()), **change}
    del content["crc32"]
    manifest.write_text(json.dumps(content))


def contents(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
