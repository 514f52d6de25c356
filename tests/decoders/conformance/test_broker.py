"""Records of a real 4.3 broker with groups of every type are decoded without errors and printed as by the dump tool."""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from decoders import blobs, jsonform
from decoders.errors import DecodeError
from decoders.events import ClassicGroupRecorded
from decoders.interpret import event_of
from decoders.log.segment import Segment
from decoders.scalar import decode, decode_share_state, decode_transaction
from decoders.schema import Record
from sandbox.kafka.broker import Broker
from sandbox.kafka.jars import broker_jars, jar_set
from sandbox.kafka.java import SMALL_JVM, find_java
from sandbox.kafka.tools import run_tool
from tests.decoders.conformance.official import COMPLETE, compiled

DUMP = "org.apache.kafka.tools.DumpLogSegments"
DECODERS: dict[str, tuple[str, Callable[[Any, Any], Record | DecodeError]]] = {
    "__consumer_offsets": ("--offsets-decoder", decode),
    "__transaction_state": ("--transaction-log-decoder", decode_transaction),
    "__share_group_state": ("--share-group-state-decoder", decode_share_state),
}
# Static members that left are fenced soon, so that their group can be deleted.
SHORT_TIMEOUTS = {
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
}
# Types that a 4.3 broker writes: all except 0, 9 and 18, and 4 only as a tombstone.
WRITTEN = {1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23}
TOMBSTONES = {1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23}


@pytest.fixture(scope="module")
def log_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the log directory of a broker on which groups of every type were created and deleted."""
    program = compiled(COMPLETE, tmp_path_factory.mktemp("classes"), "Groups.java")
    jars = ":".join(map(str, (*broker_jars(COMPLETE), *jar_set(f"messages-{COMPLETE}"))))
    folder = program[program.index("-cp") + 1].rsplit(":", 1)[1]
    options = ["-Xmx400m", *SMALL_JVM, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", f"-Djava.io.tmpdir={folder}"]
    command = [str(find_java()), *options, "-cp", f"{jars}:{folder}", "Groups"]
    with Broker(properties=SHORT_TIMEOUTS) as broker:
        process = subprocess.run([*command, broker.bootstrap], capture_output=True, text=True, timeout=240, check=False)
        assert process.returncode == 0, process.stderr[-3000:]
        yield broker.data


def segments(log_directory: Path, topic: str) -> list[Path]:
    return [path for path in sorted(log_directory.glob(f"{topic}-*/*.log")) if path.stat().st_size]


def data_records(path: Path) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    with Segment.open(path) as segment:
        for batch in segment.batches():
            if not batch.is_control:
                for record in batch.records():
                    yield record.offset, record.key, record.value


def decoded(log_directory: Path, topic: str) -> Iterator[tuple[Path, int, Record]]:
    """Yield the decoded records of a topic; an error fails the test."""
    _, decoder = DECODERS[topic]
    for path in segments(log_directory, topic):
        for offset, key, value in data_records(path):
            record = decoder(key, value)
            assert isinstance(record, Record), (path.parent.name, offset, record, key, value)
            yield path, offset, record


@pytest.mark.kafka
@pytest.mark.timeout(400)
def test_records_of_every_group_type_are_decoded_without_errors(log_directory: Path) -> None:
    """Classic, KIP-848, share and streams groups write records of every current type and tombstones of nearly all."""
    written, tombstones = set(), set()
    for _, _, record in decoded(log_directory, "__consumer_offsets"):
        event_of(record)
        assert record.layout is (None if record.value is None else record.type.value)
        (tombstones if record.value is None else written).add(record.type.number)
    assert written == WRITTEN
    assert tombstones == TOMBSTONES


@pytest.mark.kafka
@pytest.mark.timeout(400)
def test_the_other_internal_topics_are_decoded_without_errors(log_directory: Path) -> None:
    """All records of transactions and share state of the same broker are decoded."""
    names = {topic: {record.type.name for _, _, record in decoded(log_directory, topic)} for topic in DECODERS}
    assert names["__transaction_state"] == {"TRANSACTION_LOG"}
    assert "SHARE_SNAPSHOT" in names["__share_group_state"]


@pytest.mark.kafka
@pytest.mark.timeout(400)
def test_data_of_members_is_decoded_by_its_protocol(log_directory: Path) -> None:
    """Subscriptions and assignments, and those of Kafka Streams in them, are decoded."""
    protocols = set[str | None]()
    for _, _, record in decoded(log_directory, "__consumer_offsets"):
        event = event_of(record)
        if not isinstance(event, ClassicGroupRecorded):
            continue
        for member in event.members:
            subscription = blobs.subscription(event.protocol_type, member.subscription)
            assert isinstance(subscription, dict), subscription
            assignment = blobs.consumer_assignment(member.assignment)
            assert not isinstance(assignment, DecodeError), assignment
            if event.protocol == "stream" and assignment:
                assert isinstance(blobs.streams_assignment_info(assignment["user_data"]), dict)
            protocols.add(event.protocol)
    assert protocols >= {"sticky", "cooperative-sticky", "stream"}


@pytest.mark.kafka
@pytest.mark.timeout(400)
@pytest.mark.parametrize("topic", DECODERS)
def test_every_record_is_printed_as_by_the_dump_tool(log_directory: Path, topic: str) -> None:
    """Key and payload of each record are those of the official tool, byte for byte."""
    ours = {
        (str(path), offset): (jsonform.dump_key(record), jsonform.dump_payload(record))
        for path, offset, record in decoded(log_directory, topic)
    }
    theirs = dict(dumped(segments(log_directory, topic), DECODERS[topic][0]))
    assert len(ours) > 3
    # The broker is still running: the tool, which reads later, may find more records.
    assert {location: text for location, text in theirs.items() if location in ours} == ours


def dumped(paths: list[Path], decoder: str) -> Iterator[tuple[tuple[str, int], tuple[str | None, str]]]:
    """Yield (file, offset) and (key, payload) of each record as printed by the official tool."""
    output = run_tool(DUMP, decoder, "--print-data-log", "--files", ",".join(map(str, paths)))
    file = ""
    for line in output.split("\n"):
        if line.startswith("Dumping "):
            file = line.removeprefix("Dumping ")
        match = re.match(r"\| offset: (\d+) .*? headerKeys: \[\](?: key: (.*?))? payload: (.*)$", line)
        if match:
            yield (file, int(match[1])), (match[2], match[3])
