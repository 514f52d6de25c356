"""The groups of a capture: the answers of the HTTP API, the facts that only a capture has, and decode errors."""

import json

from exporters.http.api import group_json
from stream.cli.capture_groups import CaptureGroups
from stream.offline.capture import CaptureFile
from stream.offline.rows import RowList
from tests.stream.offline.captures import RECORDED, commit, row


def test_each_group_is_answered_as_by_the_api() -> None:
    """The answer for each group equals that of `group_json` for the whole snapshot."""
    groups = CaptureGroups(CaptureFile(RECORDED))
    names = [group["group"] for group in groups.groups()["groups"]]
    assert len(names) == 8
    for name in names:
        body = group_json(groups._snapshot, name, groups._detail(name, groups._snapshot_of(name)))
        assert body is not None
        assert groups.group(name) == json.loads(body)


def test_answers_without_records() -> None:
    """A group without records is None and has no commit facts.

    The snapshot time is the newest timestamp of a record; timestamps beyond the calendar are ignored.
    """
    groups = CaptureGroups(RowList([commit(1, 5), row(2, b"k", None, time=2**62)]))
    assert groups.group("other") is None
    assert "other" not in groups.commit_facts
    assert groups.groups()["snapshot_time"] == "1970-01-01T00:00:01.000Z"
