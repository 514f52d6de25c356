"""Measures the lookup of all end offsets: 10,000 partitions, one broker, one client.

Run: python -m bench.ends [partitions]. Exits with 1 when an end offset differs from the number of records written.
"""

from __future__ import annotations

import sys
import time
from typing import Final

import numpy as np
from confluent_kafka import Producer

from bench.report import Target, table, target_table
from sandbox.kafka.broker import Broker
from sandbox.kafka.topics import create_topics
from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.client import Cluster

PARTITIONS: Final = 10_000
_PER_TOPIC: Final = 500
_TIMES: Final = 15
_LIMIT: Final = 1.0
_WAIT: Final = 60.0


def main() -> int:
    """Measure and print."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else PARTITIONS
    names = [f"ends-{number:03}" for number in range(-(-size // _PER_TOPIC))]
    with Broker() as broker:
        for name in names:
            create_topics(broker.bootstrap, {name: _PER_TOPIC})
        written = _write(broker.bootstrap, names)
        with Cluster([broker.bootstrap]) as cluster:
            cluster.connect(_WAIT)
            seconds, wrong = _measure(cluster, names, written)
    median = float(np.median(seconds))
    found = f"{len(names) * _PER_TOPIC:,} partitions of {len(names)} topics"
    heads = ("ends of", "seconds (median)", "fastest", "slowest")
    print(table(heads, [(found, f"{median:.2f}", f"{min(seconds):.2f}", f"{max(seconds):.2f}")]))
    print()
    print(target_table([Target(f"ends of {found}", _LIMIT, median, "s")]))
    print("\nEvery end offset equals the number of records written." if not wrong else f"\nWRONG: {wrong} end offsets")
    return 1 if wrong else 0


def _write(bootstrap: str, names: list[str]) -> dict[tuple[str, int], int]:
    """Write a record to every tenth partition."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    written = {(name, partition): 1 for name in names for partition in range(0, _PER_TOPIC, 10)}
    for name, partition in written:
        producer.produce(name, b"x", partition=partition)
    producer.flush(_WAIT)
    return written


def _measure(cluster: Cluster, names: list[str], written: dict[tuple[str, int], int]) -> tuple[list[float], int]:
    """Read all end offsets `_TIMES` times; return the seconds of each read and the number of wrong end offsets."""
    seconds, wrong = [], 0
    for _ in range(_TIMES):
        begin = time.perf_counter()
        ends = read_ends(cluster, names)
        seconds.append(time.perf_counter() - begin)
        columns = (ends.column(name).to_pylist() for name in ("topic", "partition", "high_watermark"))
        high_watermarks = {(topic, partition): high for topic, partition, high in zip(*columns, strict=True)}
        wrong += sum(
            high_watermarks.get((name, partition)) != written.get((name, partition), 0)
            for name in names
            for partition in range(_PER_TOPIC)
        )
    return seconds, wrong


if __name__ == "__main__":
    sys.exit(main())
