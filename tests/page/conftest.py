"""The browser for the page tests, and the servers whose pages it opens. Nothing is installed here."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Protocol

import pytest

from exporters.readmodel import GroupDetail, Snapshot
from tests.page.chromium import Browser, find
from tests.page.demo_data import demo_snapshot, detail_of
from tests.page.served import Served


class Serve(Protocol):
    """Serves a snapshot that can be replaced while its pages are open."""

    def __call__(
        self, snapshot: Snapshot, details: Callable[[str, float], GroupDetail | None] = ..., port: int = ...
    ) -> Served:
        """Start a server for a snapshot."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the browser; skip if there is none."""
    program = find()
    if program is None:
        pytest.skip("no Chromium on this machine; sandbox/programs/install_browser.sh gets Debian's")
    with Browser(program) as started:
        yield started


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts servers. They stop after the test."""
    with contextlib.ExitStack() as started:

        def begin(
            snapshot: Snapshot, details: Callable[[str, float], GroupDetail | None] = detail_of, port: int = 0
        ) -> Served:
            return started.enter_context(Served(snapshot, details, port))

        yield begin


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Serve a fixed demo snapshot after two earlier ones; return its URL."""
    now = time.time()
    with Served(demo_snapshot(now)) as served:
        served.record(demo_snapshot(now - back) for back in (20, 10, 0))
        yield served.url
