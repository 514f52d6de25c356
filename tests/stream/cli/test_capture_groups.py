"""The groups of a capture: the answers of the HTTP API, the facts that only a capture has, and decode errors."""

import json

from exporters.http.api import group_json
from stream.cli.capture_groups import CaptureGroups, configured_retention, fault_lines
from stream.config.options import GroupsOptions
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
    assert groups.commit_facts("other") == {}
    assert groups.groups()["snapshot_time"] == "1970-01-01T00:00:01.000Z"


def test_retention_comes_from_the_configuration() -> None:
    """The configured retention is converted to milliseconds; without it, the retention is unknown, with a note."""
    assert configured_retention(GroupsOptions()).retention_ms is None
    configured = configured_retention(GroupsOptions(offsets_retention=60.0, offsets_retention_check=0.5))
    assert (configured.retention_ms, configured.check_interval_ms) == (60_000, 500)
    assert len(CaptureGroups(RowList([])).notes) == len(CaptureGroups(RowList([]), configured).notes) + 1


def test_decode_errors_are_one_line_per_kind() -> None:
    """Each kind of decode error has its number of records and the position of one of them."""
    groups = CaptureGroups(RowList([row(0, b"\0\x63", b"x"), row(1, b"\0\x63", b"y"), row(2, None, b"x")]))
    lines = list(fault_lines(groups.decode_stats))
    assert lines == [
        "2 records (type 99) cannot be decoded: unknown_type in key.type, such as partition 0, offset 0",
        "1 records (no type) cannot be decoded: null_key in key, such as partition 0, offset 2",
    ]
    assert groups.problems == lines
