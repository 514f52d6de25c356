"""What a real 4.3 broker writes for groups of every kind: no unknown, no error, printed as the official tool does."""

from __future__ import annotations

import collections
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from decoders import blobs, jsonform
from decoders.errors import DecodeError
from decoders.events import ClassicGroupRecorded, OffsetCommitted
from decoders.interpret import events
from decoders.log.segment import Segment
from decoders.records import Record
from decoders.scalar import decode, decode_metadata, decode_share_state, decode_transaction
from sandbox.broker import Broker
from sandbox.jars import broker_jars, jar_set
from sandbox.java import find_java
from sandbox.tools import run_tool
from tests.decoders.conformance.official import NEWEST, compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DUMP = "org.apache.kafka.tools.DumpLogSegments"
READERS: dict[str, tuple[str, Callable[[Any, Any], Record | DecodeError]]] = {
    "__consumer_offsets": ("--offsets-decoder", decode),
    "__transaction_state": ("--transaction-log-decoder", decode_transaction),
    "__share_group_state": ("--share-group-state-decoder", decode_share_state),
    "__cluster_metadata": ("--cluster-metadata-decoder", lambda _, value: decode_metadata(value)),
}
# A static member that is away is given up soon, so that its group can be deleted.
IMPATIENT = {
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
}
# Types that a 4.3 broker writes: not 0 and 9 and 18, and 4 only as a tombstone.
WRITTEN = {1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23}
FORGOTTEN = {1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23}


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Let groups of every kind live and die on a broker of their own; gives its log directory."""
    program = compiled(NEWEST, tmp_path_factory.mktemp("classes"), "Groups.java")
    jars = ":".join(map(str, (*broker_jars(NEWEST), *jar_set(f"messages-{NEWEST}"))))
    folder = program[program.index("-cp") + 1].rsplit(":", 1)[1]
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    command = [str(find_java()), "-Xmx400m", quiet, f"-Djava.io.tmpdir={folder}", "-cp", f"{jars}:{folder}", "Groups"]
    with Broker(properties=IMPATIENT) as broker:
        done = subprocess.run([*command, broker.bootstrap], capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        yield broker.data


def segments(lived: Path, topic: str) -> list[Path]:
    """Give the segments of a topic that hold anything."""
    return [path for path in sorted(lived.glob(f"{topic}-*/*.log")) if path.stat().st_size]


def data_records(path: Path) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """Give offset, key and value of the data records of a segment."""
    with Segment.open(path) as segment:
        for batch in segment.batches():
            if not batch.is_control:
                for record in batch.records():
                    yield record.offset, record.key, record.value


def decoded(lived: Path, topic: str) -> Iterator[tuple[Path, int, Record]]:
    """Decode a topic; an error ends the test with its words."""
    _, read = READERS[topic]
    for path in segments(lived, topic):
        for offset, key, value in data_records(path):
            record = read(key, value)
            assert isinstance(record, Record), (path.parent.name, offset, record, key, value)
            yield path, offset, record


@pytest.mark.kafka
@pytest.mark.timeout(400)
def test_every_kind_of_group_is_read_without_unknown_or_error(lived: Path) -> None:
    """Classic, KIP-848, share and streams groups leave records of every type of today, and tombstones of nearly all."""
    written, forgotten = set(), set()
    for _, _, record in decoded(lived, "__consumer_offsets"):
        assert len(events(record)) == 1
        assert record.layout is (None if record.value is None else record.type.value)
        (forgotten if record.value is None else written).add(record.type.number)
    assert written == WRITTEN
    assert forgotten == FORGOTTEN


@pytest.mark.kafka
@pytest.mark.timeout(400)
def test_the_neighbouring_topics_are_read_without_unknown_or_error(lived: Path) -> None:
    """Transactions, share state and cluster metadata of the same broker are read to the last record."""
    names = {topic: {record.type.name for _, _, record in decoded(lived, topic)} for topic in READERS}
    assert names["__transaction_state"] == {"TRANSACTION_LOG"}
    assert "SHARE_SNAPSHOT" in names["__share_group_state"]
    assert {"TOPIC_RECORD", "PARTITION_RECORD", "FEATURE_LEVEL_RECORD", "REGISTER_BROKER_RECORD"} <= names[
        "__cluster_metadata"
    ]


@pytest.mark.kafka
@pytest.mark.timeout(400)
def test_what_members_wrote_is_read_by_its_protocol(lived: Path) -> None:
    """Subscriptions, assignments, user data of assignors and of Kafka Streams, and its commits, hold no surprise."""
    seen: collections.Counter[str] = collections.Counter()
    for _, _, record in decoded(lived, "__consumer_offsets"):
        for fact in events(record):
            if isinstance(fact, ClassicGroupRecorded):
                for member in fact.members:
                    subscription = blobs.subscription(fact.protocol_type, member.subscription)
                    assignment = blobs.assignment(fact.protocol_type, member.assignment)
                    assert isinstance(subscription, dict), subscription
                    assert isinstance(assignment, dict | None), assignment
                    assert fact.protocol is not None
                    raw = subscription["user_data"]
                    user_data = None if raw is None else blobs.subscription_user_data(fact.protocol, raw)
                    assert not isinstance(user_data, DecodeError), user_data
                    seen[f"{fact.protocol} {'nothing' if user_data is None else 'user data'}"] += 1
                    if fact.protocol == "stream" and assignment:
                        assert isinstance(blobs.streams_assignment_info(assignment["user_data"]), dict)
            if isinstance(fact, OffsetCommitted) and fact.group.startswith("streams-") and fact.metadata:
                assert isinstance(blobs.streams_commit_metadata(fact.metadata), dict)
                seen["streams commit"] += 1
    assert seen.keys() >= {"sticky user data", "cooperative-sticky user data", "stream user data", "streams commit"}


@pytest.mark.kafka
@pytest.mark.timeout(400)
@pytest.mark.parametrize("topic", READERS)
def test_every_record_prints_as_the_dump_tool_prints_it(lived: Path, topic: str) -> None:
    """Key and payload of each record are the official tool's text, byte for byte."""
    ours = {
        (str(path), offset): (None, jsonform.dump_metadata(record))
        if record.type.key is None
        else (jsonform.dump_key(record), jsonform.dump_payload(record))
        for path, offset, record in decoded(lived, topic)
    }
    theirs = dict(dumped(segments(lived, topic), READERS[topic][0]))
    assert len(ours) > 3
    # The broker lives on: the tool, which reads later, may have found more.
    assert {place: text for place, text in theirs.items() if place in ours} == ours


def dumped(paths: list[Path], decoder: str) -> Iterator[tuple[tuple[str, int], tuple[str | None, str]]]:
    """Let the official tool print the segments; gives file and offset with key and payload."""
    said = run_tool(DUMP, decoder, "--print-data-log", "--files", ",".join(map(str, paths)))
    place = ""
    for line in said.split("\n"):
        if line.startswith("Dumping "):
            place = line.removeprefix("Dumping ")
        found = re.match(r"\| offset: (\d+) .*? headerKeys: \[\](?: key: (.*?))? payload: (.*)$", line)
        if found:
            yield (place, int(found[1])), (found[2], found[3])
