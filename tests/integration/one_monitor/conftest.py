"""One running monitor for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.kafka.broker import Broker


@pytest.fixture(scope="package")
def monitor(cluster: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    """Return a ready monitor of the shared broker: use unique group names, and do not stop it."""
    with Monitor(cluster.bootstrap, tmp_path_factory.mktemp("monitor")) as running:
        yield running.wait_ready().wait_batch()
