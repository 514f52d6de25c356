"""How a refusal looks from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream.errors import ExitCode
    from tests.support.monitor import Monitor


def assert_refused(monitor: Monitor, code: ExitCode, *words: str) -> None:
    """See the process end with the code and one line of error that holds these words."""
    ending = monitor.ending(90)
    assert (ending.code, ending.left_behind) == (code, ()), monitor.said
    said = monitor.said
    assert "Traceback" not in said
    (line,) = (line for line in said.splitlines() if line.startswith("error: "))
    assert [word for word in words if word not in line] == [], line
