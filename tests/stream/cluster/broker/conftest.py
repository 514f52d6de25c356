"""Fixtures of the tests with real brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.stream.cluster.broker.secured_broker import SecuredBroker, secured_broker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.certificates import Certificates


@pytest.fixture(scope="session")
def secured_listeners(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """Return the broker with logins, which all tests with logins share."""
    with secured_broker(certificates, tmp_path_factory.mktemp("secrets")) as started:
        yield started


@pytest.fixture
def secured(secured_listeners: SecuredBroker) -> Iterator[SecuredBroker]:
    """Return the broker with logins; tokens live as long as before after the test."""
    yield secured_listeners
    secured_listeners.issuer.lifetime = 300.0
