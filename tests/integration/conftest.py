"""Shared fixtures: a broker whose offsets topic tests may write to, and a monitor of it."""

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
    """Return a broker with a topic `t` of three partitions; tests write invalid records to its offsets topic."""
    with Broker() as broker:
        make_topic(broker.bootstrap, "t", 3, records=100)
        commit(broker.bootstrap, "first", "t", {0: 1})
        yield broker


@pytest.fixture(scope="session")
def monitor(cluster: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    """Return a ready monitor of that broker: use unique group names, and do not stop it."""
    with Monitor(cluster.bootstrap, tmp_path_factory.mktemp("monitor")) as running:
        yield running.wait_ready()
