"""Readiness depends on the position in the offsets topic, for every kind of log tail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream.groups.placement import partition_for
from tests.integration.traffic import (
    FAST_RETENTION,
    OFFSETS_TOPIC,
    begin_transaction,
    commit,
    commit_in,
    committed_at_broker,
    end_transaction,
    expire_records,
    make_topic,
    offsets_ends,
    topics_of,
)
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MakeBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(400)]


def groups_by_partition(partitions: int) -> dict[int, str]:
    """Return a group id for each offsets partition."""
    found: dict[int, str] = {}
    number = 0
    while len(found) < partitions:
        found.setdefault(partition_for(f"in-{number}", partitions), f"in-{number}")
        number += 1
    return found


def test_monitor_waits_for_the_offsets_topic_and_does_not_create_it(make_broker: MakeBroker, tmp_path: Path) -> None:
    """Readiness names the missing topic, and the monitor is ready after the first commit."""
    bootstrap = make_broker().bootstrap
    make_topic(bootstrap, "t", 1)
    with Monitor(bootstrap, tmp_path) as monitor:
        monitor.wait_for(lambda: monitor.readiness().get("phase") == "waiting for topic", "the phase waiting for topic")
        for _ in range(3):
            monitor.wait_answering()
            assert monitor.get("/readyz").status == 503
            assert "no group has ever committed" in monitor.reasons()
        shown = monitor.metrics()
        assert (shown.value("lagwarden_ready"), shown.value("lagwarden_kafka_reachable")) == (0, 1)
        assert shown.groups == set()
        assert topics_of(bootstrap) == {"t"}
        assert len(monitor.wait_events("offsets topic missing; no group has committed on this cluster yet")) == 1

        commit(bootstrap, "very first", "t", {0: 4})
        monitor.wait_ready()
        assert monitor.wait_read(offsets_ends(bootstrap)).committed == {("very first", "t", 0): 4}


def test_log_tails_without_records_do_not_delay_readiness(make_broker: MakeBroker, tmp_path: Path) -> None:
    """The monitor is ready with logs that are empty, expired, end in a marker, or have an open transaction."""
    bootstrap = make_broker(offsets_partitions=6, properties=FAST_RETENTION).bootstrap
    make_topic(bootstrap, "t", 3)
    group = groups_by_partition(6)
    # 0 stays empty. 3 has no records left, but a log start offset above 0.
    commit(bootstrap, group[3], "t", {0: 3}, times=5)
    expire_records(bootstrap, OFFSETS_TOPIC, 3)
    # 1 ends in a commit marker, 2 in an aborted transaction, whose records are not readable.
    producer = begin_transaction(bootstrap, "ends")
    commit_in(producer, bootstrap, group[1], "t", {0: 1})
    end_transaction(bootstrap, producer, commit=True)
    commit(bootstrap, group[2], "t", {0: 2})
    producer.begin_transaction()
    commit_in(producer, bootstrap, group[2], "t", {0: 9})
    end_transaction(bootstrap, producer, commit=False)
    # 4 is blocked by an open transaction. 5 is a usual log.
    commit(bootstrap, group[4], "t", {0: 4})
    held = begin_transaction(bootstrap, "holds")
    commit_in(held, bootstrap, group[4], "t", {0: 8})
    commit(bootstrap, group[5], "t", {0: 5})

    with Monitor(bootstrap, tmp_path) as monitor:
        shown = monitor.wait_ready().metrics()
        assert shown.committed == {(group[number], "t", 0): number for number in (1, 2, 4, 5)}
        assert set(shown.offsets_partitions("distance").values()) == {0}
        assert shown.offsets_partitions("position")[3] == 5
        assert {n: gap for n, gap in shown.offsets_partitions("stable_gap").items() if gap} == {4: 1}
        end_transaction(bootstrap, held, commit=False)
        shown = monitor.wait_read(offsets_ends(bootstrap))
        assert set(shown.offsets_partitions("stable_gap").values()) == {0}
        assert shown.committed == committed_at_broker(bootstrap, [group[number] for number in (1, 2, 4, 5)])
