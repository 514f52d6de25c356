"""What every test may ask for: a shared broker, brokers of its own, Hypothesis profiles."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from sandbox.kafka.broker import Broker
from sandbox.kafka.jars import JarError, broker_jars
from sandbox.kafka.java import JavaMissingError, find_java
from tests.support.hypothesis_profiles import load_profile
from tests.support.logging_state import logging_as_before

if TYPE_CHECKING:
    from collections.abc import Iterator

load_profile()


class MakeBroker(Protocol):
    """Start one more broker of the test's own; it takes the arguments of `sandbox.kafka.broker.Broker`."""

    def __call__(self, **arguments: Any) -> Broker:
        """Start the broker."""


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """Leave logging as it was: the verbs of the command line set it up."""
    with logging_as_before():
        yield


def _require_jars() -> None:
    """Skip where a broker cannot run at all; with Java there, missing jars are an error, not a reason to skip."""
    try:
        find_java()
    except JavaMissingError as missing:
        pytest.skip(str(missing))
    try:
        broker_jars()
    except JarError as error:
        pytest.fail(f"the broker's jars are not there: {error}")


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """Give the broker that all tests share: use topics and groups of your own names, do not stop it."""
    _require_jars()
    with Broker() as shared:
        yield shared


@pytest.fixture
def make_broker() -> Iterator[MakeBroker]:
    """Give a function that starts fresh brokers, which may be stopped, killed and paused; all end with the test."""
    _require_jars()
    with contextlib.ExitStack() as started:

        def make(**arguments: Any) -> Broker:
            return started.enter_context(Broker(**arguments))

        yield make
