"""The texts of `lagwarden top`: lines, columns and their widths."""

from rich.cells import cell_len

from stream.cli.top.model import GroupListState, type_character
from stream.cli.top.poller import PollResult
from stream.cli.top.view import error_line, filter_line, notices_text, sentence_lines, status_line, table_lines
from tests.exporters.snapshots import HOSTILE_NAMES, NOON
from tests.stream.cli.top.api_answers import groups_of

NOW = NOON / 1000 + 5


def test_status_counts_groups_by_severity() -> None:
    """A dead group counts and has no severity. The name of the cluster is first, with escaped characters."""
    result = PollResult(groups_of(), "2023-11-14T22:13:20.000Z")
    line = status_line(result, "http://here", NOW)
    assert line.plain == "4 groups · 1 critical · 1 unknown · 1 fine · 5s old · http://here"
    assert status_line(PollResult(), "http://here", NOW).plain == "0 groups · http://here"
    named = status_line(PollResult(cluster_name="eu\x1b[1"), "http://here", NOW).plain
    assert named.endswith(" · 0 groups · http://here")
    assert named.startswith("eu")
    assert "\x1b" not in named


def test_lines_are_as_wide_as_the_window() -> None:
    """No line is wider for any width of a name's characters, and none moves the cursor of the terminal."""
    names = [*HOSTILE_NAMES, "消" * 80, "\x1b[2J", "a\u0301" * 90]
    rows = [{"group": name, "severity": "critical", "sentence": name * 9, "verdict": name} for name in names]
    state = GroupListState(groups_of(rows))
    for width in (20, 33, 60, 100, 300):
        table, sentences = table_lines(state.rows, 0, width, NOW), sentence_lines(state, width)
        assert {line.cell_len for line in table} == {width}
        lines = [*table, *sentences, filter_line(type_character(state, "消")), error_line("x\x1b")]
        assert all(line.plain.isprintable() for line in lines)
        assert all(cell_len(line.plain) <= width for line in sentences)
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


def test_notices_are_lines() -> None:
    """Each common cause has one line that moves no cursor, other instances the last; without any there is no text."""
    causes = ({"sentence": "3 of 3 groups."}, {"sentence": "topic \x1b[2J"})
    first, second, last = notices_text(
        PollResult(common_causes=causes, note="these are the groups of 0/2")
    ).plain.split("\n")
    assert (first, last) == ("common cause: 3 of 3 groups.", "these are the groups of 0/2")
    assert second.isprintable()
    assert not notices_text(PollResult())
