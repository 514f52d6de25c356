"""The timeline of one group: one event per change, and one event for consecutive commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream.offline.capture import CaptureFile
from stream.offline.timeline import timeline
from tests.stream.offline.captures import RECORDED, commit, generation, row
from tests.support.raw import commit_key, commit_value, group_key

if TYPE_CHECKING:
    from stream.offline.rows import LogRow

HOUR = 3_600_000


def test_a_group_name_that_is_not_utf8_is_found_as_it_is_shown() -> None:
    """A group is found by its shown name, in which bytes that are not UTF-8 are replaced."""
    key = b"\0\1\0\2g\xff" + commit_key("", "t", 0)[4:]
    rows = [row(0, key, commit_value(5, 1)), row(1, commit_key("g", "t", 0), commit_value(6, 1))]
    assert events_of(rows, "g\ufffd") == [("committed", "t/0 committed at 5")]


def events_of(rows: list[LogRow], group: str = "g") -> list[tuple[str, str]]:
    """Return kind and sentence of each event."""
    return [(event.kind, event.text) for event in timeline(rows, group)]


@pytest.mark.parametrize(
    ("rows", "events"),
    [
        pytest.param([commit(0, 5)], [("committed", "t/0 committed at 5")], id="one commit"),
        pytest.param(
            [commit(0, 5), commit(1, 7), commit(2, 9)],
            [("committed", "t/0 committed 3 times: 5 to 9")],
            id="commits with progress are one event",
        ),
        pytest.param(
            [commit(0, 5), commit(1, 5)],
            [("committed", "t/0 committed 2 times: stays at 5")],
            id="commits without progress are one event",
        ),
        pytest.param(
            [commit(0, 9), commit(1, 8)],
            [("committed", "t/0 committed at 9"), ("rewound", "t/0 rewound from 9 to 8: 1 offset back")],
            id="a rewind by one offset",
        ),
        pytest.param(
            [commit(0, 9), commit(1, 4), commit(2, 5)],
            [
                ("committed", "t/0 committed at 9"),
                ("rewound", "t/0 rewound from 9 to 4: 5 offsets back"),
                ("committed", "t/0 committed at 5"),
            ],
            id="a rewind is an event of its own",
        ),
        pytest.param(
            [commit(0, 5), commit(1, None)],
            [
                ("committed", "t/0 committed at 5"),
                (
                    "forgotten",
                    "t/0 removed by the broker (tombstone), was 5: expired, deleted, or its topic was deleted",
                ),
            ],
            id="a tombstone names the removed offset",
        ),
        pytest.param(
            [commit(0, 9), commit(1, None), commit(2, 1)],
            [
                ("committed", "t/0 committed at 9"),
                (
                    "forgotten",
                    "t/0 removed by the broker (tombstone), was 9: expired, deleted, or its topic was deleted",
                ),
                ("committed", "t/0 committed at 1"),
            ],
            id="a lower offset after a tombstone is no rewind",
        ),
        pytest.param(
            [generation(0, 1, ["a"]), generation(1, 2, ["a", "b"]), generation(2, 3, [])],
            [
                ("joined", "member a (client at /127.0.0.1) joined"),
                ("generation", "generation 1: 1 member by range"),
                ("joined", "member b (client at /127.0.0.1) joined"),
                ("generation", "generation 2: 2 members by range"),
                ("left", "member a left, timed out or was removed"),
                ("left", "member b left, timed out or was removed"),
                ("empty", "generation 3: empty, all members have left"),
            ],
            id="generations with the members that joined and left",
        ),
        pytest.param(
            [generation(0, 4, []), row(1, group_key("g"), None)],
            [
                ("empty", "generation 4: empty, all members have left"),
                (
                    "deleted",
                    "group removed by the broker (tombstone) after generation 4: deleted, expired or converted",
                ),
            ],
            id="tombstone of a group",
        ),
        pytest.param(
            [row(0, commit_key("g", "t", 0), b"\0\x63")],
            [("unreadable", "a record of type 1 cannot be decoded: unknown_version in value.version")],
            id="malformed record",
        ),
        pytest.param([commit(0, 5, group="other"), commit(1, 6, group="gg")], [], id="other groups are skipped"),
    ],
)
def test_records_lead_to_events(rows: list[LogRow], events: list[tuple[str, str]]) -> None:
    """The records of a group lead to these events."""
    assert events_of(rows) == events


def test_commits_after_a_long_pause_are_a_new_event() -> None:
    """Commits more than an hour apart are separate events with separate times."""
    key, value = commit(0, 5).key, commit(0, 5).value
    rows = [row(0, key, value, time=0), row(1, key, value, time=HOUR + 1), row(2, key, value, time=HOUR + 2)]
    assert [(event.time, event.text) for event in timeline(rows, "g")] == [
        (0, "t/0 committed at 5"),
        (HOUR + 2, "t/0 committed 2 times: stays at 5"),
    ]


def test_events_are_in_log_order() -> None:
    """The positions of the events of a group never decrease."""
    for group in ("simple-group", "classic-group", "consumer-group", "share-group", "streams-group"):
        positions = [event.position for event in timeline(CaptureFile(RECORDED).rows(), group)]
        assert positions
        assert positions == sorted(positions)


@pytest.mark.parametrize(
    ("group", "kinds"),
    [
        ("simple-group", {"committed", "rewound", "forgotten"}),
        ("classic-group", {"joined", "generation", "committed", "left", "empty"}),
        ("static-group", {"joined", "rejoined", "left", "generation", "committed", "empty"}),
        ("consumer-group", {"joined", "epoch", "assigned", "resolved", "committed", "left"}),
        ("share-group", {"joined", "epoch", "assigned", "share-state", "left"}),
        ("streams-group", {"joined", "topology", "epoch", "assigned", "committed", "left"}),
        ("deleted-group", {"joined", "generation", "committed", "left", "empty", "forgotten", "deleted"}),
    ],
)
def test_recorded_groups_of_every_kind_have_a_timeline(group: str, kinds: set[str]) -> None:
    """The timeline of each recorded group has exactly the expected kinds of events, so no unreadable record."""
    assert {event.kind for event in timeline(CaptureFile(RECORDED).rows(), group)} == kinds
