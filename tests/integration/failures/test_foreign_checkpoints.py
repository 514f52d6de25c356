"""Checkpoints that do not fit are refused and not modified, or set aside, and the topic is read again."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from sandbox.kafka.broker import Broker
from stream.checkpoint.manifest import FORMAT, MANIFEST
from stream.errors import ExitCode
from tests.integration.failures.refused import assert_refused
from tests.integration.traffic import commit, make_topic
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import MakeBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, Path]]:
    """Return a broker reset to an earlier state, and the checkpoint of a run that had read further."""
    folder = tmp_path_factory.mktemp("used")
    with Broker(folder / "broker") as broker:
        make_topic(broker.bootstrap, "t", 2)
        commit(broker.bootstrap, "old", "t", {0: 1})
        broker.stop()
        shutil.copytree(broker.data, folder / "backup")
        broker.start()
        commit(broker.bootstrap, "old", "t", {0: 5, 1: 6})
        with Monitor(broker.bootstrap, folder) as monitor:
            monitor.wait_ready()
            assert monitor.metrics().committed == {("old", "t", 0): 5, ("old", "t", 1): 6}
            assert monitor.stop().code == ExitCode.OK
        broker.stop()
        shutil.rmtree(broker.data)
        shutil.copytree(folder / "backup", broker.data)
        broker.start()
        yield broker, monitor.checkpoint


def of_another_cluster(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest of another cluster."""
    return {**manifest, "cluster_id": "another-cluster-id"}


def of_a_later_format(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest of a later version."""
    return {**manifest, "format": 99}


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (of_another_cluster, ExitCode.CHECKPOINT_CLUSTER, ("another-cluster-id", "--checkpoint-dir")),
        (of_a_later_format, ExitCode.CHECKPOINT_FORMAT, ("has format 99", "move the directory")),
    ],
)
def test_checkpoint_of_another_cluster_or_version_is_refused(
    used: tuple[Broker, Path],
    tmp_path: Path,
    change: Callable[[dict[str, Any]], dict[str, Any]],
    code: ExitCode,
    words: tuple[str, ...],
) -> None:
    """The refusal has the remedy, and no byte of the checkpoint changes."""
    broker, checkpoint = used
    monitor = Monitor(broker.bootstrap, tmp_path)
    shutil.copytree(checkpoint, monitor.checkpoint)
    manifest = monitor.checkpoint / f"v{FORMAT}" / MANIFEST
    manifest.write_text(json.dumps(change(json.loads(manifest.read_text()))))
    before = contents(monitor.checkpoint)
    with monitor:
        assert_refused(monitor, code, *words)
    assert contents(monitor.checkpoint) == before


def test_checkpoint_of_the_previous_format_is_set_aside_once(used: tuple[Broker, Path], tmp_path: Path) -> None:
    """Its folder stays unchanged, one line logs the read of the whole topic, and the next start continues."""
    broker, checkpoint = used
    monitor = Monitor(broker.bootstrap, tmp_path)
    previous = monitor.checkpoint / "v1"
    shutil.copytree(checkpoint / f"v{FORMAT}", previous)
    manifest = previous / MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format": 1}))
    before = contents(previous)
    with monitor:
        shown = monitor.wait_ready().metrics()
        assert shown.committed == {("old", "t", 0): 1}
        assert shown.value("lagwarden_resyncs_total") == 1
        (line,) = monitor.events("checkpoint set aside; reading the topic from its start")
        assert line["kept"] == str(previous)
        assert monitor.stop().code == ExitCode.OK
        assert contents(previous) == before

        monitor.start().wait_ready()
        assert monitor.events("checkpoint set aside; reading the topic from its start") == []


def test_topic_behind_the_checkpoint_is_read_again(used: tuple[Broker, Path], tmp_path: Path) -> None:
    """A checkpoint ahead of the topic is set aside with a log line, and the current topic is shown."""
    broker, checkpoint = used
    assert_read_again(broker, checkpoint, tmp_path, "which was already read", {("old", "t", 0): 1})


def test_recreated_topic_is_read_again(used: tuple[Broker, Path], make_broker: MakeBroker, tmp_path: Path) -> None:
    """The checkpoint of a recreated cluster with the same id is set aside, and no old group is shown."""
    _, checkpoint = used
    rebuilt = make_broker()
    make_topic(rebuilt.bootstrap, "t", 2)
    commit(rebuilt.bootstrap, "new", "t", {0: 1, 1: 2}, times=20)
    assert_read_again(rebuilt, checkpoint, tmp_path, "created again", {("new", "t", 0): 1, ("new", "t", 1): 2})


def assert_read_again(
    broker: Broker, checkpoint: Path, folder: Path, reason: str, committed: dict[tuple[str, str, int], int]
) -> None:
    """Assert that a monitor starts over a checkpoint that does not fit, and sets it aside."""
    monitor = Monitor(broker.bootstrap, folder)
    shutil.copytree(checkpoint, monitor.checkpoint)
    with monitor:
        shown = monitor.wait_ready().metrics()
        assert shown.committed == committed
        assert shown.value("lagwarden_resyncs_total") == 1
        (line,) = (line for line in monitor.lines if "checkpoint set aside" in line.get("event", ""))
        assert reason in line["why"]
    aside = monitor.checkpoint / f"v{FORMAT}" / "set-aside-1"
    assert {name for name in contents(checkpoint) if name.startswith(f"v{FORMAT}/spark/commits/")} == {
        f"v{FORMAT}/{name}" for name in contents(aside) if name.startswith("spark/commits/")
    }


def contents(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
