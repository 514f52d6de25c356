"""The story of one group: each record says what it changes, and repetition is told once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream.offline.capture import CaptureFile
from stream.offline.timeline import timeline
from tests.stream.offline.captures import RECORDED, commit, generation, row
from tests.support.raw import commit_key, group_key

if TYPE_CHECKING:
    from stream.offline.rows import TopicRow

HOUR = 3_600_000


def told(rows: list[TopicRow], group: str = "g") -> list[tuple[str, str]]:
    """Give kinds and sentences."""
    return [(moment.kind, moment.text) for moment in timeline(rows, group)]


@pytest.mark.parametrize(
    ("rows", "story"),
    [
        pytest.param([commit(0, 5)], [("committed", "t/0 committed at 5")], id="one commit"),
        pytest.param(
            [commit(0, 5), commit(1, 7), commit(2, 9)],
            [("committed", "t/0 committed 3 times: 5 to 9")],
            id="progress is one moment",
        ),
        pytest.param(
            [commit(0, 5), commit(1, 5)], [("committed", "t/0 committed 2 times: stays at 5")], id="no progress"
        ),
        pytest.param(
            [commit(0, 9), commit(1, 4), commit(2, 5)],
            [
                ("committed", "t/0 committed at 9"),
                ("rewound", "t/0 rewound from 9 to 4: 5 offsets back"),
                ("committed", "t/0 committed at 5"),
            ],
            id="a rewind stands alone",
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
            id="a tombstone names what it took",
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
            id="after a tombstone nothing is a rewind",
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
            id="generations come with who came and went",
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
            id="the end of a group",
        ),
        pytest.param(
            [row(0, commit_key("g", "t", 0), b"\0\x63")],
            [("unreadable", "a record of type 1 cannot be decoded: unknown_version in value.version")],
            id="what cannot be read is told",
        ),
        pytest.param([commit(0, 5, group="other"), commit(1, 6, group="gg")], [], id="other groups are not told"),
    ],
)
def test_stories(rows: list[TopicRow], story: list[tuple[str, str]]) -> None:
    """Each story in the words that a person reads."""
    assert told(rows) == story


def test_a_long_pause_is_seen() -> None:
    """Commits more than an hour apart are moments of their own, with their own times."""
    key, value = commit(0, 5).key, commit(0, 5).value
    rows = [row(0, key, value, time=0), row(1, key, value, time=HOUR + 1), row(2, key, value, time=HOUR + 2)]
    assert [(moment.time, moment.text) for moment in timeline(rows, "g")] == [
        (0, "t/0 committed at 5"),
        (HOUR + 2, "t/0 committed 2 times: stays at 5"),
    ]


def test_the_order_is_that_of_the_log() -> None:
    """In one offsets partition no moment stands before an earlier one."""
    for group in ("simple-group", "classic-group", "consumer-group", "share-group", "streams-group"):
        moments = list(timeline(CaptureFile(RECORDED).rows(), group))
        assert moments
        assert [moment.position for moment in moments] == sorted(moment.position for moment in moments)


@pytest.mark.parametrize(
    ("group", "kinds"),
    [
        ("simple-group", {"committed", "rewound", "forgotten"}),
        ("classic-group", {"joined", "generation", "committed", "left", "empty"}),
        ("static-group", {"joined", "rejoined", "left", "generation", "committed"}),
        ("consumer-group", {"joined", "epoch", "assigned", "resolved", "committed", "left"}),
        ("share-group", {"joined", "epoch", "assigned", "share-state", "left"}),
        ("streams-group", {"joined", "topology", "epoch", "assigned", "committed", "left"}),
        ("deleted-group", {"committed", "forgotten", "deleted"}),
    ],
)
def test_real_groups_of_every_kind_have_a_story(group: str, kinds: set[str]) -> None:
    """What happened to each recorded group is in its story, and nothing of it is unreadable."""
    seen = {moment.kind for moment in timeline(CaptureFile(RECORDED).rows(), group)}
    assert seen >= kinds
    assert "unreadable" not in seen
