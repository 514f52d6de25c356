"""Several instances that share the groups of one cluster together show exactly what one instance shows."""

import contextlib
import functools
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from exporters.catalogue.metrics import METRICS
from sandbox.clients.java_clients import JavaClients
from sandbox.kafka.tools import table_rows
from stream.groups.placement import EVERY_GROUP, InstancePart, owner_of
from tests.conftest import MakeBroker
from tests.integration.traffic import commit, consumer, join_and_commit, make_topic, offsets_ends
from tests.support.monitor import Monitor
from tests.support.processes import LIMIT, patience
from tests.support.scrape import Metrics

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(patience(900))]

SHARE_TOOL: Final = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
PARTITIONS: Final = 5
INSTANCES: Final = 2
NAMES: Final = tuple(f"group-{number}" for number in range(20))
FACTS: Final = ("lag_sum", "state", "kind", "members", "partitions", "transitions")
"""Columns of the API that do not change with time."""
SAME: Final = (
    "lagwarden_partition_committed_offset",
    "lagwarden_partition_lag",
    "lagwarden_partition_commit_timestamp_seconds",
    "lagwarden_group_info",
    "lagwarden_group_lag",
    "lagwarden_group_partitions",
    "lagwarden_group_members",
    "lagwarden_group_last_commit_timestamp_seconds",
    "lagwarden_group_created_timestamp_seconds",
    "lagwarden_group_transitions_total",
    "lagwarden_group_topic_lag",
    "lagwarden_offsets_partition_position",
    "lagwarden_offsets_partition_high_watermark",
    "lagwarden_offsets_partition_distance",
)
"""Metrics of groups and of offsets partitions whose values do not change while nothing commits."""


