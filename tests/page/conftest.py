"""One browser for all tests of the pages, and worlds that it looks at. Nothing is installed here."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Protocol

import pytest

from tests.page.chromium import Browser, find
from tests.page.demo_data import Served, detail_of, fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from exporters.readmodel import GroupDetail, Snapshot


class Serve(Protocol):
    """Serve a world that may be exchanged while it is looked at."""

    def __call__(
        self, world: Snapshot, details: Callable[[str, float], GroupDetail | None] = ..., port: int = ...
    ) -> Served:
        """Begin."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Give the browser, or skip where none is."""
    program = find()
    if program is None:
        pytest.skip("no Chromium on this machine; sandbox/programs/install_browser.sh gets Debian's")
    with Browser(program) as started:
        yield started


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Give a function that serves worlds; all end with the test."""
    with contextlib.ExitStack() as started:

        def begin(
            world: Snapshot, details: Callable[[str, float], GroupDetail | None] = detail_of, port: int = 0
        ) -> Served:
            return started.enter_context(Served(world, details, port))

        yield begin


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Serve the made-up fleet as it was at one moment; give its address."""
    with Served(fleet(time.time())) as served:
        yield served.url
