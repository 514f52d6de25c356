"""The comparison of lagwarden with the official tool and with the table of groups finds every kind of difference."""

from typing import Final

from sandbox.demo.groups import demo_group
from sandbox.demo.view import OffsetAndLag, PartitionKey, compare, compare_verdicts
from sandbox.kafka.tools import GroupOffset

PLACE: Final = ("g", "t", 0)


def official_row(
    current_offset: int | None, lag: int | None, topic: str | None = "t", partition: int | None = 0
) -> GroupOffset:
    """Return a row of the official tool for one partition."""
    return GroupOffset("g", topic, partition, current_offset, 10, lag, None, None, None)


STORIES: Final[list[tuple[str, list[GroupOffset], dict[PartitionKey, OffsetAndLag], list[bool]]]] = [
    ("equal", [official_row(7, 3)], {PLACE: (7, 3)}, [True]),
    ("different lag", [official_row(7, 3)], {PLACE: (7, 4)}, [False]),
    ("different offset", [official_row(7, 3)], {PLACE: (6, 3)}, [False]),
    ("lag not shown", [official_row(7, 3)], {PLACE: (7, None)}, [False]),
    ("neither knows the lag", [official_row(7, None)], {PLACE: (7, None)}, [True]),
    ("lag unknown to the tool", [official_row(7, None)], {PLACE: (7, 0)}, [False]),
    ("not shown at all", [official_row(7, 3)], {}, [False]),
    ("shown although the tool has no such group", [], {PLACE: (7, 3)}, [False]),
    ("owned but never committed", [official_row(None, None)], {}, []),
    ("a member without partitions", [official_row(None, None, None, None)], {}, []),
]
VERDICTS: Final[list[tuple[str, list[str | None], tuple[str | None, bool]]]] = [
    ("expected verdict", ["rewound"], ("rewound", True)),
    ("different verdict", ["two_committers"], ("two_committers", False)),
    ("a group without a verdict", [None], (None, False)),
    ("a group that is not shown", [], (None, False)),
]


def test_every_difference_is_found() -> None:
    """Offset and lag must both be equal, or both be absent, and a missing verdict is a difference."""
    wrong = []
    for story, official, shown, agrees in STORIES:
        if [row.agrees for row in compare(official, shown)] != agrees:
            wrong.append(story)
    for story, verdicts, found in VERDICTS:
        groups = [{"group": "rewound", "verdict": verdict} for verdict in verdicts]
        (row,) = compare_verdicts([demo_group("rewound")], groups)
        if (row.shown, row.agrees) != found:
            wrong.append(story)
    assert wrong == []
