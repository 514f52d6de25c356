"""Values as HTML elements."""

from __future__ import annotations

import pytest

from exporters.page.formatting import badge, expiry, time_lag
from exporters.page.html_tree import html
from tests.exporters.snapshots import NOON

NOW = NOON / 1000 + 5
DASH = "\N{EN DASH}"


@pytest.mark.parametrize(
    ("left", "words", "highlighted"),
    [
        pytest.param(172_800, "in 2 d", False, id="after more than a day"),
        pytest.param(600, "in 10 min", True, id="within a day"),
        pytest.param(-60, "due 1 min ago", True, id="due, until the next check of the broker"),
    ],
)
def test_an_expiry_is_the_time_left(left: int, words: str, highlighted: bool) -> None:  # noqa: FBT001  # a table
    """An expiry within the last day is highlighted; an expiry without a prediction is a dash."""
    shown = html(expiry(int((NOW + left) * 1000), NOW))
    assert f">{words}<" in shown
    assert ('class="warn"' in shown) == highlighted
    assert DASH in html(expiry(None, NOW))


@pytest.mark.parametrize(
    ("seconds", "exact", "words"),
    [
        pytest.param(None, True, "unknown", id="unknown"),
        pytest.param(0.0, True, "0", id="nothing unread"),
        pytest.param(61.5, True, "1 min 1 s", id="known"),
        pytest.param(61.5, False, "\N{GREATER-THAN OR EQUAL TO}\u202f1 min 1 s", id="lower bound"),
        pytest.param(61.5, None, "1 min 1 s", id="exactness unknown"),
    ],
)
def test_time_lag(seconds: float | None, exact: bool | None, words: str) -> None:  # noqa: FBT001  # a table
    """A lower bound is marked; 0 means that nothing is unread; an unknown time lag is not a number."""
    shown = time_lag(seconds, exact=exact)
    assert (shown if isinstance(shown, str) else "".join(map(str, shown.children))) == words


@pytest.mark.parametrize("severity", [None, "", "worse", '"><script>'])
def test_an_invalid_severity_looks_like_unknown(severity: str | None) -> None:
    """Any word that is not a severity has the CSS class of unknown."""
    assert badge("odd", severity).attributes["class"] == "badge unknown"
