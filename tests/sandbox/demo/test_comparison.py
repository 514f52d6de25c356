"""The comparison of lagwarden with the official tool finds every kind of difference."""

from __future__ import annotations

import pytest

from sandbox.demo import comparison
from sandbox.demo.comparison import (
    compare,
    compare_until_agreed,
    compare_verdicts,
    compare_verdicts_until_agreed,
)
from sandbox.demo.groups import demo_group
from sandbox.demo.scrape import Scrape
from sandbox.kafka import tools
from sandbox.kafka.tools import GroupOffset

OFFSET = 'lagwarden_partition_committed_offset{group="g",topic="t",partition="0"}'
LAG = 'lagwarden_partition_lag{group="g",topic="t",partition="0"}'


def official_row(
    current_offset: int | None, lag: int | None, topic: str | None = "t", partition: int | None = 0
) -> GroupOffset:
    """Return a row of the official tool for one partition."""
    return GroupOffset("g", topic, partition, current_offset, 10, lag, None, None, None)


def verdict_of(verdict: str) -> str:
    """Return the sample of the verdict of the rewound group."""
    return f'lagwarden_group_verdict{{group="rewound",verdict="{verdict}",severity="warning"}} 1'


def shown(*lines: str) -> Scrape:
    """Return a scrape with these samples."""
    return Scrape("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize(
    ("official", "scraped", "agrees"),
    [
        pytest.param([official_row(7, 3)], [f"{OFFSET} 7", f"{LAG} 3"], [True], id="equal"),
        pytest.param([official_row(7, 3)], [f"{OFFSET} 7", f"{LAG} 4"], [False], id="different lag"),
        pytest.param([official_row(7, 3)], [f"{OFFSET} 6", f"{LAG} 3"], [False], id="different offset"),
        pytest.param([official_row(7, 3)], [f"{OFFSET} 7"], [False], id="lag not shown"),
        pytest.param([official_row(7, None)], [f"{OFFSET} 7"], [True], id="neither knows the lag"),
        pytest.param([official_row(7, None)], [f"{OFFSET} 7", f"{LAG} 0"], [False], id="lag unknown to the tool"),
        pytest.param([official_row(7, 3)], [], [False], id="not shown at all"),
        pytest.param([], [f"{OFFSET} 7", f"{LAG} 3"], [False], id="shown although the tool has no such group"),
        pytest.param([official_row(None, None)], [], [True][:0], id="owned but never committed"),
        pytest.param([official_row(None, None, None, None)], [], [True][:0], id="a member without partitions"),
    ],
)
def test_every_difference_is_found(official: list[GroupOffset], scraped: list[str], agrees: list[bool]) -> None:
    """Offset and lag must both be equal, or both be absent, for every partition that either side shows."""
    assert [row.agrees for row in compare(official, shown(*scraped))] == agrees


def test_comparison_waits_for_a_monitor_that_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The metrics are scraped until lagwarden has read the last commits; the official tool runs once."""
    answers = [shown(f"{OFFSET} 6", f"{LAG} 4"), shown(f"{OFFSET} 7", f"{LAG} 3")]
    calls: list[str] = []
    monkeypatch.setattr(tools, "describe_groups", lambda address: calls.append(address) or [official_row(7, 3)])
    monkeypatch.setattr(comparison, "scrape", lambda _: answers.pop(0))
    monkeypatch.setattr("sandbox.demo.comparison.time.sleep", lambda _: None)
    assert [row.agrees for row in compare_until_agreed("b:1", "http://l")] == [True]
    assert calls == ["b:1"]


def test_comparison_ends_with_the_remaining_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last comparison is returned after the limit."""
    monkeypatch.setattr(tools, "describe_groups", lambda _: [official_row(7, 3)])
    monkeypatch.setattr(comparison, "scrape", lambda _: shown(f"{OFFSET} 6", f"{LAG} 4"))
    rows = compare_until_agreed("b:1", "http://l", limit=0)
    assert [(row.official_offset, row.shown_offset, row.official_lag, row.shown_lag) for row in rows] == [(7, 6, 3, 4)]


INFO = 'lagwarden_group_info{group="rewound",kind="classic",state="Stable"} 1'


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        pytest.param([INFO, verdict_of("rewound")], ("rewound", True), id="expected verdict"),
        pytest.param([INFO, verdict_of("two_committers")], ("two_committers", False), id="different verdict"),
        pytest.param([INFO], (None, False), id="a group without a verdict"),
        pytest.param([], (None, False), id="a group that is not shown"),
    ],
)
def test_the_verdict_of_each_group_is_compared_with_the_table(lines: list[str], found: tuple[str | None, bool]) -> None:
    """A group agrees if its verdict is the expected one; a missing verdict is a difference."""
    (row,) = compare_verdicts([demo_group("rewound")], shown(*lines))
    assert (row.shown, row.agrees) == found


def test_comparison_of_verdicts_waits_until_all_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is repeated until all verdicts agree; after the limit, the last one is returned."""
    answers = [shown(INFO), shown(INFO, verdict_of("rewound"))]
    monkeypatch.setattr(comparison, "scrape", lambda _: answers.pop(0))
    monkeypatch.setattr("sandbox.demo.comparison.time.sleep", lambda _: None)
    assert [row.agrees for row in compare_verdicts_until_agreed([demo_group("rewound")], "http://l")] == [True]
    monkeypatch.setattr(comparison, "scrape", lambda _: shown(INFO))
    assert [row.agrees for row in compare_verdicts_until_agreed([demo_group("rewound")], "http://l", 0)] == [False]
