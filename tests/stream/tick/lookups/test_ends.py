"""The ends of a tick by name: found for any list of topics, and not known where they are not."""

from __future__ import annotations

import numpy as np

from stream.tick.lookups.ends import EndsByName
from tests.support.fleets import ends_of

ENDS = EndsByName(
    ends_of(
        [
            ("a", 0, 10, 9, 1, None),
            ("a", 2, 30, 30, 3, None),
            ("b", 1, None, None, None, "no_leader"),
            ("denied", -1, None, None, None, "not_authorized"),
        ]
    )
)


def test_found_by_name_whatever_the_numbering() -> None:
    """Names that were not asked for, and partitions that do not exist, have no row."""
    names = ["never asked", "b", "a"]
    rows = ENDS.rows(names, np.array([2, 2, 2, 1, 0, 1]), np.array([2, 0, 1, 1, 0, 0]))
    assert [int(ENDS.high_watermark[row]) if row >= 0 else None for row in rows.tolist()] == [
        30,
        10,
        None,
        -1,
        None,
        None,
    ]
    assert [int(column[rows[0]]) for column in (ENDS.last_stable, ENDS.log_start)] == [30, 3]


def test_topics() -> None:
    """Those that could be described; one that could not was asked for all the same."""
    assert ENDS.topics == ["a", "b"]
    assert ENDS.asked_for(["a", "denied", "other"]).tolist() == [True, True, False]
    assert ENDS.partition[ENDS.of_topic("a")].tolist() == [0, 2]
    assert len(ENDS.of_topic("other")) == 0


def test_no_ends_at_all() -> None:
    """Nothing is found, and nothing fails."""
    nothing = EndsByName(ends_of([]))
    assert nothing.topics == []
    assert nothing.rows(["a"], np.zeros(1, np.int64), np.zeros(1, np.int64)).tolist() == [-1]
    assert nothing.rows([], np.empty(0, np.int64), np.empty(0, np.int64)).tolist() == []
