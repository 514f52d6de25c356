"""A report of the chaos tests that is printed at the end of the run, also after failures and from workers of xdist."""

from collections.abc import Callable

import pytest

_PROPERTY = "chaos report"


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:

    def add(line: str) -> None:
        request.node.user_properties.append((_PROPERTY, line))

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # The report of the teardown has the lines of the whole test.
    ended = (
        each for found in terminalreporter.stats.values() for each in found if getattr(each, "when", "") == "teardown"
    )
    lines = [line for each in ended for name, line in each.user_properties if name == _PROPERTY]
    if lines:
        terminalreporter.section(_PROPERTY)
        for line in lines:
            terminalreporter.write_line(line)
