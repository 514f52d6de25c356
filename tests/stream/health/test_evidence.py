"""The numbers behind a verdict: unknown ones are null, never -1 or NaN."""

from __future__ import annotations

import pytest

from stream.health.evidence import COLUMNS, evidence
from stream.health.inputs import OpenTransaction
from stream.health.rules import RULES
from tests.stream.health.panes import HOUR, NOW, Row, pane


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.verdict)
def test_a_rule_lists_only_numbers_that_exist(rule: object) -> None:
    """Each name in the evidence of a rule has a reader."""
    assert set(rule.evidence) <= COLUMNS.keys()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "row", "value"),
    [
        pytest.param("lag", Row(lag=400), 400, id="lag"),
        pytest.param("lag", Row(known=False, lag=0), None, id="unknown lag"),
        pytest.param("catch_up", Row(catch_up=-1), None, id="never catches up"),
        pytest.param("produce_rate", Row(produce=1.23456), 1.235, id="rates have three digits"),
        pytest.param("consume_rate", Row(consume=float("nan")), None, id="unknown rate"),
        pytest.param("offset_expiry_time", Row(expires_in=HOUR), NOW + HOUR, id="time of expiry"),
        pytest.param("offset_expiry_time", Row(), None, id="no expiry"),
        pytest.param("rebalances", Row(rebalances=3), 3, id="a number of the group"),
        pytest.param("transaction", Row(), None, id="no transaction"),
    ],
)
def test_the_evidence_of_a_row_has_its_numbers(name: str, row: Row, value: float | None) -> None:
    """The evidence has a number of the row or of its group by name; an unknown number is None."""
    assert evidence(pane(row), 0, (name,)) == {name: value}


@pytest.mark.parametrize(("name", "text"), [("pay-1", "producer 7, pay-1"), (None, "producer 7")])
def test_the_evidence_of_a_transaction_has_its_producer(name: str | None, text: str) -> None:
    """The evidence has the producer id and the transactional id, as far as they are known."""
    window = pane(Row(), transactions={(0, 0): OpenTransaction(7, name)})
    assert evidence(window, 0, ("transaction",)) == {"transaction": text}
