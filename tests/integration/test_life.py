"""The life of groups of every kind on a real broker: what is found of it is what happened, and nothing else.

One play for all tests (`sandbox.scenarios`): real clients drive all groups at once, in rounds. After each round two
witnesses are held against Kafka's own tools and against the transitions that stand in the scenarios: a replay of the
offsets topic, and a monitor that is killed in the middle of the play.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any, Final

import pytest

from sandbox.clients.java_clients import JavaClients
from sandbox.kafka.topics import create_topics
from sandbox.scenarios.everything import HISTORIES, replay_observer
from sandbox.scenarios.http_observer import HttpObserver
from sandbox.scenarios.runner import HistoryBroker, HistoryRunner
from stream.cluster.transport.client import Cluster
from tests.integration.traffic import commit
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.scenarios.comparison import GroupComparison, Observer

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

KILLED_BEFORE: Final = 3
"""The round (from 0) while whose actions the monitor is killed and started again."""
WITNESSES: Final = ("replay", "monitor")


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[GroupComparison]]:
    """Run all histories with both observers; returns every comparison."""
    folder = tmp_path_factory.mktemp("life")
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(HistoryBroker())
        java_clients = stack.enter_context(JavaClients(broker.bootstrap, folder / "java-clients.log"))
        cluster = stack.enter_context(Cluster([broker.bootstrap]))
        # The monitor is ready when there is something to read; of the play it shall see the beginning.
        create_topics(broker.bootstrap, {"first": 1})
        commit(broker.bootstrap, "first", "first", {0: 1})
        monitor = stack.enter_context(Monitor(broker.bootstrap, folder)).wait_ready()

        def before_round(number: int) -> None:
            if number == KILLED_BEFORE:
                monitor.kill()
                monitor.start()

        witnesses: list[Observer] = [replay_observer(cluster), HttpObserver(lambda path: _json(monitor, path))]
        with HistoryRunner(
            java_clients, HISTORIES, witnesses, expire=broker.expire, before_round=before_round
        ) as runner:
            yield runner.run(print)


def _json(monitor: Monitor, path: str) -> Any:
    answer = monitor.get(path)
    return answer.json if answer.status == 200 else None


@pytest.mark.parametrize(
    ("name", "witness"),
    [
        pytest.param(scenario.name, witness, id=f"{scenario.name}-{witness}")
        for scenario, witness in itertools.product(HISTORIES, WITNESSES)
    ],
)
def test_a_history_is_found_as_it_happened(scenes: list[GroupComparison], name: str, witness: str) -> None:
    """After each step transitions are exactly the expected ones, and state, members and offsets the official tool's."""
    mine = [scene for scene in scenes if scene.history == name]
    wrong = [f"{scene.description}: {fault}" for scene in mine for fault in scene.faults_of(witness)]
    assert not wrong, "\n".join(wrong)
    assert mine[-1].number is None, "the play was not played to its end"
    assert witness in mine[-1].found, f"the {witness} was away in the end"


def test_the_monitor_watched_before_it_was_killed(scenes: list[GroupComparison]) -> None:
    """What it says in the end it has not only read after the fact."""
    rounds = {scene.number for scene in scenes if "monitor" in scene.found}
    assert any(number is not None and number < KILLED_BEFORE for number in rounds)
