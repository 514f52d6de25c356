"""Consumers of the libraries for Python, each with its own defaults but for the session and the start.

`consume.py LIBRARY BOOTSTRAP GROUP` reads the topic with the name of the group and commits until SIGTERM, and then
closes.
"""

import asyncio
import signal
import sys
import threading

stopped = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stopped.set())


def confluent(bootstrap: str, group: str, protocol: str = "classic") -> None:
    """Read with confluent-kafka, which is librdkafka."""
    from confluent_kafka import Consumer  # noqa: PLC0415 - only the library in use is installed

    session = {} if protocol == "consumer" else {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000}
    config = {"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": protocol, **session}
    consumer = Consumer({**config, "auto.offset.reset": "earliest"})
    consumer.subscribe([group])
    while not stopped.is_set():
        consumer.poll(0.2)
    consumer.close()


def kafka_python(bootstrap: str, group: str) -> None:
    """Read with kafka-python."""
    from kafka import KafkaConsumer  # noqa: PLC0415 - only the library in use is installed

    options = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 1000, "auto_offset_reset": "earliest"}
    consumer = KafkaConsumer(group, bootstrap_servers=bootstrap, group_id=group, **options)
    while not stopped.is_set():
        consumer.poll(200)
    consumer.close()


def aiokafka(bootstrap: str, group: str) -> None:
    """Read with aiokafka."""
    asyncio.run(_aiokafka(bootstrap, group))


async def _aiokafka(bootstrap: str, group: str) -> None:
    from aiokafka import AIOKafkaConsumer  # type: ignore[import-not-found]  # noqa: PLC0415 - only here

    options = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 1000, "auto_offset_reset": "earliest"}
    consumer = AIOKafkaConsumer(group, bootstrap_servers=bootstrap, group_id=group, **options)
    await consumer.start()
    while not stopped.is_set():
        await consumer.getmany(timeout_ms=200)
    await consumer.stop()


def spark(bootstrap: str, group: str) -> None:
    """Read with Spark's Kafka source, which commits to a checkpoint of its own, and print what was read."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only the library in use is installed

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": group, "groupIdPrefix": f"{group}-reader"}
    source = session.readStream.format("kafka").options(**options, startingOffsets="earliest").load()
    query = source.selectExpr("CAST(value AS STRING)").writeStream.format("console").start()
    stopped.wait()
    query.stop()


def main() -> None:
    """Run the library that the command line names."""
    programs = {"confluent": confluent, "kafka-python": kafka_python, "aiokafka": aiokafka, "spark": spark}
    library, *protocol = sys.argv[1].split()
    programs[library](*sys.argv[2:], *protocol)


if __name__ == "__main__":
    main()
