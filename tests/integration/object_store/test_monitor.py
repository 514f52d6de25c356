"""A monitor whose checkpoint is in an object store: a real S3 server, Hadoop's client, and lagwarden's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sandbox.kafka.jars import jar_set
from sandbox.object_store import BUCKET, CREDENTIALS, ObjectStoreServer
from stream.errors import ExitCode
from tests.integration.traffic import commit, make_topic, offsets_ends, tool_offsets_and_lags
from tests.support.monitor import START_LIMIT, Monitor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import MakeBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

PATH: Final = "team/lagwarden"
FOLDER: Final = f"{PATH}/v2"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ObjectStoreServer]:
    """Return an S3 server with an empty bucket."""
    with ObjectStoreServer(tmp_path) as server:
        yield server


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)


def settings_for(server: ObjectStoreServer) -> dict[str, str]:
    """Return the options of a monitor with its checkpoint on this server."""
    return {
        "checkpoint.dir": f"s3a://{BUCKET}/{PATH}",
        "checkpoint.s3_endpoint": server.url,
        "checkpoint.s3_jars": str(jar_set("s3a")[0].parent),
        "log.level": "debug",
    }


def test_state_is_read_again_after_a_stop_and_after_a_kill(
    server: ObjectStoreServer, make_broker: MakeBroker, tmp_path: Path
) -> None:
    """Each time, every lag and offset equals the tool's, and no log, argument or object has a secret."""
    broker = make_broker()
    make_topic(broker.bootstrap, "t", 3)
    commit(broker.bootstrap, "first", "t", {0: 1, 2: 3})
    with Monitor(broker.bootstrap, tmp_path, settings_for(server)) as monitor:
        shown = monitor.wait_ready().wait_read(offsets_ends(broker.bootstrap))
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(broker.bootstrap)
        monitor.wait_for(lambda: f"{FOLDER}/spark/commits/0" in server.objects(), "the first batch in the store")
        assert monitor.stop().code == ExitCode.OK

        commit(broker.bootstrap, "second", "t", {1: 1})
        monitor.start().wait_ready()
        assert monitor.events("state restored")
        assert not monitor.events("checkpoint locked; waiting for a renewal by its owner")
        shown = monitor.wait_read(offsets_ends(broker.bootstrap))
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(broker.bootstrap)

        monitor.kill()
        monitor.start().wait_ready()
        assert monitor.events("lease taken over from a process that ended")
        assert monitor.events("state restored")
        commit(broker.bootstrap, "third", "t", {1: 2})
        shown = monitor.wait_read(offsets_ends(broker.bootstrap))
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(broker.bootstrap)
        monitor.wait_for(
            lambda: (monitor.metrics().value("lagwarden_checkpoint_bytes") or 0) > 0, "the size of the checkpoint"
        )
        assert "lagwarden_checkpoint_volume_free_bytes" not in monitor.get("/metrics").text
        assert places_of_secrets(monitor, server) == []


def places_of_secrets(monitor: Monitor, server: ObjectStoreServer) -> list[str]:
    """Return the objects, the logs and the command lines that have a credential."""
    texts = {key: server.read(key) for key in server.objects()}
    texts |= {str(monitor.log): monitor.log.read_bytes()}
    texts |= {process.command: process.command.encode() for process in monitor.processes}
    return [name for name, text in texts.items() if any(value.encode() in text for value in CREDENTIALS.values())]


def test_second_monitor_is_refused(server: ObjectStoreServer, make_broker: MakeBroker, tmp_path: Path) -> None:
    """The first monitor renews its lease while the second one waits, and is not disturbed."""
    broker = make_broker()
    make_topic(broker.bootstrap, "t", 1)
    commit(broker.bootstrap, "g", "t", {0: 1})
    (tmp_path / "second").mkdir()
    with Monitor(broker.bootstrap, tmp_path, settings_for(server)) as first:
        first.wait_ready()
        with Monitor(broker.bootstrap, tmp_path / "second", settings_for(server)) as second:
            ending = second.ending(START_LIMIT)
            assert ending.code == ExitCode.CHECKPOINT_UNUSABLE
            assert f"s3a://{BUCKET}/{FOLDER} is in use by another lagwarden" in second.output
        assert first.stop().code == ExitCode.OK


def test_unreachable_store_is_reported(server: ObjectStoreServer, make_broker: MakeBroker, tmp_path: Path) -> None:
    """The log and `/readyz` report the outage until the store answers again."""
    broker = make_broker()
    make_topic(broker.bootstrap, "t", 1)
    commit(broker.bootstrap, "g", "t", {0: 1})
    with Monitor(broker.bootstrap, tmp_path, settings_for(server)) as monitor:
        monitor.wait_ready()
        server.process.pause()
        monitor.wait_for(lambda: "the storage of the checkpoint s3a://" in monitor.reasons(), "the reason in /readyz")
        server.process.resume()
        monitor.wait_for(lambda: "the storage of the checkpoint" not in monitor.reasons(), "the store in /readyz")
        assert monitor.events("checkpoint storage answers again")


@pytest.mark.parametrize(
    ("settings", "refusing", "line"),
    [
        ({"checkpoint.dir": f"s3a://nowhere/{PATH}"}, False, "the bucket nowhere does not exist"),
        ({}, True, "the object store refuses access (InvalidAccessKeyId"),
        ({"checkpoint.s3_endpoint": "http://127.0.0.1:9"}, False, "Could not connect to the endpoint URL"),
    ],
    ids=["no bucket", "wrong credentials", "no server"],
)
def test_store_that_cannot_be_used_is_one_line(
    settings: dict[str, str], *, refusing: bool, line: str, make_broker: MakeBroker, tmp_path: Path
) -> None:
    """The process ends with one line, and the exit code of an unusable checkpoint."""
    broker = make_broker()
    make_topic(broker.bootstrap, "t", 1)
    commit(broker.bootstrap, "g", "t", {0: 1})
    with (
        ObjectStoreServer(tmp_path, refusing=refusing) as server,
        Monitor(broker.bootstrap, tmp_path, {**settings_for(server), "log.level": "info", **settings}) as monitor,
    ):
        assert monitor.ending(START_LIMIT).code == ExitCode.CHECKPOINT_UNUSABLE
        assert monitor.output.count(line) == 1


def test_damaged_state_is_set_aside(server: ObjectStoreServer, make_broker: MakeBroker, tmp_path: Path) -> None:
    """The topic is read again, and every answer is correct."""
    broker = make_broker()
    make_topic(broker.bootstrap, "t", 1)
    commit(broker.bootstrap, "g", "t", {0: 1})
    with Monitor(broker.bootstrap, tmp_path, settings_for(server)) as monitor:
        monitor.wait_ready()
        monitor.wait_for(lambda: f"{FOLDER}/spark/commits/0" in server.objects(), "the first batch in the store")
        assert monitor.stop().code == ExitCode.OK
        newest = max(
            int(key.rpartition("/")[2]) for key in server.objects(f"{FOLDER}/spark/offsets/") if key[-1] != "/"
        )
        server.write(f"{FOLDER}/spark/offsets/{newest}", b"v1")
        monitor.start().wait_ready()
        assert "has no positions" in str(monitor.events("checkpoint set aside; reading the topic from its start"))
        shown = monitor.wait_read(offsets_ends(broker.bootstrap))
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(broker.bootstrap)
