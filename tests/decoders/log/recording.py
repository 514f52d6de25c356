"""Records the log directory of a real broker with data of every kind, and the official dump tool's output for it.

`python -m tests.decoders.log.recording` re-creates `recorded/`, a small copy for the quick tests, which start no JVM.
"""

import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition

from sandbox.kafka.broker import Broker, create_topics
from sandbox.kafka.jars import broker_jars
from sandbox.kafka.java import SMALL_JVM, class_path, find_java
from sandbox.kafka.tools import tool_archive

RECORDED: Final = Path(__file__).with_name("recorded")
CODECS: Final = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
TOOL: Final = "org.apache.kafka.tools.DumpLogSegments"
COMPACTED: Final = "compacted"
COMPACTION: Final = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "300",
    "delete.retention.ms": "1000",
}
MAX_TURNS: Final = 60
PROPERTIES: Final = {
    # By default the cleaner runs every 15 s.
    "log.cleaner.backoff.ms": "200",
    # An index entry for nearly every batch, and a metadata snapshot every few records.
    "log.index.interval.bytes": "200",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
}


def record(folder: Path, records: int) -> Path:
    """Write `records` records per codec and some transactions to a broker; return its log directory."""
    with Broker(folder, offsets_partitions=1, properties=PROPERTIES) as broker:
        for codec in CODECS:
            create_topics(broker.bootstrap, {codec: 1}, {"compression.type": codec})
        # An idempotent producer that writes immediately after topic creation can loop on its first sequence number.
        time.sleep(0.6)
        _produce(broker.bootstrap, records)
        _transact(broker.bootstrap)
        _compact(broker)
        broker.stop()
    return folder / "data"


def _produce(bootstrap: str, records: int) -> None:
    rng = random.Random(1)  # noqa: S311  # repeatable test data
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "log_level": 0})
    for codec in CODECS:
        for n in range(records):
            value = rng.choice([b"x" * n, rng.randbytes(n).hex().encode(), "zäh€".encode() * n])
            producer.produce(
                codec,
                key=None if n % 7 == 0 else b"k%d" % n,
                value=None if n % 5 == 0 else value,
                headers=[("h", b"1"), ("two", None)] if n % 11 == 0 else None,
                timestamp=1_700_000_000_000 + rng.randrange(100_000),
            )
            if n % 20 == 19:
                producer.flush()
    producer.flush()


def _transact(bootstrap: str) -> None:
    """Commit and abort alternating transactions with offsets, and commit one offset without a transaction."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "tx", "log_level": 0})
    producer.init_transactions()
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "a-group",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.subscribe(["uncompressed"])
    while not consumer.consume(10, 1):
        pass
    for turn in range(6):
        producer.begin_transaction()
        for n in range(3):
            producer.produce("zstd", value=b"tx%d-%d" % (turn, n))
            producer.produce("uncompressed", value=b"tx%d-%d" % (turn, n))
        offsets = [TopicPartition("uncompressed", 0, turn + 1)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata())
        producer.flush()
        (producer.abort_transaction if turn % 2 else producer.commit_transaction)()
    consumer.commit(offsets=[TopicPartition("uncompressed", 0, 50)], asynchronous=False)
    consumer.close()


def _compact(broker: Broker) -> None:
    """Overwrite and delete keys in a compacted topic until the cleaner has compacted it."""
    create_topics(broker.bootstrap, {COMPACTED: 1}, COMPACTION)
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "linger.ms": 20, "log_level": 0}
    )
    checkpoint = broker.data / "cleaner-offset-checkpoint"
    for turn in range(MAX_TURNS):
        for n in range(12):
            key = n if turn % 2 else n * 7 % 5 + turn
            producer.produce(COMPACTED, key=b"key%d" % key, value=None if n % 4 == 3 else b"turn %d" % turn)
        producer.flush()
        time.sleep(0.4)
        if turn > 8 and checkpoint.exists() and f"{COMPACTED} 0" in checkpoint.read_text():
            return
    raise TimeoutError("the log cleaner did not compact the topic")


def files_of(root: Path) -> list[Path]:
    """Return the segments but those of KRaft, relative to the root, sorted."""
    return sorted(file.relative_to(root) for file in root.rglob("*.log") if "__cluster_metadata" not in str(file))


def official_dump(root: Path, files: list[Path], *options: str) -> tuple[list[str], list[str], int]:
    """Run the official tool in a folder; return the lines of both outputs and the exit code."""
    command = [
        *(str(find_java()), *SMALL_JVM, "-Dfile.encoding=UTF-8", "-Dsun.stdout.encoding=UTF-8"),
        *tool_archive(TOOL).flags_to_use(),
        *("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", class_path(broker_jars()), TOOL),
        *("--files", ",".join(map(str, files)), *options),
    ]
    process = subprocess.run(command, capture_output=True, check=False, timeout=120, cwd=root)
    return lines_of(process.stdout), lines_of(process.stderr), process.returncode


def lines_of(output: bytes) -> list[str]:
    """Split at line feeds only, because the text of a record may contain other line ends."""
    return output.decode("utf-8", "replace").split("\n")[:-1]


def make_recorded() -> None:
    """Re-create `recorded/`."""
    with tempfile.TemporaryDirectory() as scratch:
        data = record(Path(scratch) / "broker", 45)
        shutil.rmtree(RECORDED, ignore_errors=True)
        RECORDED.mkdir()
        for topic in (*CODECS, COMPACTED, "__consumer_offsets"):
            shutil.copytree(data / f"{topic}-0", RECORDED / f"{topic}-0")
        for file in ("replication-offset-checkpoint", "log-start-offset-checkpoint"):
            shutil.copy(data / file, RECORDED / file)
    for path in RECORDED.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    lines, _, _ = official_dump(RECORDED, files_of(RECORDED), "--print-data-log")
    (RECORDED / "official-data.txt").write_bytes("".join(f"{line}\n" for line in lines).encode())


if __name__ == "__main__":
    make_recorded()
