"""The texts of `lagwarden top`: lines, columns and their widths."""

from exporters.http.openapi.small_world import NOON
from stream.cli.top.poller import PollResult
from stream.cli.top.view import notices_text, status_line
from tests.stream.cli.top.api_answers import groups_of

NOW = NOON / 1000 + 5


def test_status_counts_groups_by_severity() -> None:
    """A dead group counts and has no severity. The name of the cluster is first, with escaped characters."""
    result = PollResult({"groups": groups_of(), "snapshot_time": "2023-11-14T22:13:20.000Z"})
    line = status_line(result, "http://here", NOW)
    assert line.plain == "4 groups · 1 critical · 1 unknown · 1 fine · 5 s old · http://here"
    assert status_line(PollResult(), "http://here", NOW).plain == "0 groups · http://here"
    named = status_line(PollResult({"groups": (), "cluster_name": "eu\x1b[1"}), "http://here", NOW).plain
    assert named.endswith(" · 0 groups · http://here")
    assert named.startswith("eu")
    assert "\x1b" not in named


def test_notices_are_lines() -> None:
    """Each common cause has one line that moves no cursor, other instances the last; without any there is no text."""
    causes = ({"sentence": "3 of 3 groups."}, {"sentence": "topic \x1b[2J"})
    answer = {"common_causes": causes, "instance": "1/2", "siblings": ["http://a", "http://b"]}
    first, second, last = notices_text(PollResult(answer)).plain.split("\n")
    assert first == "common cause: 3 of 3 groups."
    assert last == "these are the groups of instance 1/2; the others: http://a"
    assert second.isprintable()
    assert not notices_text(PollResult())
