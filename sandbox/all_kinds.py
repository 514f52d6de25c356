"""A small capture of the offsets topic with every kind of group: the input of tests that need no broker.

Kafka's own clients write it: librdkafka for classic, static, KIP-848, simple and transactional groups; for share and
streams groups, which librdkafka does not support, the console tool and a small Kafka Streams program.
`python -m sandbox.all_kinds` writes `tests/captures/all-kinds.avro`.
"""

import functools
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from confluent_kafka import Producer, TopicPartition

from sandbox.clients.members import Member, client_config, transactional_producer
from sandbox.kafka import tools
from sandbox.kafka.broker import Broker, create_topics
from sandbox.kafka.compiler import compile_java
from sandbox.kafka.jars import streams_jars
from sandbox.kafka.java import SMALL_JVM, class_path, find_java
from sandbox.process import GuardedProcess
from sandbox.waiting import eventually, wait_until
from stream.cluster.transport.client import Cluster
from stream.offline.capture import CaptureFile, CaptureWriter
from stream.offline.live import LiveTopics

CAPTURE: Final = Path(__file__).resolve().parents[1] / "tests" / "captures" / "all-kinds.avro"
TOPICS: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")
STREAMS_PROGRAM: Final = Path(__file__).with_name("clients") / "StreamsMember.java"
PROPERTIES: Final = {
    # The sessions of members that stop silently must end during the recording.
    "group.min.session.timeout.ms": "1000",
    # Streams and share groups change only at heartbeats.
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
}


def record(path: Path) -> int:
    """Run groups of every kind on a broker and capture its topics; returns the number of rows."""
    with Broker(properties=PROPERTIES) as broker:
        create_topics(broker.bootstrap, {"orders": 3, "payments": 2})
        _fill(broker.bootstrap)
        for run in (_simple, _classic, _static, _consumer, _transactional, _share, _streams, _deleted):
            print(f"recording: {run.__name__.strip('_')}", flush=True)
            run(broker.bootstrap)
        path.unlink(missing_ok=True)
        with Cluster([broker.bootstrap]) as cluster, CaptureWriter(path, LiveTopics(cluster, TOPICS).origin) as capture:
            for row in LiveTopics(cluster, TOPICS).rows():
                capture.write(row)
    return sum(1 for _ in CaptureFile(path).rows())


def _fill(bootstrap: str) -> None:
    producer = Producer(client_config(bootstrap))
    for topic, partitions in (("orders", 3), ("payments", 2)):
        for number in range(60):
            producer.produce(topic, f"record {number}", partition=number % partitions)
    producer.flush(10)


def _simple(bootstrap: str) -> None:
    """Commit without a membership, once with lower offsets, and delete one offset."""
    with Member(bootstrap, "simple-group", "simple") as member:
        for offset in (5, 9, 3, 12):
            places = [TopicPartition("payments", partition, offset + partition) for partition in (0, 1)]
            eventually(functools.partial(member.commit, places))
    tools.delete_offsets(bootstrap, "simple-group", "payments", 1)


def _classic(bootstrap: str) -> None:
    """Run two members that join one after the other, read, and leave."""
    with Member(bootstrap, "classic-group", "classic") as first:
        _work(first, "orders", 2)
        with Member(bootstrap, "classic-group", "classic", number=1) as second:
            second.consumer.subscribe(["orders"])
            wait_until(lambda: _both_own(first, second), "both members to own partitions")
            _commit_now(first, second)


def _static(bootstrap: str) -> None:
    """Restart a static member under its instance id, and stop another one."""
    for number in (0, 0, 1):
        with Member(bootstrap, "static-group", "classic", number=number, instance=f"instance-{number}") as member:
            _work(member, "payments", 2)


def _consumer(bootstrap: str) -> None:
    """Run a KIP-848 group of two members; one subscribes with a regular expression."""
    with Member(bootstrap, "consumer-group", "consumer") as first:
        _work(first, "orders", 2)
        with Member(bootstrap, "consumer-group", "consumer", number=1) as second:
            second.consumer.subscribe(["^pay.*", "^ord.*"])
            wait_until(lambda: _both_own(first, second), "both members to own partitions")
            _commit_now(first, second)


def _transactional(bootstrap: str) -> None:
    """Send offsets in five transactions: three are committed, two aborted."""
    producer = eventually(lambda: transactional_producer(bootstrap, "transactional-group"))
    with Member(bootstrap, "transactional-group", "classic", isolated=True) as member:
        _work(member, "orders", 1)
        metadata = member.consumer.consumer_group_metadata()
        for offset in range(1, 6):
            producer.begin_transaction()
            producer.produce("payments", b"paid", partition=0)
            producer.send_offsets_to_transaction([TopicPartition("orders", 0, 100 + offset)], metadata, 10)
            (producer.commit_transaction if offset % 2 else producer.abort_transaction)(10)


def _share(bootstrap: str) -> None:
    """Run a share group with the console tool: it reads some records, acknowledges them and leaves."""
    arguments = ("--topic", "orders", "--group", "share-group", "--timeout-ms", "6000")
    tools.run_tool("org.apache.kafka.tools.consumer.ConsoleShareConsumer", "--bootstrap-server", bootstrap, *arguments)


def _streams(bootstrap: str) -> None:
    """Run a streams group (KIP-1071): a program with two subtopologies, for some seconds."""
    jars = streams_jars()
    with tempfile.TemporaryDirectory() as scratch:
        path = class_path([*jars, Path(scratch)])
        compile_java(STREAMS_PROGRAM, jars, Path(scratch))
        command = [str(find_java()), *SMALL_JVM, tools.QUIET, "-cp", path, "StreamsMember", bootstrap, scratch]
        program = GuardedProcess(command, Path(scratch) / "log")
        try:
            code = program.wait(90)
        finally:
            program.kill()
        if code:
            raise RuntimeError((Path(scratch) / "log").read_text())


def _deleted(bootstrap: str) -> None:
    """Delete a group, which leaves only tombstones."""
    with Member(bootstrap, "deleted-group", "classic") as member:
        _work(member, "payments", 1)
    eventually(lambda: tools.delete_group(bootstrap, "deleted-group"))


def _work(member: Member, topic: str, turns: int) -> None:
    """Subscribe, and read and commit `turns` times."""
    member.consumer.subscribe([topic])
    for _ in range(turns):
        wait_until(lambda: bool(member.read(5)), f"records of {topic}")
        eventually(member.commit)


def _both_own(first: Member, second: Member) -> bool:
    first.read(5)
    second.read(5)
    return bool(first.consumer.assignment()) and bool(second.consumer.assignment())


def _commit_now(*members: Member) -> None:
    for _ in range(3):
        for member in members:
            member.read(5)
            eventually(member.commit)
        time.sleep(0.2)


def main() -> int:
    """Write the capture. Returns the exit code."""
    CAPTURE.parent.mkdir(parents=True, exist_ok=True)
    rows = record(CAPTURE)
    print(f"{CAPTURE}: {rows} rows, {CAPTURE.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
