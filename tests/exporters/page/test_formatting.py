"""Values as HTML elements."""

from exporters.page.formatting import badge, expiry, time_lag
from exporters.page.html_tree import html
from tests.exporters.snapshots import NOON

NOW = NOON / 1000 + 5


def test_an_expiry_is_the_time_left() -> None:
    """An expiry within the last day is highlighted; an expiry without a prediction is a dash."""
    for left, words, highlighted in (
        (172_800, "in 2 d", False),
        (600, "in 10 min", True),
        # Until the next check of the broker.
        (-60, "due 1 min ago", True),
    ):
        shown = html(expiry(int((NOW + left) * 1000), NOW))
        assert f">{words}<" in shown
        assert ('class="warn"' in shown) == highlighted
    assert "\N{EN DASH}" in html(expiry(None, NOW))


def test_time_lag_and_severity() -> None:
    """A lower bound is marked, 0 means nothing unread, unknown is no number; a word that is no severity is unknown."""
    for seconds, exact, words in (
        (None, True, "unknown"),
        (0.0, True, "0"),
        (61.5, True, "1 min 1 s"),
        (61.5, False, "\N{GREATER-THAN OR EQUAL TO}\u202f1 min 1 s"),
        (61.5, None, "1 min 1 s"),
    ):
        shown = time_lag(seconds, exact=exact)
        assert (shown if isinstance(shown, str) else "".join(map(str, shown.children))) == words
    assert {badge("odd", word).attributes["class"] for word in (None, "", "worse", '"><script>')} == {"badge unknown"}
