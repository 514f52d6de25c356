"""Brokers of every release of Kafka that the sandbox can run, compared with the tools of that release."""

import contextlib
import time
from typing import Any, Final

import pytest

from exporters.cluster.model import ClusterFacts
from sandbox.kafka import jars
from sandbox.kafka.tools import run_tool
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.client import Cluster
from stream.cluster_facts.poll import ClusterPoll, PollOptions
from stream.offline.folder import LogFolder
from stream.offline.live import LiveTopics
from stream.offline.rows import LogRow, RowSource, decode
from tests.exporters.snapshots import snapshot
from tests.integration.ticks import Monitor
from tests.integration.traffic import (
    begin_transaction,
    commit,
    commit_in,
    consumer,
    end_transaction,
    join_and_commit,
    make_topic,
    tool_offsets_and_lags,
)
from tests.support.processes import LIMIT
from tests.support.releases import RELEASES, Release, releases, wait_for_controller

pytestmark = [pytest.mark.kafka, pytest.mark.long]

CONSOLE: Final = "org.apache.kafka.tools.consumer.ConsoleConsumer"
QUORUM: Final = {"leader_epoch", "metadata_high_watermark", "quorum_voters", "quorum_voters_behind"}
OF_FACT: Final = {
    "quotas": {"quotas"},
    "reassignments": {"reassigning_partitions", "adding_replicas", "removing_replicas"},
}
"""The numbers that are absent where a fact is not supported."""
RECORDS: Final = {0: 100, 1: 101, 2: 102}
"""Records of each partition of the topic."""


def test_every_release_has_a_case() -> None:
    """Each release that the sandbox can run has a case, from 3.7 on with the coordinator of Kafka 4."""
    assert list(dict.fromkeys(case.version for case in RELEASES)) == [*jars.RELEASES]
    new = dict.fromkeys(case.version for case in RELEASES if not case.classic)
    assert [*new] == [case for case in jars.RELEASES if not Release(case, None).is_before("3.7")]


@pytest.mark.parametrize("release", releases("3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"))
@pytest.mark.usefixtures("make_broker")  # skips without Java
def test_groups_and_facts_are_those_of_the_tools(release: Release) -> None:
    """Offsets and lags of all kinds of groups, records on disk and facts are equal, and all records are decoded.

    So they are after a restart of the broker.
    """
    with release.running() as broker, contextlib.ExitStack() as clients:
        bootstrap = broker.bootstrap
        make_topic(bootstrap, "t", len(RECORDS), records=RECORDS[0])
        expected, kinds = _traffic(bootstrap, clients, release)
        cluster = clients.enter_context(Cluster([bootstrap]))
        cluster.connect(LIMIT)
        monitor = Monitor(cluster)
        _assert_agreement(bootstrap, release, monitor, expected)
        broker.stop()
        wait_for_controller(broker.start())
        commit(bootstrap, "simple", "t", {0: 1, 2: 101})
        expected |= {("simple", "t", 0): 1, ("simple", "t", 2): 101}
        _assert_agreement(bootstrap, release, monitor, expected)
        assert {name: (each.kind, each.state) for name, each in monitor.hidden.state.memberships.items()} == kinds
        rows = _rows(LiveTopics(cluster, [NAME]))
        assert [row for row in rows if isinstance(decode(row), str)] == []
        assert rows == _rows(LogFolder(broker.data))
        _assert_known(_facts(cluster, expected), release)


def _assert_agreement(bootstrap: str, release: Release, monitor: Monitor, expected: dict[Any, int]) -> None:
    """Assert that offsets and lags are those of the release's own tool."""
    committed, lags = tool_offsets_and_lags(bootstrap, release.version)
    assert committed == expected
    shown = _shown(monitor)
    assert {place: offset for place, (offset, _) in shown.items()} == committed
    assert {place: lag for place, (_, lag) in shown.items()} == lags


