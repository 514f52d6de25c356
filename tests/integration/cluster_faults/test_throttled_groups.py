"""A group that a quota throttles, beside groups without a quota, in a running monitor: API, page and `explain`."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, Producer

from sandbox.kafka.tools import run_tool
from sandbox.kafka.topics import create_topics
from sandbox.ports import LOOPBACK
from tests.conftest import MakeBroker
from tests.support.monitor import Monitor
from tests.support.processes import LIMIT, eventually, patience, wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]

TOPIC: Final = "orders"
RECORDS: Final = 200
RECORD_BYTES: Final = 10_000
QUOTA: Final = 20_000
"""Bytes per second: all records would take 100 s."""
PATIENCE: Final = 90.0
"""Seconds in which groups form and read on a busy machine."""
SENTENCE: Final = (
    "May be throttled by the quota of 20,000 bytes/s per broker for client-id throttled-app (consumer_byte_rate):"
    " 1 of 1 members."
)


class Member:
    """A member of a group that commits what it reads, and records the throttle times of the brokers' responses."""

    def __init__(self, bootstrap: str, group: str, client_id: str) -> None:
        self.throttled: list[float] = []
        self.read = 0
        self._client = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "client.id": client_id,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "max.partition.fetch.bytes": 5 * RECORD_BYTES,
                "throttle_cb": lambda event: self.throttled.append(event.throttle_time),
                "log_level": 0,
            }
        )
        self._client.subscribe([TOPIC])

    def poll(self) -> None:
        """Read a record if there is one, and commit it."""
        record = self._client.poll(0.2)
        if record is not None and record.error() is None:
            self.read += 1
            eventually(lambda: self._client.commit(record, asynchronous=False))

    def close(self) -> None:
        self._client.close()


@pytest.fixture
def bootstrap(make_broker: MakeBroker) -> str:
    broker = make_broker()
    create_topics(broker.bootstrap, {TOPIC: 1})
    # A broker returns whole batches, and none that is larger than the quota allows in its window of ten seconds.
    producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.num.messages": 1, "log_level": 0})
    for _ in range(RECORDS):
        producer.produce(TOPIC, b"x" * RECORD_BYTES, partition=0)
    assert producer.flush(LIMIT) == 0
    change = ("--alter", "--add-config", f"consumer_byte_rate={QUOTA}")
    entity = ("--entity-type", "clients", "--entity-name", "throttled-app")
    run_tool("kafka.admin.ConfigCommand", "--bootstrap-server", broker.bootstrap, *change, *entity)
    return broker.bootstrap


@pytest.fixture
def members(bootstrap: str) -> Iterator[dict[str, Member]]:
    """Return a throttled member, one that reads all, and one that stops after a record, each of a group of its own."""
    with contextlib.ExitStack() as stack:
        groups = {"throttled": "throttled-app", "free": "free-app", "stopped": "free-app"}
        started = {group: Member(bootstrap, group, client) for group, client in groups.items()}
        for member in started.values():
            stack.callback(member.close)
        wanted = {"throttled": 1, "free": RECORDS, "stopped": 1}
        wait_until(lambda: _all_read(started, wanted), "the records of each group", limit=PATIENCE, pause=0)
        # The throttled member reads at full speed until the quota is used up.
        wait_until(lambda: _is_throttled(started["throttled"]), "a throttle time", limit=PATIENCE, pause=0)
        yield started


def _all_read(members: dict[str, Member], wanted: dict[str, int]) -> bool:
    """Poll the members that have not read all of their records; return whether all members have."""
    behind = [member for group, member in members.items() if member.read < wanted[group]]
    for member in behind:
        member.poll()
    return not behind


def _is_throttled(member: Member) -> bool:
    member.poll()
    return bool(member.throttled)


def test_a_quota_explains_the_lag_of_its_group(bootstrap: str, members: dict[str, Member], tmp_path: Path) -> None:
    """API, page and `explain` name the quota as a possible cause. Groups of another client have none."""
    assert members["throttled"].throttled, "the broker does throttle it"
    assert not members["free"].throttled
    with Monitor(bootstrap, tmp_path) as monitor:
        monitor.wait_ready()
        monitor.wait_for(lambda: _group(monitor, "throttled")["quotas"] is not None, "the quotas")
        throttled, free, stopped = (_group(monitor, name) for name in ("throttled", "free", "stopped"))
        quota = {"user": "", "client_id": "throttled-app", "key": "consumer_byte_rate", "value": QUOTA, "members": 1}
        assert throttled["quotas"] == [{**quota, "sentence": SENTENCE}]
        assert (free["quotas"], stopped["quotas"]) == ([], [])
        assert throttled["lag_sum"] > 0
        assert (free["lag_sum"], stopped["lag_sum"]) == (0, RECORDS - 1)
        texts = {name: _explain(monitor, name) + monitor.get(f"/group?name={name}").text for name in members}
    assert texts["throttled"].count(SENTENCE) == 2, "in the words of the command and on the page"
    assert ["throttled by" in texts[name] for name in ("free", "stopped")] == [False, False]


def _group(monitor: Monitor, name: str) -> dict[str, Any]:
    return monitor.get(f"/api/v1/group?name={name}").json


def _explain(monitor: Monitor, name: str) -> str:
    command = [sys.executable, "-m", "stream.cli", "explain", name, "--url", f"http://{LOOPBACK}:{monitor.port}"]
    return " ".join(
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=patience(60)).stdout.split()
    )
