"""Common causes as tables of the read model."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import pyarrow as pa

from exporters.readmodel import COMMON_CAUSES, COVERED_GROUPS
from stream.health.common_cause.sentences import BrokerAbsence
from stream.health.common_cause.shared import Dimension
from stream.health.common_cause.tracker import CommonCauseFinding
from stream.tick.common_cause.analysis import CommonCauseReport
from stream.tick.common_cause.tables import common_causes_table, covered_groups_table
from tests.stream.health.panes import NOW, SECOND
from tests.stream.tick.common_cause.evaluated_ticks import TickGroup, evaluated_tick_of

GROUPS: Final = {name: TickGroup("t", 1, "stopped") for name in "abcd"}
FOUND: Final = CommonCauseFinding(Dimension.COORDINATOR, "3", frozenset("abd"), 3, 4, NOW - 30 * SECOND, 20 * SECOND)
ABSENCES: Final = {3: BrokerAbsence(NOW - 70 * SECOND, NOW - 50 * SECOND)}


def causes(*found: CommonCauseFinding, absences: Any = ABSENCES) -> pa.Table:
    """Return the table of findings at NOW."""
    return common_causes_table(CommonCauseReport(found, absences), evaluated_tick_of(GROUPS), NOW / 1000)


def test_a_finding_is_a_row() -> None:
    """A row has the groups, the numbers and the sentence of its finding."""
    table = causes(FOUND)
    assert table.schema == COMMON_CAUSES
    (row,) = table.drop_columns(["since"]).to_pylist()
    assert row["sentence"] == (
        "3 of 4 groups coordinated by broker 3 stopped within 20 s; broker 3 left the cluster 40 s before and was back"
        " after 20 s."
    )
    assert row["next_step"].startswith("Look at this broker.")
    assert {name: row[name] for name in ("dimension", "key", "sick", "affected", "compared", "groups")} == {
        "dimension": "coordinator",
        "key": "3",
        "sick": 3,
        "affected": 3,
        "compared": 4,
        "groups": ["a", "b", "d"],
    }
    assert table["since"].cast(pa.int64()).to_pylist() == [NOW - 30 * SECOND]


def test_an_absence_long_before_is_not_named() -> None:
    """Neither an old absence nor that of a broker with the number of an offsets partition is in the sentence."""
    (row,) = causes(FOUND, absences={3: BrokerAbsence(NOW - 3_000 * SECOND, None)}).to_pylist()
    assert "left the cluster" not in row["sentence"]
    (row,) = causes(dataclasses.replace(FOUND, dimension=Dimension.OFFSETS_PARTITION)).to_pylist()
    assert "left the cluster" not in row["sentence"]


def test_a_host_is_in_the_sentence_and_not_in_the_label() -> None:
    """Two hosts have two labels without their addresses."""
    hosts = [
        dataclasses.replace(FOUND, dimension=Dimension.CLIENT_HOST, name=name) for name in ("10.0.0.7", "10.0.0.8")
    ]
    rows = causes(*hosts).to_pylist()
    assert "10.0.0.7" in rows[0]["sentence"]
    assert all("10.0" not in row["key"] for row in rows)
    assert len({row["key"] for row in rows}) == 2


def test_hosts_can_be_hidden() -> None:
    """A hidden host has a number instead of its name, as a hidden member has; a broker keeps its name."""
    host = dataclasses.replace(FOUND, dimension=Dimension.CLIENT_HOST, name="10.0.0.7")
    report = CommonCauseReport((FOUND, host), ABSENCES)
    broker, hidden = common_causes_table(report, evaluated_tick_of(GROUPS), NOW / 1000, hide_hosts=True).to_pylist()
    assert hidden["sentence"] == "3 of 4 groups with members on host 1 stopped within 20 s."
    assert "coordinated by broker 3" in broker["sentence"]


def test_covered_groups_are_sorted_by_name() -> None:
    """Each covered group has the finding that explains it; without findings, there are no rows."""
    other = CommonCauseFinding(Dimension.TOPIC, "t", frozenset("c"), 3, 4, NOW, 0)
    table = covered_groups_table(CommonCauseReport((FOUND, other)))
    assert table.schema == COVERED_GROUPS
    rows = [tuple(row.values()) for row in table.to_pylist()]
    assert rows == [
        ("a", "coordinator", "3"),
        ("b", "coordinator", "3"),
        ("c", "topic", "t"),
        ("d", "coordinator", "3"),
    ]
    assert covered_groups_table(CommonCauseReport()).num_rows == causes().num_rows == 0
