"""Histories of groups of every kind on a real broker: the found transitions are exactly the expected ones.

One run serves all tests (`sandbox.scenarios`): real clients drive all groups at once, in rounds. After each round two
observers are compared with Kafka's own tools and with the transitions of the scenarios: a replay of the offsets topic,
and a monitor that is killed in the middle of the run.
"""

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any, Final

import pytest

from sandbox.clients.java_clients import JavaClients
from sandbox.kafka.topics import create_topics
from sandbox.scenarios.comparison import GroupComparison, Observer
from sandbox.scenarios.everything import HISTORIES, replay_observer
from sandbox.scenarios.http_observer import HttpObserver
from sandbox.scenarios.runner import HistoryBroker, HistoryRunner
from stream.cluster.transport.client import Cluster
from tests.integration.traffic import commit
from tests.support.monitor import Monitor
from tests.support.processes import patience

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(patience(600))]

KILLED_BEFORE: Final = 3
"""The round (from 0) during which the monitor is killed and restarted."""
OBSERVERS: Final = ("replay", "monitor")


@pytest.fixture(scope="module")
def all_comparisons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[GroupComparison]]:
    """Run all histories with both observers; returns every comparison."""
    folder = tmp_path_factory.mktemp("life")
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(HistoryBroker())
        java_clients = stack.enter_context(JavaClients(broker.bootstrap, folder / "java-clients.log"))
        cluster = stack.enter_context(Cluster([broker.bootstrap]))
        # The monitor is ready once the topic has records; it must observe the start of the run.
        create_topics(broker.bootstrap, {"first": 1})
        commit(broker.bootstrap, "first", "first", {0: 1})
        monitor = stack.enter_context(Monitor(broker.bootstrap, folder)).wait_ready()

        def before_round(number: int) -> None:
            if number == KILLED_BEFORE:
                monitor.kill()
                monitor.start()

        observers: list[Observer] = [replay_observer(cluster), HttpObserver(lambda path: _json(monitor, path))]
        with HistoryRunner(
            java_clients, HISTORIES, observers, expire=broker.expire, before_round=before_round
        ) as runner:
            yield runner.run(print)


def _json(monitor: Monitor, path: str) -> Any:
    answer = monitor.get(path)
    return answer.json if answer.status == 200 else None


def test_observed_histories_equal_the_scenarios(all_comparisons: list[GroupComparison]) -> None:
    """The transitions after each step are the expected ones. State, members and offsets are those of the tool."""
    wrong = []
    for name, observer in itertools.product([scenario.name for scenario in HISTORIES], OBSERVERS):
        of_group = [comparison for comparison in all_comparisons if comparison.history == name]
        wrong += [f"{each.description}, {observer}: {fault}" for each in of_group for fault in each.faults_of(observer)]
        if of_group[-1].number is not None:
            wrong.append(f"{name}: the run did not finish")
        if observer not in of_group[-1].found:
            wrong.append(f"{name}: the {observer} was unavailable at the end")
    assert wrong == []


def test_monitor_observed_rounds_before_it_was_killed(all_comparisons: list[GroupComparison]) -> None:
    """The monitor has observed live transitions, not only read them after the restart."""
    rounds = {comparison.number for comparison in all_comparisons if "monitor" in comparison.found}
    assert any(number is not None and number < KILLED_BEFORE for number in rounds)
