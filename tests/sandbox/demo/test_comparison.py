"""The comparison of lagwarden with the official tool and with the table of groups finds every kind of difference."""

from typing import Final

from sandbox.demo.groups import demo_group
from sandbox.demo.scrape import Scrape
from sandbox.demo.view import compare, compare_verdicts
from sandbox.kafka.tools import GroupOffset

OFFSET: Final = 'lagwarden_partition_committed_offset{group="g",topic="t",partition="0"}'
LAG: Final = 'lagwarden_partition_lag{group="g",topic="t",partition="0"}'
INFO: Final = 'lagwarden_group_info{group="rewound",kind="classic",state="Stable"} 1'


def official_row(
    current_offset: int | None, lag: int | None, topic: str | None = "t", partition: int | None = 0
) -> GroupOffset:
    """Return a row of the official tool for one partition."""
    return GroupOffset("g", topic, partition, current_offset, 10, lag, None, None, None)


def verdict_of(verdict: str) -> str:
    """Return the sample of the verdict of the rewound group."""
    return f'lagwarden_group_verdict{{group="rewound",verdict="{verdict}",severity="warning"}} 1'


def shown(*lines: str) -> Scrape:
    """Return a scrape with these samples."""
    return Scrape("".join(f"{line}\n" for line in lines))


STORIES: Final = [
    ("equal", [official_row(7, 3)], [f"{OFFSET} 7", f"{LAG} 3"], [True]),
    ("different lag", [official_row(7, 3)], [f"{OFFSET} 7", f"{LAG} 4"], [False]),
    ("different offset", [official_row(7, 3)], [f"{OFFSET} 6", f"{LAG} 3"], [False]),
    ("lag not shown", [official_row(7, 3)], [f"{OFFSET} 7"], [False]),
    ("neither knows the lag", [official_row(7, None)], [f"{OFFSET} 7"], [True]),
    ("lag unknown to the tool", [official_row(7, None)], [f"{OFFSET} 7", f"{LAG} 0"], [False]),
    ("not shown at all", [official_row(7, 3)], [], [False]),
    ("shown although the tool has no such group", [], [f"{OFFSET} 7", f"{LAG} 3"], [False]),
    ("owned but never committed", [official_row(None, None)], [], []),
    ("a member without partitions", [official_row(None, None, None, None)], [], []),
]
VERDICTS: Final = [
    ("expected verdict", [INFO, verdict_of("rewound")], ("rewound", True)),
    ("different verdict", [INFO, verdict_of("two_committers")], ("two_committers", False)),
    ("a group without a verdict", [INFO], (None, False)),
    ("a group that is not shown", [], (None, False)),
]


def test_every_difference_is_found() -> None:
    """Offset and lag must both be equal, or both be absent, and a missing verdict is a difference."""
    wrong = []
    for story, official, scraped, agrees in STORIES:
        if [row.agrees for row in compare(official, shown(*scraped))] != agrees:
            wrong.append(story)
    for story, scraped, found in VERDICTS:
        (row,) = compare_verdicts([demo_group("rewound")], shown(*scraped))
        if (row.shown, row.agrees) != found:
            wrong.append(story)
    assert wrong == []
