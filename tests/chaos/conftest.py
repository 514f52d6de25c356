"""A report of the chaos tests that is printed at the end of the run, also after failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

_LINES = pytest.StashKey[list[str]]()


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Return a function that adds a line to the report."""
    return request.config.stash.setdefault(_LINES, []).append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the lines that the tests reported."""
    lines = config.stash.get(_LINES, [])
    if lines:
        terminalreporter.section("chaos report")
        for line in lines:
            terminalreporter.write_line(line)
