"""A checkpoint in an object store: a real S3 server, Hadoop's client, and lagwarden's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from sandbox.kafka.broker import Broker
from sandbox.kafka.jars import jar_set
from sandbox.object_store import BUCKET, CREDENTIALS, ObjectStoreServer
from stream.config.loader import load
from stream.errors import ExitCode
from stream.service.wiring import object_storage
from tests.conftest import MakeBroker
from tests.integration.traffic import commit, make_topic, offsets_ends, tool_offsets_and_lags
from tests.support.in_process_job import TASKS, InProcessJob, Jvm
from tests.support.monitor import START_LIMIT, Monitor
from tests.support.processes import patience

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(patience(600))]

PATH: Final = "team/lagwarden"


@pytest.fixture(scope="module", autouse=True)
def _credentials() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStoreServer]:
    """Return an S3 server with a bucket; each test has a path of its own in it."""
    with ObjectStoreServer(tmp_path_factory.mktemp("object-store")) as server:
        yield server


@pytest.fixture(scope="module")
def jvm(server: ObjectStoreServer) -> Iterator[Jvm]:
    """Return the JVM of the jobs, with Hadoop's client of this server."""
    options = {"kafka.bootstrap_servers": "none:1", **settings_for(server, PATH)}
    with Jvm(object_storage(load(flags=options))) as shared:
        yield shared


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return the path of the checkpoint of one test."""
    return f"{PATH}/{tmp_path.name}"


def settings_for(server: ObjectStoreServer, path: str) -> dict[str, str]:
    """Return the options of a monitor with its checkpoint on this server."""
    return {
        "checkpoint.dir": f"s3a://{BUCKET}/{path}",
        "checkpoint.s3_endpoint": server.url,
        "checkpoint.s3_jars": str(jar_set("s3a")[0].parent),
        "job.read_tasks": str(TASKS),
    }


def test_state_is_read_again_after_a_kill_and_after_a_stop_if_it_is_intact(
    server: ObjectStoreServer, path: str, jvm: Jvm, make_broker: MakeBroker, tmp_path: Path
) -> None:
    """Each time, every lag and offset equals the tool's, and no log, argument or object has a secret.

    State that is damaged is set aside, and the topic is read again.
    """
    broker = make_broker()
    make_topic(broker.bootstrap, "t", 3)
    commit(broker.bootstrap, "first", "t", {0: 1, 2: 3})
    settings = settings_for(server, path)
    with Monitor(broker.bootstrap, tmp_path, {**settings, "log.level": "debug"}) as monitor:
        shown = monitor.wait_ready().wait_read(offsets_ends(broker.bootstrap))
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(broker.bootstrap)
        monitor.wait_for(lambda: f"{path}/v2/spark/commits/0" in server.objects(), "the first batch in the store")

        monitor.kill()
        monitor.start().wait_ready()
        assert monitor.events("lease taken over from a process that ended")
        assert monitor.events("state restored")
        commit(broker.bootstrap, "second", "t", {1: 2})
        shown = monitor.wait_read(offsets_ends(broker.bootstrap))
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(broker.bootstrap)
        monitor.wait_for(
            lambda: (monitor.metrics().value("lagwarden_checkpoint_bytes") or 0) > 0, "the size of the checkpoint"
        )
        assert "lagwarden_checkpoint_volume_free_bytes" not in monitor.get("/metrics").text
        assert places_of_secrets(monitor, server) == []
        assert monitor.stop().code == ExitCode.OK

    commit(broker.bootstrap, "third", "t", {1: 1})
    with InProcessJob(broker.bootstrap, tmp_path, jvm, settings) as job:
        job.wait_ready()
        assert job.events("state restored")
        assert not job.events("checkpoint locked; waiting for a renewal by its owner")
        shown = job.wait_read(offsets_ends(broker.bootstrap))
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(broker.bootstrap)

        assert job.stop().code == ExitCode.OK
        written = [key for key in server.objects(f"{path}/v2/spark/offsets/") if key[-1] != "/"]
        server.write(max(written, key=lambda key: int(key.rpartition("/")[2])), b"v1")
        job.start().wait_ready()
        assert "has no positions" in str(job.events("checkpoint set aside; reading the topic from its start"))
        shown = job.wait_read(offsets_ends(broker.bootstrap))
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(broker.bootstrap)


def places_of_secrets(monitor: Monitor, server: ObjectStoreServer) -> list[str]:
    texts = {key: server.read(key) for key in server.objects()}
    texts |= {str(monitor.log): monitor.log.read_bytes()}
    texts |= {process.command: process.command.encode() for process in monitor.processes}
    return [name for name, text in texts.items() if any(value.encode() in text for value in CREDENTIALS.values())]


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
    settings: dict[str, str], *, refusing: bool, line: str, path: str, cluster: Broker, tmp_path: Path
) -> None:
    """The job ends with one line, and the exit code of an unusable checkpoint."""
    with (
        ObjectStoreServer(tmp_path, refusing=refusing) as server,
        InProcessJob(cluster.bootstrap, tmp_path, None, {**settings_for(server, path), **settings}) as job,
    ):
        assert job.ending(START_LIMIT).code == ExitCode.CHECKPOINT_UNUSABLE
        assert job.output.count(line) == 1
