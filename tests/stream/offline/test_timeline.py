"""The timeline of one group: one event per change, and one event for consecutive commits."""

from stream.offline.capture import CaptureFile
from stream.offline.rows import LogRow
from stream.offline.timeline import timeline
from tests.stream.offline.captures import RECORDED, commit, generation, row
from tests.support.raw import commit_key, commit_value, group_key

HOUR = 3_600_000


def test_a_group_name_that_is_not_utf8_is_found_as_it_is_shown() -> None:
    """A group is found by its shown name, in which bytes that are not UTF-8 are replaced."""
    key = b"\0\1\0\2g\xff" + commit_key("", "t", 0)[4:]
    rows = [row(0, key, commit_value(5, 1)), row(1, commit_key("g", "t", 0), commit_value(6, 1))]
    assert events_of(rows, "g\ufffd") == ["committed: t/0 committed at 5"]


def events_of(rows: list[LogRow], group: str = "g") -> list[str]:
    """Return kind and sentence of each event."""
    return [f"{event.kind}: {event.text}" for event in timeline(rows, group)]


REMOVED = "removed by the broker (tombstone)"
GONE = "expired, deleted, or its topic was deleted"
EVENTS: dict[str, tuple[list[LogRow], list[str]]] = {
    "one commit": ([commit(0, 5)], ["committed: t/0 committed at 5"]),
    "commits with progress are one event": (
        [commit(0, 5), commit(1, 7), commit(2, 9)],
        ["committed: t/0 committed 3 times: 5 to 9"],
    ),
    "commits without progress are one event": (
        [commit(0, 5), commit(1, 5)],
        ["committed: t/0 committed 2 times: stays at 5"],
    ),
    "a rewind by one offset": (
        [commit(0, 9), commit(1, 8)],
        ["committed: t/0 committed at 9", "rewound: t/0 rewound from 9 to 8: 1 offset back"],
    ),
    "a rewind is an event of its own": (
        [commit(0, 9), commit(1, 4), commit(2, 5)],
        [
            "committed: t/0 committed at 9",
            "rewound: t/0 rewound from 9 to 4: 5 offsets back",
            "committed: t/0 committed at 5",
        ],
    ),
    "a tombstone names the removed offset": (
        [commit(0, 5), commit(1, None)],
        ["committed: t/0 committed at 5", f"forgotten: t/0 {REMOVED}, was 5: {GONE}"],
    ),
    "a lower offset after a tombstone is no rewind": (
        [commit(0, 9), commit(1, None), commit(2, 1)],
        ["committed: t/0 committed at 9", f"forgotten: t/0 {REMOVED}, was 9: {GONE}", "committed: t/0 committed at 1"],
    ),
    "generations with the members that joined and left": (
        [generation(0, 1, ["a"]), generation(1, 2, ["a", "b"]), generation(2, 3, [])],
        [
            "joined: member a (client at /127.0.0.1) joined",
            "generation: generation 1: 1 member by range",
            "joined: member b (client at /127.0.0.1) joined",
            "generation: generation 2: 2 members by range",
            "left: member a left, timed out or was removed",
            "left: member b left, timed out or was removed",
            "empty: generation 3: empty, all members have left",
        ],
    ),
    "tombstone of a group": (
        [generation(0, 4, []), row(1, group_key("g"), None)],
        [
            "empty: generation 4: empty, all members have left",
            f"deleted: group {REMOVED} after generation 4: deleted, expired or converted",
        ],
    ),
    "malformed record": (
        [row(0, commit_key("g", "t", 0), b"\0\x63")],
        ["unreadable: a record of type 1 cannot be decoded: unknown_version in value.version"],
    ),
    "other groups are skipped": ([commit(0, 5, group="other"), commit(1, 6, group="gg")], []),
}


def test_records_lead_to_events() -> None:
    """The records of a group lead to these events."""
    found = {story: events_of(rows) for story, (rows, _) in EVENTS.items()}
    assert found == {story: events for story, (_, events) in EVENTS.items()}


def test_commits_after_a_long_pause_are_a_new_event() -> None:
    """Commits more than an hour apart are separate events with separate times."""
    key, value = commit(0, 5).key, commit(0, 5).value
    rows = [row(0, key, value, time=0), row(1, key, value, time=HOUR + 1), row(2, key, value, time=HOUR + 2)]
    assert [(event.time, event.text) for event in timeline(rows, "g")] == [
        (0, "t/0 committed at 5"),
        (HOUR + 2, "t/0 committed 2 times: stays at 5"),
    ]


KINDS = {
    "simple-group": {"committed", "rewound", "forgotten"},
    "classic-group": {"joined", "generation", "committed", "left", "empty"},
    "static-group": {"joined", "rejoined", "left", "generation", "committed", "empty"},
    "consumer-group": {"joined", "epoch", "assigned", "resolved", "committed", "left"},
    "share-group": {"joined", "epoch", "assigned", "share-state", "left"},
    "streams-group": {"joined", "topology", "epoch", "assigned", "committed", "left"},
    "deleted-group": {"joined", "generation", "committed", "left", "empty", "forgotten", "deleted"},
}


def test_recorded_groups_of_every_kind_have_a_timeline() -> None:
    """Each recorded group has exactly the expected kinds of events, so no unreadable record, in the log's order."""
    events = {group: list(timeline(CaptureFile(RECORDED).rows(), group)) for group in KINDS}
    assert {group: {event.kind for event in found} for group, found in events.items()} == KINDS
    for found in events.values():
        positions = [event.position for event in found]
        assert positions == sorted(positions)
