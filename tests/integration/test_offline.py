"""The offline commands against a real broker and Kafka's tools: records, texts and groups are the same."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from sandbox.kafka.broker import Broker
from sandbox.kafka.jars import broker_jars
from sandbox.kafka.java import SMALL_JVM, class_path, find_java
from sandbox.kafka.tools import QUIET
from stream.cli import app as cli
from stream.cluster.transport.client import Cluster
from stream.errors import ExitCode
from stream.offline.capture import CaptureFile
from stream.offline.folder import LogFolder
from stream.offline.live import LiveTopics
from stream.offline.replay import Replay
from stream.offline.rows import LogRow, RowSource
from tests.integration.traffic import (
    OFFSETS_TOPIC,
    commit,
    set_topic,
    write_history,
)
from tests.support.processes import patience, wait_until
from tests.support.replayed_groups import ReplayedGroup, current_state, replayed_groups

pytestmark = pytest.mark.kafka

PROPERTIES: Final = {
    # The cleaner runs at once, and may clean new records.
    "log.cleaner.backoff.ms": "200",
    "log.index.interval.bytes": "200",
}
FORMATTERS: Final = "org.apache.kafka.tools.consumer.{}MessageFormatter"


@pytest.fixture(scope="module")
def used_broker() -> Iterator[Broker]:
    """Return a broker with groups of several kinds."""
    with Broker(offsets_partitions=2) as broker:
        write_history(broker.bootstrap)
        yield broker


def _rows(source: RowSource) -> list[LogRow]:
    rows = sorted(source.rows(), key=lambda row: (row.topic, row.partition, row.offset))
    assert not source.problems
    return rows


def _live(broker: Broker) -> list[LogRow]:
    with Cluster([broker.bootstrap]) as cluster:
        return _rows(LiveTopics(cluster, [OFFSETS_TOPIC]))


def _groups(rows: list[LogRow]) -> dict[str, ReplayedGroup]:
    """Return the groups that are alive after a replay."""
    replay = Replay()
    replay.read(rows)
    return {name: group for name, group in replayed_groups(replay).items() if not group.is_dead}


def test_decode_writes_what_the_console_formatters_write(
    used_broker: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each object of the live topic, offset or group, is printed as by Kafka's console consumer."""
    assert cli.main(["decode", "-b", used_broker.bootstrap]) == ExitCode.OK
    ours = [line for line in capfd.readouterr().out.splitlines() if json.loads(line)["key"]["type"] <= 2]
    official = _objects(_console(used_broker, "Offsets")) + _objects(_console(used_broker, "GroupMetadata"))
    # The group of the console consumer was created after the capture.
    assert sorted(ours) == sorted(line for line in official if '"group":"console"' not in line)
    assert len(ours) > 100


def test_the_cleaner_changes_no_answer(tmp_path: Path) -> None:
    """Replays of the full log and of the log after a real broker's cleaner give the same groups."""
    path = tmp_path / "full.avro"
    with Broker(offsets_partitions=2, properties=PROPERTIES) as broker:
        write_history(broker.bootstrap)
        capture = ["capture", str(path), "-b", broker.bootstrap]
        assert cli.main(capture) == ExitCode.OK
        # The active segment is never cleaned: a commit rolls it when it is too old.
        config = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.001", "min.compaction.lag.ms": "0"}
        set_topic(broker.bootstrap, OFFSETS_TOPIC, config)
        time.sleep(0.3)
        for group in ("one", "two", "three", "four", "five"):
            commit(broker.bootstrap, group, "t", {0: 9})
        assert cli.main(capture) == ExitCode.OK
        full = _rows(CaptureFile(path))
        wait_until(lambda: len(_live(broker)) < len(full) - 50, "the cleaner", limit=60)
        live = _live(broker)
        cleaned = _rows(LogFolder(broker.data))
    assert len(cleaned) < len(full) - 50
    assert current_state(_groups(live)) == current_state(_groups(cleaned)) == current_state(_groups(full))


def _console(broker: Broker, kind: str) -> str:
    command = [
        *(str(find_java()), *SMALL_JVM, QUIET, "-cp", class_path(broker_jars())),
        *("org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", broker.bootstrap),
        *("--topic", OFFSETS_TOPIC, "--from-beginning", "--timeout-ms", "5000", "--isolation-level", "read_committed"),
        *("--formatter", FORMATTERS.format(kind), "--command-property", "group.id=console"),
        *("--command-property", "enable.auto.commit=false"),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience(120)).stdout


def _objects(text: str) -> list[str]:
    """Split what the formatters write without any separator into its objects."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text.rstrip()):
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end])
        at = end
    return found
