"""Fixtures of all tests: a shared broker, brokers for one test, Hypothesis profiles."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import shutil
import signal
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

from tests.support.logging_state import log_plain_tracebacks, logging_as_before
from tests.tiers.collection import may_have_tests, source_of
from tests.tiers.order import FileOrder
from tests.tiers.table import is_core

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sandbox.certificates import Certificates
    from sandbox.kafka.broker import Broker

# The modules of brokers, certificates and Hypothesis are imported where they are used: each worker of each run imports
# this file.
log_plain_tracebacks()

FROZEN_AFTER: Final = 60.0
"""Seconds beyond the limit of a test after which its process ends."""
_STDERR: Final = pytest.StashKey[int]()


class MakeBroker(Protocol):
    """Starts another broker for one test, with the arguments of `sandbox.kafka.broker.Broker`."""

    def __call__(self, **arguments: Any) -> Broker:
        """Start the broker."""


def pytest_configure(config: pytest.Config) -> None:
    """Start the longest files first, and let the processes of tests receive SIGINT."""
    config.pluginmanager.register(FileOrder(config))
    config.stash[_STDERR] = os.dup(2)  # tests capture the descriptor 2
    # A shell without job control makes background processes ignore SIGINT, and their children inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure(config: pytest.Config) -> None:
    os.close(config.stash[_STDERR])


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files in which no test has the marks that the option `-m` selects."""
    return None if may_have_tests(collection_path, config.option.markexpr) else True


def pytest_pycollect_makemodule(module_path: Path) -> None:
    """Load the profile of Hypothesis before the first module with property tests."""
    if "hypothesis" in source_of(module_path):
        from tests.support.hypothesis_profiles import load_profile

        load_profile()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests of the files that run at every submission."""
    if is_core(item.nodeid.partition("::")[0]):
        item.add_marker("core")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End the process, with the stacks of all threads, if a test goes on after its limit.

    pytest-timeout interrupts a test in Python code, which cannot run while a C function holds the interpreter's lock. A
    consumer of librdkafka (2.16) that closes during a rebalance can hold it for ever: `rd_kafka_assign` gets no reply.
    """
    marker = item.get_closest_marker("timeout")
    limit = float(marker.args[0] if marker else item.config.getoption("timeout") or item.config.getini("timeout"))
    faulthandler.dump_traceback_later(limit + FROZEN_AFTER, file=item.config.stash[_STDERR], exit=True)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """Restore the logging configuration, which the verbs of the command line change."""
    with logging_as_before():
        yield


def _require_jars() -> None:
    """Skip without Java, because no broker can run. Fail when Java is installed and the jars are missing."""
    from sandbox.kafka.jars import JarError, broker_jars
    from sandbox.kafka.java import JavaMissingError, find_java

    try:
        find_java()
    except JavaMissingError as missing:
        pytest.skip(str(missing))
    try:
        broker_jars()
    except JarError as error:
        pytest.fail(f"the broker's jars are missing: {error}")


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """Return the broker that all tests share: use unique names of topics and groups, and do not stop it."""
    from sandbox.kafka.broker import Broker

    _require_jars()
    with Broker() as shared:
        yield shared


@pytest.fixture
def make_broker() -> Iterator[MakeBroker]:
    """Return a function that starts brokers, which a test may stop, kill and pause; all end with the test."""
    from sandbox.kafka.broker import Broker

    _require_jars()
    with contextlib.ExitStack() as started:

        def make(**arguments: Any) -> Broker:
            return started.enter_context(Broker(**arguments))

        yield make


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Return the certificates of an authority, a server and a client."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on PATH")
    from sandbox.certificates import make_certificates

    return make_certificates(tmp_path_factory.mktemp("certificates"))
