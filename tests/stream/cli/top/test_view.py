"""The texts of `lagwarden top`: lines, columns and their widths."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from stream.cli.top.model import GroupListState, type_character
from stream.cli.top.poller import PollResult
from stream.cli.top.view import (
    error_line,
    filter_line,
    notices_text,
    sentence_lines,
    status_line,
    table_lines,
)
from tests.exporters.snapshots import HOSTILE_NAMES, NOON
from tests.stream.cli.top.api_answers import groups_of

NOW = NOON / 1000 + 5


def test_status_counts_groups_by_severity() -> None:
    """The dead group counts as a group and has no severity."""
    result = PollResult(groups_of(), "2023-11-14T22:13:20.000Z")
    line = status_line(result, "http://here", NOW)
    assert line.plain == "4 groups · 1 critical · 1 unknown · 1 fine · 5s old · http://here"
    assert status_line(PollResult(), "http://here", NOW).plain == "0 groups · http://here"


def test_status_begins_with_the_cluster() -> None:
    """The line begins with the name of the cluster, with escaped control characters."""
    named = status_line(PollResult(cluster_name="eu\x1b[1"), "http://here", NOW).plain
    assert named.endswith(" · 0 groups · http://here")
    assert named.startswith("eu")
    assert "\x1b" not in named


def test_table_has_a_line_per_group() -> None:
    """Unknown values are a dash; a time lag that is a lower bound is marked."""
    lines = [line.plain for line in table_lines(groups_of(), 0, 100, NOW)]
    assert [re.split("  +", line.rstrip()) for line in lines] == [
        ["GROUP", "VERDICT", "LAG", "TIME-LAG", "FOR", "SEVERITY", "STATE", "MEMBERS", "COMMIT", "EXPIRES"],
        ["billing", "stopped", f"{2**62:.3g}", "≥1m1s", "35s", "critical", "Stable", "3", "5s", "-"],
        ["plain", "unknown", "-", "-", "-", "unknown", "-", "-", "-", "-"],
        ['say "hi"\\\\nthere', "caught up", "0", "0s", "1m5s", "fine", "Empty", "0", "5s", "59m55s"],
        ["gone", "-", "-", "-", "-", "-", "Dead", "-", "-", "-"],
    ]


@pytest.mark.parametrize("width", [20, 33, 60, 100, 300])
def test_lines_are_as_wide_as_the_window(width: int) -> None:
    """No line is wider for any width of a name's characters, and none moves the cursor of the terminal."""
    names = [*HOSTILE_NAMES, "消" * 80, "\x1b[2J", "a\u0301" * 90]
    rows = [{"group": name, "severity": "critical", "sentence": name * 9, "verdict": name} for name in names]
    state = GroupListState(groups_of(rows))
    table = table_lines(state.rows, 0, width, NOW)
    assert {line.cell_len for line in table} == {width}
    lines = [*table, *sentence_lines(state, width), filter_line(type_character(state, "消")), error_line("x\x1b")]
    assert all(line.plain.isprintable() for line in lines)
    assert all(cell_len(line.plain) <= width for line in sentence_lines(state, width))


def test_selected_row_is_reversed_in_the_colour_of_its_severity() -> None:
    """The other rows are not reversed."""
    lines = table_lines(groups_of(), 1, 100, NOW)
    reversed_lines = [line.plain[:7] for line in lines if any("reverse" in str(span.style) for span in line.spans)]
    assert reversed_lines == ["plain  "]
    assert "red" in str(lines[1].style)


def test_narrow_window_drops_the_last_columns() -> None:
    """Name and verdict are kept."""
    assert table_lines(groups_of(), 0, 40, NOW)[0].plain.split() == ["GROUP", "VERDICT", "LAG"]


def test_sentence_is_that_of_the_selected_group() -> None:
    """A dead group has the cause of its death instead. A filter without a match has its own sentence."""
    state = GroupListState(groups_of(), selected="gone")
    assert sentence_lines(state, 100)[0].plain == "died: topic deleted"
    first, second = sentence_lines(GroupListState(groups_of()), 20)
    assert first.plain.startswith("1 of 2 partitions;")
    assert second.plain.endswith("…")
    assert sentence_lines(GroupListState(groups_of(), filter="x9"), 100)[0].plain == "no group matches the filter"
    assert sentence_lines(GroupListState(), 100)[0].plain == ""


def test_common_causes_are_lines() -> None:
    """Each cause has one line, without causes there is no text, and no line moves the cursor."""
    text = notices_text(PollResult(common_causes=({"sentence": "3 of 3 groups."}, {"sentence": "topic \x1b[2J"})))
    first, second = text.plain.split("\n")
    assert first == "common cause: 3 of 3 groups."
    assert second.isprintable()
    assert not notices_text(PollResult())


def test_other_instances_are_the_last_line() -> None:
    """The line follows the common causes if several instances share the groups."""
    text = notices_text(PollResult(common_causes=({"sentence": "3 of 3 groups."},), note="these are the groups of 0/2"))
    assert text.plain == "common cause: 3 of 3 groups.\nthese are the groups of 0/2"
