"""The table and the JSON of `replay`, and the table of the events of a group."""

import json

from stream.cli.capture_groups import CaptureGroups
from stream.cli.render.replay import events_table, replay_json, replay_table
from stream.offline.rows import RowList
from stream.offline.timeline import timeline
from tests.stream.offline.captures import commit, generation, row

NOW = 10.0
ROWS = [generation(0, 7, ["a"]), commit(1, 9), commit(2, 4), commit(3, 5, number=1), row(4, b"\0\x63", b"x")]


def test_table_has_generation_commits_and_rewinds() -> None:
    """The columns of `groups` are followed by the generation and the sums over the partitions of the group."""
    groups = CaptureGroups(RowList(ROWS))
    table = replay_table(groups.groups()["groups"], NOW, groups)
    assert [column.head for column in table.columns][-3:] == ["GENERATION", "COMMITS", "REWINDS"]
    assert [list(cells)[-3:] for cells in table.rows] == [["7", "3", "1"]]


def test_json_has_commit_facts_and_decode_statistics() -> None:
    """Each partition has the facts that the API omits; records are counted by type, decode errors by kind."""
    groups = CaptureGroups(RowList(ROWS))
    answer = json.loads("".join(replay_json(groups.groups(), groups)))
    (group,) = answer["groups"]
    first, second = group["by_partition"]
    assert (first["committed_offset"], first["commits"], first["rewinds"], first["metadata"]) == (4, 2, 1, "")
    assert (second["committed_offset"], second["commits"], second["rewinds"], second["leader_epoch"]) == (5, 1, 0, None)
    assert answer["records"] == {"1": 3, "2": 1, "99": 1}
    assert answer["faults"] == [{"record_type": 99, "version": None, "reason": "unknown_type", "count": 1}]


def test_events_have_time_and_position() -> None:
    """An event has its time in UTC, and offsets partition and offset of its record."""
    table = events_table(timeline(ROWS, "g"))
    assert [list(cells)[:3] for cells in table.rows] == [
        ["1970-01-01 00:00:00.000", "0:0", "joined"],
        ["1970-01-01 00:00:00.000", "0:0", "generation"],
        ["1970-01-01 00:00:01.000", "0:1", "committed"],
        ["1970-01-01 00:00:02.000", "0:2", "rewound"],
        ["1970-01-01 00:00:03.000", "0:3", "committed"],
    ]
