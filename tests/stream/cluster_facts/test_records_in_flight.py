"""The records in flight as derived from the log of share groups, against the leader's number in JMX (KIP-1103)."""

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka import Producer

from sandbox.clients.java_clients import JavaClients
from sandbox.kafka.broker import create_topics
from sandbox.kafka.tools import ToolError, run_tool, table_rows
from sandbox.ports import LOOPBACK, free_port
from sandbox.waiting import LIMIT, wait_until
from stream.cluster.topology import read_topology
from stream.cluster.transport.client import Cluster
from stream.cluster_facts.share_groups import ShareGroups
from stream.cluster_facts.tables import Unknown
from tests.conftest import MakeBroker

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(400)]

JMX_TOOL: Final = "org.apache.kafka.tools.JmxTool"
SHARE_TOOL: Final = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
IN_FLIGHT: Final = re.compile(r"name=InFlightMessageCount,group=([\w-]+),topic=jobs,partition=0:Value=(\d+)")
NO_METRIC: Final = "No matched attributes"
"""What the tool says before the first fetch of a share group."""
PATIENCE: Final = 120.0
"""Seconds in which groups form and deliveries end, on a busy machine."""
# The members of a group hold their records for longer than this test takes, so the lock must not expire.
LOCKS: Final = {"group.share.record.lock.duration.ms": "600000", "group.share.max.record.lock.duration.ms": "3600000"}
MEMBERS: Final = {
    "holds": {"acknowledge": "NEVER"},
    "releases": {"acknowledge": "RELEASE", "hold.ms": "3000"},
    "accepts": {"acknowledge": "ACCEPT", "hold.ms": "3000"},
}
"""What the member of each group does with the records that it gets."""


class Bounds(NamedTuple):
    """The bounds of a group's records in flight, as derived from the log."""

    start_offset: int | None
    returned: int
    lag: int | None


def jvm_with_jmx(port: int) -> Sequence[str]:
    jmx = "-Dcom.sun.management.jmxremote"
    return (
        f"{jmx}.port={port}",
        f"{jmx}.host={LOOPBACK}",
        f"{jmx}.authenticate=false",
        f"{jmx}.ssl=false",
        f"-Djava.rmi.server.hostname={LOOPBACK}",
    )


def in_flight(port: int) -> dict[str, int]:
    url = f"service:jmx:rmi:///jndi/rmi://{LOOPBACK}:{port}/jmxrmi"
    name = "kafka.server:type=SharePartitionMetrics,name=InFlightMessageCount,*"
    words = ("--jmx-url", url, "--object-name", name, "--one-time", "--report-format", "properties")
    try:
        output = run_tool(JMX_TOOL, *words)
    except ToolError as error:
        if NO_METRIC not in str(error):
            raise
        return {}
    return {group: int(value) for group, value in IN_FLIGHT.findall(output)}


def test_records_in_flight_are_between_the_returned_ones_and_the_lag(make_broker: MakeBroker, tmp_path: Path) -> None:
    """The leader's number is between `returned` and the lag. A group without an ended delivery has no bounds."""
    port = free_port()
    broker = make_broker(properties=LOCKS, jvm=jvm_with_jmx(port))
    create_topics(broker.bootstrap, {"jobs": 1})
    producer = Producer({"bootstrap.servers": broker.bootstrap})

    def produce() -> None:
        for _ in range(20):
            producer.produce("jobs", b"x")
        producer.flush(LIMIT)

    with JavaClients(broker.bootstrap, tmp_path / "java.log") as clients, Cluster([broker.bootstrap]) as cluster:
        for group, how in MEMBERS.items():
            config = {"group.id": group, "share.acknowledgement.mode": "explicit", **how}
            clients.open(group, config, ["jobs"], kind="share")
        reader = ShareGroups(cluster)

        def rows() -> dict[str, Bounds]:
            unknown = Unknown()
            found: list[dict[str, Any]] = reader.poll(
                read_topology(cluster), unknown, time.time()
            ).share_partitions.to_pylist()
            return {row["group"]: Bounds(row["start_offset"], row["returned"], row["lag"]) for row in found}

        def all_hold() -> bool:
            produce()
            leader = in_flight(port)
            return leader.keys() == MEMBERS.keys() and all(leader.values())

        wait_until(all_hold, "records in flight of all groups", limit=PATIENCE)
        seen: dict[str, list[tuple[int, int, int]]] = {group: [] for group in MEMBERS}

        def is_between() -> bool:
            """Compare once; a group that changed while the tool ran is compared the next time."""
            produce()
            before, leader, after = rows(), in_flight(port), rows()
            for group, bounds in before.items():
                if bounds == after[group] and bounds.lag is not None:
                    seen[group].append((bounds.returned, leader[group], bounds.lag))
            return all(len(seen[group]) >= 3 for group in ("releases", "accepts"))

        wait_until(is_between, "three comparisons", limit=PATIENCE)
        assert all(low <= number <= high for group in seen for low, number, high in seen[group]), seen
        assert any(low > 0 for low, _, _ in seen["releases"])
        assert any(number < high for group in seen for _, number, high in seen[group])
        assert in_flight(port)["holds"] > 0
        assert rows()["holds"] == Bounds(None, 0, None)
        (output,) = table_rows(clients.tool(SHARE_TOOL, "--describe", "--offsets", "--group", "holds"))
        assert (output["START-OFFSET"], output["LAG"]) == (None, None), "no request tells more"
