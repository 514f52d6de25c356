"""What the integration tests share: one broker whose offsets topic they may spoil, and one monitor of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.kafka.broker import Broker
from tests.integration.traffic import commit, make_topic
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def cluster() -> Iterator[Broker]:
    """Give a broker with a topic `t` of three partitions; not that of all tests, for its offsets topic gets spoilt."""
    with Broker() as broker:
        make_topic(broker.bootstrap, "t", 3, records=100)
        commit(broker.bootstrap, "first", "t", {0: 1})
        yield broker


@pytest.fixture(scope="session")
def monitor(cluster: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    """Give a running, ready monitor of that broker: use groups of your own names, do not stop it."""
    with Monitor(cluster.bootstrap, tmp_path_factory.mktemp("monitor")) as running:
        yield running.wait_ready()
