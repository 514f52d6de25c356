"""The metrics of every kind of group agree with the cluster."""

import contextlib
from typing import Final

import pytest

from sandbox.demo.workload import Workload
from sandbox.kafka.broker import Broker
from tests.integration.one_monitor.values_seen import without_value
from tests.integration.traffic import (
    begin_transaction,
    commit,
    commit_in,
    committed_at_broker,
    consumer,
    delete_groups,
    end_transaction,
    join_and_commit,
    offsets_ends,
    tool_offsets_and_lags,
)
from tests.support.monitor import Monitor
from tests.support.processes import patience
from tests.support.scrape import Metrics

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(400))]

ODD_NAMES: Final = (
    'double "quotes"',
    "back\\slash \\n",
    "line\nfeed",
    "tab\tand carriage\rreturn",
    '{group="x"} 1\n# HELP',
    "Größe-группа-群組-🦜",
    "two  spaces",
    "../../etc/passwd?%00&#",
    "x" * 249,
)


def test_every_kind_of_group_is_shown_as_the_official_tool_shows_it(cluster: Broker, monitor: Monitor) -> None:
    """Committed offset and lag of simple, classic, static, KIP-848 and transactional groups equal the tool's."""
    bootstrap = cluster.bootstrap
    with contextlib.ExitStack() as members:
        commit(bootstrap, "kinds-simple", "t", {0: 0, 1: 50, 2: 102})
        classic = members.enter_context(consumer(bootstrap, "kinds-classic"))
        join_and_commit(classic, "t", {0: 10, 1: 11, 2: 12})
        static = members.enter_context(consumer(bootstrap, "kinds-static", group_instance_id="one"))
        join_and_commit(static, "t", {0: 20, 2: 22})
        next_generation = members.enter_context(consumer(bootstrap, "kinds-consumer", group_protocol="consumer"))
        join_and_commit(next_generation, "t", {0: 30, 1: 31, 2: 32})
        producer = begin_transaction(bootstrap, "kinds-committed")
        commit_in(producer, bootstrap, "kinds-transactional", "t", {0: 40, 1: 41})
        end_transaction(bootstrap, producer, commit=True)
        producer.begin_transaction()
        commit_in(producer, bootstrap, "kinds-transactional", "t", {0: 90, 2: 92})
        end_transaction(bootstrap, producer, commit=False)

        shown = monitor.wait_read(offsets_ends(bootstrap))
        committed, lags = tool_offsets_and_lags(bootstrap)
        assert {place: offset for place, offset in committed.items() if place[0].startswith("kinds-")} == {
            ("kinds-simple", "t", 0): 0, ("kinds-simple", "t", 1): 50, ("kinds-simple", "t", 2): 102,
            ("kinds-classic", "t", 0): 10, ("kinds-classic", "t", 1): 11, ("kinds-classic", "t", 2): 12,
            ("kinds-static", "t", 0): 20, ("kinds-static", "t", 2): 22,
            ("kinds-consumer", "t", 0): 30, ("kinds-consumer", "t", 1): 31, ("kinds-consumer", "t", 2): 32,
            ("kinds-transactional", "t", 0): 40, ("kinds-transactional", "t", 1): 41,
        }  # fmt: skip
        assert shown.committed == committed
        assert shown.lags == lags
        assert _kinds(shown) == {
            "kinds-simple": ("simple", "Empty"),
            "kinds-classic": ("classic", "Stable"),
            "kinds-static": ("classic", "Stable"),
        }


def _kinds(shown: Metrics) -> dict[str, tuple[str, str]]:
    """Return kind and state of the groups of the first test whose record types are tracked."""
    rows = [own for own, _ in shown.rows("lagwarden_group_info")]
    wanted = ("kinds-simple", "kinds-classic", "kinds-static")
    return {own["group"]: (own["kind"], own["state"]) for own in rows if own["group"] in wanted}


def test_names_with_special_characters_are_exact_labels(cluster: Broker, monitor: Monitor) -> None:
    """Quotes, backslashes, line breaks and any script appear unchanged in the labels."""
    bootstrap = cluster.bootstrap
    for number, name in enumerate(ODD_NAMES):
        commit(bootstrap, name, "t", {0: number + 1})
    try:
        shown = monitor.wait_read(offsets_ends(bootstrap))
        by_broker = committed_at_broker(bootstrap, ODD_NAMES)
        assert by_broker == {(name, "t", 0): number + 1 for number, name in enumerate(ODD_NAMES)}
        assert {place: offset for place, offset in shown.committed.items() if place[0] in ODD_NAMES} == by_broker
    finally:
        delete_groups(bootstrap, ODD_NAMES)  # their names would break the official tool's tables for the other tests


def test_continuous_traffic_agrees_with_the_official_tool(cluster: Broker, monitor: Monitor) -> None:
    """Every lag and committed offset of all workers of the sandbox equals the tool's while the traffic pauses.

    Every metric and every field of the API has a value, or a reason why it has none here.
    """
    with Workload(cluster.bootstrap, prefix="w-") as traffic:
        traffic.wait_until_settled()
        interval = "lagwarden_group_commit_interval_seconds"
        monitor.wait_for(lambda: bool(monitor.metrics().rows(interval)), "commits in two slots of a window", 90)
        traffic.pause()
        shown = monitor.wait_read(offsets_ends(cluster.bootstrap))
        committed, lags = tool_offsets_and_lags(cluster.bootstrap)
        assert {group for group, _, _ in committed} >= set(traffic.groups)
        assert shown.committed == committed
        assert shown.lags == lags
        assert without_value(monitor, monitor.metrics()) == set()