def series(shown: Metrics, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    """Return the samples of a metric by their labels."""
    return {tuple(sorted(labels.items())): value for labels, value in shown.rows(name)}


def answers(monitor: Monitor) -> dict[str, dict[str, Any]]:
    """Return the API's answer for each group, without the fields that change with time."""
    rows = monitor.get("/api/v1/groups?limit=1000").json["groups"]
    return {row["group"]: {name: row[name] for name in FACTS if name in row} for row in rows}


def instance(bootstrap: str, folder: Path, share: InstancePart) -> Monitor:
    """Return the monitor of these groups; `with` starts it."""
    folder.mkdir()
    return Monitor(bootstrap, folder, {"job.instance": str(share), "cluster.interval": "1s"})


def test_several_instances_show_what_one_shows(make_broker: MakeBroker, tmp_path: Path) -> None:
    """Each group and each fact is shown once. An instance with another part sets its checkpoint aside."""
    broker = make_broker(offsets_partitions=PARTITIONS)
    make_topic(broker.bootstrap, "t", 2, records=100)
    make_topic(broker.bootstrap, "u", 3, records=50)
    for number, name in enumerate(NAMES):
        commit(broker.bootstrap, name, "tu"[number % 2], {0: number, 1: 2 * number})
    with consumer(broker.bootstrap, "with-members") as client:
        join_and_commit(client, "t", {0: 7, 1: 8})
    ends = offsets_ends(broker.bootstrap)
    assert {partition for partition, end in ends.items() if end} == set(range(PARTITIONS))

    with instance(broker.bootstrap, tmp_path / "one", EVERY_GROUP) as monitor:
        monitor.wait_ready()
        monitor.wait_for(lambda: bool(monitor.metrics().rows("lagwarden_broker_info")), "facts about the cluster")
        one, one_says = monitor.wait_read(ends), answers(monitor)
    assert one.groups >= {*NAMES, "with-members"}

    shares = [InstancePart(index, INSTANCES) for index in range(INSTANCES)]
    with contextlib.ExitStack() as stack:
        monitors = [
            stack.enter_context(instance(broker.bootstrap, tmp_path / str(share.index), share)) for share in shares
        ]
        for monitor in monitors:
            monitor.wait_ready()
        first, second = monitors
        first.wait_for(lambda: bool(first.metrics().rows("lagwarden_broker_info")), "facts about the cluster")
        parts = [monitor.wait_read(share.of(ends)) for monitor, share in zip(monitors, shares, strict=True)]

        for share, part in zip(shares, parts, strict=True):
            assert part.groups == {name for name in one.groups if owner_of(name, PARTITIONS, INSTANCES) == share}
            assert part.rows("lagwarden_instance_info") == [({"part": str(share)}, 1)]
        for name in SAME:
            found = [series(part, name) for part in parts]
            assert not found[0].keys() & found[1].keys(), name
            assert found[0] | found[1] == series(one, name), name
        assert answers(first) | answers(second) == one_says
        assert not answers(first).keys() & answers(second).keys()

        # Facts about topics that groups of both read are the same, and those about brokers are shown by the first.
        found = [series(part, "lagwarden_topic_partition_end_offset") for part in parts]
        assert found[0] | found[1] == found[1] | found[0] == series(one, "lagwarden_topic_partition_end_offset")
        about_cluster = {metric.name for metric in METRICS if metric.source.in_cluster}
        assert not {name for name in about_cluster if parts[1].rows(name)}
        for name in ("lagwarden_broker_info", "lagwarden_broker_leaders", "lagwarden_topic_partitions"):
            assert series(parts[0], name) == series(one, name) != {}, name
        assert second.get("/api/v1/cluster").status == 503

        # The number of instances changes: the checkpoint of one of them has the wrong groups.
        second.stop()
        second.start("--set", "job.instance=0/1").wait_ready()
        (line,) = second.wait_events("checkpoint set aside; reading the topic from its start")
        assert "the checkpoint has the groups of instance 1/2, and job.instance is 0/1" in line["why"]
        again = second.wait_read(ends)
        assert again.committed == one.committed
        assert again.value("lagwarden_resyncs_total") == 1


def _share_lags(monitor: Monitor) -> dict[str, float]:
    return {labels["group"]: lag for labels, lag in monitor.metrics().rows("lagwarden_share_group_lag")}


def _has_finished(monitor: Monitor) -> bool:
    return not any(_share_lags(monitor).values())


def _is_caught_up(monitor: Monitor, path: str) -> bool:
    return bool(monitor.get(path).json["verdict"] == "caught_up")


def test_each_instance_has_the_progress_of_its_share_groups(make_broker: MakeBroker, tmp_path: Path) -> None:
    """All share groups have a verdict and the lag of Kafka's tool, each on one instance."""
    broker = make_broker(offsets_partitions=PARTITIONS)
    make_topic(broker.bootstrap, "jobs", 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    names = NAMES[:6]
    owners = {name: owner_of(name, PARTITIONS, INSTANCES).index for name in names}
    assert {*owners.values()} == {0, 1}
    with JavaClients(broker.bootstrap, tmp_path / "java.log") as clients, contextlib.ExitStack() as stack:
        for name in names:
            clients.open(name, {"group.id": name}, ["jobs"], kind="share")
        monitors = [
            stack.enter_context(instance(broker.bootstrap, tmp_path / str(index), InstancePart(index, INSTANCES)))
            for index in range(INSTANCES)
        ]
        for monitor in monitors:
            monitor.wait_ready()

        def all_finished() -> bool:
            for _ in range(10):
                producer.produce("jobs", b"x")
            producer.flush(LIMIT)
            return all(
                len(_share_lags(monitor)) == list(owners.values()).count(at) for at, monitor in enumerate(monitors)
            )

        monitors[0].wait_for(all_finished, "the progress of all share groups", 120)
        for at, monitor in enumerate(monitors):
            monitor.wait_for(functools.partial(_has_finished, monitor), "all records finished")
            assert _share_lags(monitor) == {name: 0 for name in names if owners[name] == at}
            for name in _share_lags(monitor):
                path = f"/api/v1/groups/{name}"
                # The next tick evaluates what the poll has read.
                is_fine = functools.partial(_is_caught_up, monitor, path)
                monitor.wait_for(is_fine, f"the verdict of {name}")

                def agrees(monitor: Monitor = monitor, path: str = path, name: str = name) -> bool:
                    """Compare with the tool; the last records may be newer than the last poll."""
                    (row,) = monitor.get(path).json["by_share_partition"]
                    (by_tool,) = table_rows(clients.tool(SHARE_TOOL, "--describe", "--offsets", "--group", name))
                    return (str(row["start_offset"]), str(row["lag"])) == (by_tool["START-OFFSET"], by_tool["LAG"])

                monitor.wait_for(agrees, f"{name} as the tool shows it", 60)
        assert monitors[1].get("/api/v1/cluster").status == 503
