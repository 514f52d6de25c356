"""The strip of partitions on a group's page."""

import re
import urllib.parse
from html import unescape
from typing import Any

from exporters.http.openapi.small_world import NOON
from exporters.page.group import group_page
from exporters.page.group_tables import strips_section
from exporters.page.html_tree import html
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.snapshots import HOSTILE_NAMES, snapshot

SEVERITIES = {"ok": "fine", "stopped": "critical"}


def row(topic: str, partition: int, verdict: str | None, lag: int | None = 1_200) -> dict[str, Any]:
    """Return the columns of a partition that the strip reads."""
    return {"topic": topic, "partition": partition, "verdict": verdict, "lag": lag}


def test_each_partition_is_a_cell_in_the_colour_of_its_verdict() -> None:
    """The title of a cell has partition, verdict and lag; each topic has a strip with a summary."""
    rows = [row("a", 0, "ok"), row("a", 1, "stopped", None), row("b", 0, None)]
    text = html(strips_section(rows, SEVERITIES))
    assert '<a class="cell fine" href="#partition-0-a" title="0: ok, lag 1,200"' in text
    assert '<a class="cell critical" href="#partition-1-a" title="1: stopped, lag unknown"' in text
    assert '<a class="cell unknown" href="#partition-0-b" title="0: no verdict yet, lag 1,200"' in text
    assert 'aria-label="a: 2 partitions, 1 ok, 1 stopped"' in text
    assert 'aria-label="b: 1 partition, 1 no verdict yet"' in text


def test_each_cell_links_to_the_row_of_its_partition() -> None:
    """The fragment of the link, decoded, is the id of the row in the table of partitions."""
    for topic in ("orders", *HOSTILE_NAMES):
        rows = [{"group": "g", "topic": topic, "partition": at, "lost": 0} for at in (0, 1)]
        data = PublishedSnapshot.build(snapshot(rows, [{"group": "g"}]))
        document = group_page(data, "g", None, NOON / 1000, root="./").html().decode()
        links = re.findall(r'class="cell [a-z]+" href="#([^"]+)"', document)
        rows_by_id = re.findall(r'<tr id="([^"]+)"', document)
        assert [urllib.parse.unquote(link) for link in links] == [unescape(each) for each in rows_by_id]
        assert len(links) == 2
