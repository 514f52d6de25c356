"""Partitions that are added to `__consumer_offsets` while the monitor runs are read without a restart."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import pytest

from sandbox.kafka import tools
from stream.errors import ExitCode
from stream.groups.placement import partition_for
from tests.integration.traffic import OFFSETS_TOPIC, commit, committed_at_broker, make_topic, offsets_ends
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MakeBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(500)]

BEFORE: Final = 4
AFTER: Final = 10
NAMES: Final = tuple(f"group-{number}" for number in range(40))
STAYING: Final = tuple(name for name in NAMES if partition_for(name, BEFORE) == partition_for(name, AFTER))
MOVING: Final = tuple(name for name in NAMES if partition_for(name, AFTER) >= BEFORE)
LATE: Final = tuple(name for name in (f"late-{number}" for number in range(30)) if partition_for(name, AFTER) >= BEFORE)


def add_partitions(bootstrap: str, partitions: int) -> None:
    """Increase the number of partitions of the offsets topic, with Kafka's tool."""
    alter = ("--alter", "--topic", OFFSETS_TOPIC, "--partitions", str(partitions))
    tools.run_tool("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", bootstrap, *alter)


def test_added_partitions_are_read_without_a_restart(make_broker: MakeBroker, tmp_path: Path) -> None:
    """Readiness waits until the added partitions are read. Moved groups are shown once, also after a restart."""
    broker = make_broker(offsets_partitions=BEFORE)
    make_topic(broker.bootstrap, "t", 2, records=100)
    for name in (*STAYING, *MOVING):
        commit(broker.bootstrap, name, "t", {0: 5, 1: 6})
    with Monitor(broker.bootstrap, tmp_path) as monitor:
        monitor.wait_ready()
        # The monitor can have read the partitions before the tool has ended, so readiness is read beside the tool.
        with ThreadPoolExecutor(1) as tool:
            added = tool.submit(add_partitions, broker.bootstrap, AFTER)
            monitor.wait_for(lambda: "partitions added to __consumer_offsets" in monitor.reasons(), "the reason")
            added.result()
        (line,) = monitor.wait_events("partitions added to __consumer_offsets; reading them from their start")
        assert line["partitions"] == list(range(BEFORE, AFTER))
        monitor.wait_ready()

        # A broker counts the partitions once, when it starts.
        broker.stop()
        broker.start()
        for name in (*STAYING, *MOVING, *LATE):
            commit(broker.bootstrap, name, "t", {0: 7})
        ends = offsets_ends(broker.bootstrap)
        assert any(ends[partition] for partition in range(BEFORE, AFTER))
        by_broker = committed_at_broker(broker.bootstrap, (*STAYING, *MOVING, *LATE))
        shown = monitor.wait_read(ends)
        assert shown.committed == by_broker
        assert shown.offsets_partitions("position").keys() == set(range(AFTER))
        assert monitor.get("/readyz").status == 200
        assert shown.value("lagwarden_resyncs_total") == 0

        assert monitor.stop().code == ExitCode.OK
        shown = monitor.start().wait_ready().metrics()
        assert shown.committed == by_broker
        assert shown.value("lagwarden_resyncs_total") == 0
