"""The strip of partitions on a group's page."""

from __future__ import annotations

from typing import Any

from exporters.page.html_tree import html
from exporters.page.partition_strip import CELLS, strips_section

SEVERITIES = {"ok": "fine", "stopped": "critical"}


def row(topic: str, partition: int, verdict: str | None, lag: int | None = 1_200) -> dict[str, Any]:
    """Return the columns of a partition that the strip reads."""
    return {"topic": topic, "partition": partition, "verdict": verdict, "lag": lag}


def test_each_partition_is_a_cell_in_the_colour_of_its_verdict() -> None:
    """With partition, verdict and lag as its title, in a strip per topic that says what it has."""
    rows = [row("a", 0, "ok"), row("a", 1, "stopped", None), row("b", 0, None)]
    text = html(strips_section(rows, SEVERITIES))
    assert '<span class="cell fine" title="0: ok, lag 1\u202f200"></span>' in text
    assert '<span class="cell critical" title="1: stopped, lag unknown"></span>' in text
    assert '<span class="cell unknown" title="0: no verdict yet, lag 1\u202f200"></span>' in text
    assert 'aria-label="a: 2 partitions, 1 ok, 1 stopped"' in text
    assert 'aria-label="b: 1 partition, 1 no verdict yet"' in text


def test_one_partition_needs_no_strip() -> None:
    """Nor does a group without partitions."""
    assert [strips_section(rows, SEVERITIES) for rows in ([], [row("a", 0, "ok")])] == [None, None]


def test_the_cells_are_limited() -> None:
    """The number of the others is shown."""
    text = html(strips_section([row("a", at, "ok") for at in range(CELLS + 2)], SEVERITIES))
    assert text.count('class="cell') == CELLS
    assert "2 partitions more" in text
