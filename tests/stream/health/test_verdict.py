"""The verdict of a group from those of its partitions, the numbers behind a verdict, and sums by owner."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.health.evidence import evidence
from stream.health.verdict import CODE, SEVERITIES, VERDICTS, Verdict, roll_up
from tests.stream.health.panes import HOUR, NOW, Row, pane
from tests.stream.health.tables import wrong

V = Verdict
CASES = {
    "all caught up": ([V.CAUGHT_UP, V.CAUGHT_UP], [0, 0], (V.CAUGHT_UP, 0, 2)),
    "one keeps up": ([V.CAUGHT_UP, V.OK], [0, 3], (V.OK, 1, 1)),
    "one unknown": ([V.OK, V.UNKNOWN], [3, 0], (V.UNKNOWN, 1, 1)),
    "one with a fault, one unknown": ([V.UNKNOWN, V.SKEWED], [0, 3], (V.SKEWED, 1, 1)),
    "worst verdict of the group": ([V.SKEWED, V.STOPPED, V.OK], [9, 3, 1], (V.STOPPED, 1, 1)),
    "greatest lag of equal verdicts": ([V.STOPPED, V.STOPPED, V.STOPPED], [3, 9, 4], (V.STOPPED, 1, 3)),
    "first row of equal lags": ([V.STOPPED, V.STOPPED], [3, 3], (V.STOPPED, 0, 2)),
    "nothing committed": ([], [], (V.UNKNOWN, -1, 0)),
}


def test_a_group_has_the_worst_verdict_of_its_partitions() -> None:
    """The result has the verdict, the row that represents the group, and the number of rows with this verdict."""

    def worst(verdicts: list[Verdict], lags: list[int]) -> tuple[Verdict, int, int]:
        codes = np.array([CODE[each] for each in verdicts], np.int8)
        code, row, rows = roll_up(codes, np.array(lags, np.int64), np.zeros(len(lags), np.int64), 1)
        return VERDICTS[code[0]], row[0], rows[0]

    assert wrong(CASES, worst) == []


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(VERDICTS), st.integers(0, 5)), max_size=20))
def test_a_group_has_the_severity_of_its_worst_partition(rows: list[tuple[int, Verdict, int]]) -> None:
    """The row that represents a group is a row of this group and has its verdict."""
    of = np.array([group for group, _, _ in rows], np.int64)
    codes = np.array([CODE[verdict] for _, verdict, _ in rows], np.int8)
    found, shown, count = roll_up(codes, np.array([lag for _, _, lag in rows], np.int64), of, 4)
    for group in range(4):
        of_group = codes[of == group]
        if not len(of_group):
            assert (shown[group], count[group]) == (-1, 0)
            continue
        assert SEVERITIES[found[group]] == SEVERITIES[of_group].max()
        assert of[shown[group]] == group
        assert codes[shown[group]] == found[group]
        assert count[group] == (of_group == found[group]).sum()


def test_codes_rise_with_severity() -> None:
    """The order of the verdicts is the order of their severities."""
    assert (np.diff(SEVERITIES) >= 0).all()


def test_the_evidence_of_a_row_has_its_numbers() -> None:
    """The evidence has a number of the row or of its group by name; an unknown number is None, never -1 or NaN."""
    stories = {
        "lag": ("lag", Row(lag=400), 400),
        "unknown lag": ("lag", Row(known=False, lag=0), None),
        "never catches up": ("catch_up", Row(catch_up=-1), None),
        "rates have three digits": ("produce_rate", Row(produce=1.23456), 1.235),
        "unknown rate": ("consume_rate", Row(consume=float("nan")), None),
        "time of expiry": ("offset_expiry_time", Row(expires_in=HOUR), NOW + HOUR),
        "no expiry": ("offset_expiry_time", Row(), None),
        "a number of the group": ("rebalances", Row(rebalances=3), 3),
        "no transaction": ("transaction", Row(), None),
    }
    assert wrong(stories, lambda name, row: evidence(pane(row), 0, (name,))[name]) == []
