"""The broker and the JVM that integration tests share."""

from collections.abc import Iterator

import pytest

from sandbox.kafka.broker import Broker
from tests.integration.traffic import commit, make_topic
from tests.support.in_process_job import Jvm


@pytest.fixture(scope="session")
def cluster() -> Iterator[Broker]:
    """Return a broker with a topic `t` of three partitions; tests write invalid records to its offsets topic."""
    with Broker() as broker:
        make_topic(broker.bootstrap, "t", 3, records=100)
        commit(broker.bootstrap, "first", "t", {0: 1})
        yield broker


@pytest.fixture(scope="module")
def jvm() -> Iterator[Jvm]:
    """Return the JVM of the jobs that run in the process of the test."""
    with Jvm() as shared:
        yield shared
