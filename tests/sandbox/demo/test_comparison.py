"""Comparing lagwarden with the official tool finds every kind of difference."""

from __future__ import annotations

import pytest

from sandbox.demo import comparison
from sandbox.demo.comparison import compare, compare_until_agreed
from sandbox.demo.scrape import Scrape
from sandbox.kafka.tools import GroupOffset

OFFSET = 'lagwarden_partition_committed_offset{group="g",topic="t",partition="0"}'
LAG = 'lagwarden_partition_lag{group="g",topic="t",partition="0"}'


def told(
    current_offset: int | None, lag: int | None, topic: str | None = "t", partition: int | None = 0
) -> GroupOffset:
    """Give a row of the official tool about one partition."""
    return GroupOffset("g", topic, partition, current_offset, 10, lag, None, None, None)


def shown(*lines: str) -> Scrape:
    """Give a scrape with these samples."""
    return Scrape("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize(
    ("official", "scraped", "agrees"),
    [
        pytest.param([told(7, 3)], [f"{OFFSET} 7", f"{LAG} 3"], [True], id="both the same"),
        pytest.param([told(7, 3)], [f"{OFFSET} 7", f"{LAG} 4"], [False], id="another lag"),
        pytest.param([told(7, 3)], [f"{OFFSET} 6", f"{LAG} 3"], [False], id="another offset"),
        pytest.param([told(7, 3)], [f"{OFFSET} 7"], [False], id="lag not shown"),
        pytest.param([told(7, None)], [f"{OFFSET} 7"], [True], id="neither knows the lag"),
        pytest.param([told(7, None)], [f"{OFFSET} 7", f"{LAG} 0"], [False], id="a lag that cannot be known"),
        pytest.param([told(7, 3)], [], [False], id="not shown at all"),
        pytest.param([], [f"{OFFSET} 7", f"{LAG} 3"], [False], id="shown although the group is gone"),
        pytest.param([told(None, None)], [], [True][:0], id="owned but never committed"),
        pytest.param([told(None, None, None, None)], [], [True][:0], id="a member without partitions"),
    ],
)
def test_every_difference_is_seen(official: list[GroupOffset], scraped: list[str], agrees: list[bool]) -> None:
    """Offset and lag must both be equal, or both be absent, for every partition that either side knows."""
    assert [row.agrees for row in compare(official, shown(*scraped))] == agrees


def test_comparison_waits_for_a_monitor_that_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lagwarden may need some seconds to see the last commits; the official tool is asked once."""
    answers = [shown(f"{OFFSET} 6", f"{LAG} 4"), shown(f"{OFFSET} 7", f"{LAG} 3")]
    asked: list[str] = []
    monkeypatch.setattr(comparison.tools, "describe_groups", lambda address: asked.append(address) or [told(7, 3)])
    monkeypatch.setattr(comparison, "scrape", lambda _: answers.pop(0))
    monkeypatch.setattr("sandbox.demo.comparison.time.sleep", lambda _: None)
    assert [row.agrees for row in compare_until_agreed("b:1", "http://l")] == [True]
    assert asked == ["b:1"]


def test_comparison_gives_up_with_what_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference that stays is reported, not waited for without end."""
    monkeypatch.setattr(comparison.tools, "describe_groups", lambda _: [told(7, 3)])
    monkeypatch.setattr(comparison, "scrape", lambda _: shown(f"{OFFSET} 6", f"{LAG} 4"))
    rows = compare_until_agreed("b:1", "http://l", limit=0)
    assert [(row.official_offset, row.shown_offset, row.official_lag, row.shown_lag) for row in rows] == [(7, 6, 3, 4)]