def _traffic(
    bootstrap: str, clients: contextlib.ExitStack, release: Release
) -> tuple[dict[Any, int], dict[str, tuple[str, str]]]:
    """Commit as every kind of group of the release; members stay until `clients` are closed.

    Return the committed offsets, and kind and state of the groups that have or had members.
    """
    commit(bootstrap, "simple", "t", {0: 0, 1: 50, 2: 102})
    expected = {("simple", "t", 0): 0, ("simple", "t", 1): 50, ("simple", "t", 2): 102}
    kinds = {"classic": ("classic", "Stable")}
    _join(bootstrap, clients, "classic", expected)
    if release.version.startswith("4"):
        kinds["new"] = ("consumer", "Stable")
        _join(bootstrap, clients, "new", expected, group_protocol="consumer")
    elif not release.classic:
        kinds["new"] = ("consumer", "Empty")
        _read_with_the_console(bootstrap, release, expected)
    producer = begin_transaction(bootstrap, "tx")
    commit_in(producer, bootstrap, "transactional", "t", {0: 40, 1: 41})
    end_transaction(bootstrap, producer, commit=True)
    producer.begin_transaction()
    commit_in(producer, bootstrap, "transactional", "t", {0: 90, 2: 92})
    end_transaction(bootstrap, producer, commit=False)
    return expected | {("transactional", "t", 0): 40, ("transactional", "t", 1): 41}, kinds


def _join(bootstrap: str, clients: contextlib.ExitStack, group: str, expected: dict[Any, int], **options: str) -> None:
    client = clients.enter_context(consumer(bootstrap, group, **options))
    join_and_commit(client, "t", {0: 10, 1: 11, 2: 12})
    expected |= {(group, "t", partition): 10 + partition for partition in RECORDS}


def _read_with_the_console(bootstrap: str, release: Release, expected: dict[Any, int]) -> None:
    """Read the topic as a group of KIP-848 in its preview, which only Java clients of that time have."""
    properties = ("group.id=new", "group.protocol=consumer")
    run_tool(
        *(
            CONSOLE,
            "--bootstrap-server",
            bootstrap,
            "--topic",
            "t",
            "--from-beginning",
            "--timeout-ms",
            "30000",
        ),
        *("--max-messages", str(sum(RECORDS.values()))),
        *(word for each in properties for word in ("--consumer-property", each)),
        version=release.version,
    )
    expected |= {("new", "t", partition): end for partition, end in RECORDS.items()}


def _shown(monitor: Monitor) -> dict[Any, tuple[int, int]]:
    """Return committed offset and lag of each partition of a group after a tick."""
    result, state = monitor.tick(), monitor.hidden.state
    rows = zip(state.group.to_pylist(), state.topic.to_pylist(), state.partition.tolist(), strict=True)
    return {
        place: (offset, int(result.window.lag[monitor.row(*place)]))
        for place, offset in zip(rows, state.runs.spans.last_offset.tolist(), strict=True)
    }


def _rows(source: RowSource) -> list[LogRow]:
    rows = sorted(source.rows(), key=lambda row: (row.topic, row.partition, row.offset))
    assert rows
    assert not source.problems
    return rows


def _facts(cluster: Cluster, places: dict[Any, int]) -> ClusterFacts:
    read = [{"group": group, "topic": topic, "partition": partition} for group, topic, partition in places]
    return ClusterPoll(cluster, PollOptions(100)).poll(snapshot(read), time.time())


def _assert_known(facts: ClusterFacts, release: Release) -> None:
    """Assert that only those facts are absent that docs/support.md names for the release."""
    since = {"reassignments": "2.4", "quotas": "2.6"}
    unsupported = {fact for fact, version in since.items() if release.is_before(version)}
    assert {row["fact"]: row["reason"] for row in facts.unknown_facts.to_pylist()} == dict.fromkeys(
        unsupported, "unsupported"
    )
    assert facts.controller == 1
    (totals,) = facts.cluster_totals.to_pylist()
    absent = set().union(*(OF_FACT[fact] for fact in unsupported), () if release.level else QUORUM)
    assert {name for name, value in totals.items() if value is None} == absent
    levels = {row["feature"]: row["level"] for row in facts.features.to_pylist()}
    assert levels.get("metadata.version") == release.level
    assert facts.cleaner_suspect is False
    assert facts.mixed_versions == ()
