"""Transactions that a producer leaves open, as shown by lagwarden and by Kafka's tool.

The coordinator will end the transaction of a killed producer. The other transaction hangs: no coordinator knows it.
"""

from __future__ import annotations

import datetime as dt
import sys
from typing import TYPE_CHECKING, Final

import pytest
from kafka.protocol.producer import ProduceRequest

from sandbox.kafka import log_writer
from sandbox.kafka.broker import Broker
from sandbox.kafka.tools import run_tool
from sandbox.kafka.topics import create_topics
from sandbox.process import GuardedProcess
from sandbox.waiting import LIMIT, wait_until
from stream.cluster.transport.client import Cluster
from stream.health.verdict import Verdict
from tests.integration.ticks import Monitor
from tests.integration.traffic import commit

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.kafka, pytest.mark.long]

TOPICS: Final = ("left-open", "hanging")
TRANSACTIONAL: Final = 0x10
GHOST: Final = 4_711
"""The id of a producer that no coordinator has given out."""
TIMEOUT_MS: Final = 600_000
PRODUCER: Final = f"""
import sys, time
from confluent_kafka import Producer
options = {{"transactional.id": "killed", "transaction.timeout.ms": {TIMEOUT_MS}}}
producer = Producer({{"bootstrap.servers": sys.argv[1], **options}})
producer.init_transactions(60)
producer.begin_transaction()
for _ in range(4):
    producer.produce("left-open", b"v", partition=0)
producer.flush(60)
print("written", flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Return a broker with an open transaction of a killed producer, and one that hangs.

    The broker does not verify transactions, like brokers before 3.6 (KIP-890).
    """
    with Broker(properties={"transaction.partition.verification.enable": "false"}) as started:
        create_topics(started.bootstrap, dict.fromkeys(TOPICS, 1))
        output = tmp_path_factory.mktemp("producer") / "output"
        with GuardedProcess([sys.executable, "-c", PRODUCER, started.bootstrap], output) as producer:
            wait_until(lambda: "written" in output.read_text(), "the records of the transaction")
            producer.kill()
        _write_without_coordinator(started.bootstrap)
        for topic in TOPICS:
            commit(started.bootstrap, f"reads-{topic}", topic, {0: 0})
        yield started


def _write_without_coordinator(bootstrap: str) -> None:
    partition = ProduceRequest.TopicProduceData.PartitionProduceData
    record = log_writer.Rec(0, 0, b"k", b"v")
    fields = {"producer_id": GHOST, "producer_epoch": 0, "base_sequence": 0}
    records = log_writer.batch(0, [record], attributes=TRANSACTIONAL, **fields)
    topic = ProduceRequest.TopicProduceData(name="hanging", partition_data=[partition(index=0, records=records)])
    request = ProduceRequest(transactional_id="ghost", acks=-1, timeout_ms=5_000, topic_data=[topic], max_version=11)
    with Cluster([bootstrap]) as cluster:
        cluster.connect(LIMIT)
        response = cluster.call(request, 1).responses[0].partition_responses[0]
    assert response.error_code == 0, response


@pytest.fixture(scope="module")
def monitor(broker: Broker) -> Iterator[Monitor]:
    """Return a monitor after as many ticks as the verdict needs."""
    with Cluster([broker.bootstrap]) as cluster:
        cluster.connect(LIMIT)
        watching = Monitor(cluster)
        for _ in range(16):
            watching.tick()
        yield watching


def tool(broker: Broker, *arguments: str) -> list[dict[str, str]]:
    """Return the table that `kafka-transactions` prints, by header."""
    output = run_tool("org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", broker.bootstrap, *arguments)
    header, *rows = [line.split("\t") for line in output.splitlines() if "\t" in line]
    names = [name.strip() for name in header]
    return [dict(zip(names, (value.strip() for value in row), strict=True)) for row in rows]


def test_the_transaction_of_a_killed_producer_is_described_as_by_the_tool(broker: Broker, monitor: Monitor) -> None:
    """Producer, epoch, state, timeout and start are equal. The waiting group's finding names the transaction."""
    (described,) = tool(broker, "describe", "--transactional-id", "killed")
    (row,) = monitor.results.transactions["left-open"].to_pylist()
    started = row["start_time"].replace(tzinfo=dt.UTC)
    ours = (row["producer_id"], row["producer_epoch"], row["state"], row["timeout_ms"], started.timestamp() * 1000)
    names = ("ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs", "CurrentTransactionStartTimeMs")
    assert [str(int(each) if isinstance(each, float) else each) for each in ours] == [described[name] for name in names]
    assert (row["hanging"], row["start_offset"], row["timeout_ms"]) == (False, 0, TIMEOUT_MS)
    finding = monitor.result.row_finding(monitor.row("reads-left-open", "left-open"))
    assert finding.verdict is Verdict.HELD_BACK
    assert f"the open transaction of producer {row['producer_id']} (killed)" in finding.sentence
    assert (finding.evidence["last_stable_offset"], finding.evidence["high_watermark"]) == (0, 4)


def test_only_the_hanging_transaction_is_found_as_hanging(broker: Broker, monitor: Monitor) -> None:
    """The result has the topic, producer and start offset of `find-hanging`, which `abort` needs."""
    found = tool(broker, "find-hanging", "--broker-id", "1", "--max-transaction-timeout", "0")
    theirs = [(each["Topic"], int(each["ProducerId"]), int(each["StartOffset"])) for each in found]
    ours = [
        (topic, row["producer_id"], row["start_offset"])
        for topic, table in monitor.results.transactions.items()
        for row in table.to_pylist()
        if row["hanging"]
    ]
    assert ours == theirs == [("hanging", GHOST, 0)]
    finding = monitor.result.row_finding(monitor.row("reads-hanging", "hanging"))
    assert finding.verdict is Verdict.HELD_BACK
    assert f"the hanging transaction of producer {GHOST}" in finding.sentence
    assert (finding.evidence["last_stable_offset"], finding.evidence["high_watermark"]) == (0, 1)
