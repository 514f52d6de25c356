"""A running monitor while a transaction stays open on the offsets topic: no hidden group appears stopped."""

import contextlib

import pytest

from sandbox.kafka.broker import Broker
from tests.integration.traffic import commit, commit_in, groups_in, tool_offsets_and_lags
from tests.support.monitor import Monitor
from tests.support.processes import LIMIT, patience
from tests.support.producers import patient_producer

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(400))]


def shown(monitor: Monitor, group: str) -> dict[tuple[str, int], tuple[int, bool]]:
    """Return a group's committed offsets by partition, and whether each is marked as not yet stable."""
    rows = monitor.get(f"/api/v1/groups/{group}").json["by_partition"]
    committed = [row for row in rows if row["committed_offset"] is not None]
    return {(row["topic"], row["partition"]): (row["committed_offset"], row["offset_hidden"]) for row in committed}


def test_groups_behind_an_open_transaction_are_shown_with_hidden_offsets(cluster: Broker, monitor: Monitor) -> None:
    """Offsets after the last stable one are marked until the transaction, whose id is logged, ends."""
    bootstrap = cluster.bootstrap
    names = groups_in(2, 4, "behind")
    holder, behind, new = next(names), next(names), next(names)
    for group in (holder, behind):
        commit(bootstrap, group, "t", {0: 1})
    monitor.wait_for(lambda: {holder, behind} <= monitor.metrics().groups, "the groups")
    with contextlib.ExitStack() as ending:
        producer = patient_producer(bootstrap, "abandoned-producer")
        producer.begin_transaction()
        ending.callback(producer.abort_transaction, LIMIT)
        commit_in(producer, bootstrap, holder, "t", {0: 90})
        commit(bootstrap, behind, "t", {0: 60, 1: 70})
        commit(bootstrap, new, "t", {0: 5})
        monitor.wait_for(lambda: shown(monitor, behind)["t", 0] == (60, True), "the hidden commit")
        assert shown(monitor, behind) == {("t", 0): (60, True), ("t", 1): (70, True)}
        assert shown(monitor, holder) == {("t", 0): (1, False)}
        scraped = monitor.metrics()
        assert scraped.value("lagwarden_group_held_back", group=behind) == 1
        committed, _ = tool_offsets_and_lags(bootstrap)
        assert {place: offset for place, offset in scraped.committed.items() if place[0] in {holder, behind}} == {
            place: offset for place, offset in committed.items() if place[0] in {holder, behind}
        }
        commit(bootstrap, behind, "t", {0: 65})
        monitor.wait_for(lambda: shown(monitor, behind)["t", 0] == (65, True), "the next hidden commit")
        monitor.wait_for(lambda: new in monitor.metrics().groups, "the group that was created behind the transaction")
        assert shown(monitor, new) == {("t", 0): (5, True)}
        assert "abandoned-producer" in monitor.output
        ((by, _),) = monitor.metrics().rows("lagwarden_offsets_partition_held_back_info")
        assert (by["transactional_id"], by["hanging"]) == ("abandoned-producer", "false")
    monitor.wait_for(
        lambda: not any(hidden for _, hidden in shown(monitor, behind).values()), "the offsets to be read from the log"
    )
    assert shown(monitor, behind) == {("t", 0): (65, False), ("t", 1): (70, False)}
    assert monitor.metrics().value("lagwarden_group_held_back", group=behind) == 0
    assert not list(monitor.metrics().rows("lagwarden_offsets_partition_held_back_info"))
