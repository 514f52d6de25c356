"""Codes, milliseconds, -1 and NaN become words, seconds and nulls."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from exporters.readmodel import GROUPS, PARTITIONS, VERDICT_GROUPS
from exporters.wording import SEVERITIES
from stream.health.verdict import VERDICTS, Severity
from stream.tick.hidden_commits.model import HiddenCommits
from stream.tick.inputs.builder import TickInputs
from stream.tick.inputs.rows import InputRows
from stream.tick.snapshot.topics import topics_table
from stream.tick.verdicts.columns import group_columns, groups_by_verdict, partition_columns
from stream.tick.verdicts.evaluated_tick import EvaluatedTick
from tests.stream.health.panes import NOW, Row, judged, pane

NOT_KNOWN = Row(known=False, lag=0, age=-1, exact=False, lost=-1, produce=float("nan"), consume=float("nan"), trend=2)
FAR = Row(age=61_500, exact=False, produce=100.12345, consume=0.0, trend=1, lost=3, catch_up=-1)
NEAR = Row(age=1_000, catch_up=2_500, trend=-1)
DONE = Row(lag=0, age=0, catch_up=0, trend=2)


def diagnosed(*rows: Row, verdicts: list[str], dead: tuple[str, ...] = (), fresh: tuple[int, ...] = ()) -> Any:
    """Give rows that were judged so, and their places; `fresh` ones have no commit."""
    window = pane(*rows)
    seen = window.inputs
    fleet = np.cumsum([at not in fresh for at in range(len(rows))]) - 1
    fleet[list(fresh)] = -1
    places = InputRows(seen.groups.names, seen.topics, seen.group, seen.topic, seen.partition, fleet)
    opinion = judged(window, verdicts, NOW - 5_000)
    asked = np.arange(int((fleet >= 0).sum())) == 0
    alive = np.array([name not in dead for name in seen.groups.names], np.bool_)
    inputs: Any = TickInputs(places, cast("Any", None), cast("Any", None), cast("Any", None))
    hidden = HiddenCommits(cast("Any", None), asked, answered_groups=frozenset({"b"}))
    return EvaluatedTick(inputs, hidden, opinion, alive)


def test_numbers_of_partitions() -> None:
    """Row by row: what is not known is null, never -1 or NaN, and times are seconds."""
    verdicts = ["unknown", "stopped", "recovering", "caught_up"]
    columns = partition_columns(diagnosed(NOT_KNOWN, FAR, NEAR, DONE, verdicts=verdicts))
    told = {name: column.to_pylist() for name, column in columns.items()}
    assert told["lost"] == [None, 3, 0, 0]
    assert told["time_lag"] == [None, 61.5, 1.0, 0.0]
    assert told["time_lag_exact"] == [None, False, True, True]
    assert told["produce_rate"] == [None, 100.123, 100.0, 100.0]
    assert told["consume_rate"] == [None, 0.0, 100.0, 100.0]
    assert told["catch_up_seconds"] == [None, None, 2.5, 0.0]
    assert told["trend"] == [None, "growing", "shrinking", None]
    assert told["verdict"] == verdicts
    assert told["offset_asked"] == [True, False, False, False]
    assert columns.keys() <= set(PARTITIONS.names)
    for name, column in columns.items():
        assert column.type == PARTITIONS.field(name).type


def test_a_steady_trend_has_a_word_too() -> None:
    """Three words and nothing."""
    columns = partition_columns(diagnosed(Row(trend=0), verdicts=["ok"]))
    assert columns["trend"].to_pylist() == ["steady"]


def test_without_a_commit_an_age_is_the_least_there_can_be() -> None:
    """What came since the group formed is unread; whether more is depends on where it would begin."""
    rows = (dataclasses.replace(FAR, exact=True, committed=-1), dataclasses.replace(DONE, committed=-1))
    columns = partition_columns(diagnosed(*rows, verdicts=["never_committed", "caught_up"], fresh=(0, 1)))
    assert columns["time_lag"].to_pylist() == [61.5, None]
    assert columns["time_lag_exact"].to_pylist() == [False, None]
    assert columns["catch_up_seconds"].to_pylist() == [None, None]
    assert columns["offset_asked"].to_pylist() == [False, False]


def test_groups_are_told_by_their_worst() -> None:
    """Verdict, how many have it, since when, its sentence; none for fine ones, and nothing of the dead."""
    found = diagnosed(
        dataclasses.replace(FAR, group="a", stuck=True),
        dataclasses.replace(NEAR, group="a"),
        dataclasses.replace(DONE, group="b"),
        dataclasses.replace(DONE, group="c"),
        verdicts=["stopped", "stopped", "caught_up", "ok"],
        dead=("c",),
    )
    columns = group_columns(found)
    told = {name: column.to_pylist() for name, column in columns.items()}
    assert told["verdict"] == ["stopped", "caught_up", None]
    assert told["severity"] == ["critical", "fine", None]
    assert told["verdict_partitions"] == [2, 1, None]
    assert told["sentence"][0].startswith("2 of 2 partitions; orders-0: No commit")
    assert told["sentence"][1:] == [None, None]
    assert told["time_lag_max"] == [61.5, 0.0, 0.0]
    assert told["time_lag_max_exact"] == [False, True, True], "the first is of a history that does not reach back"
    assert told["held_back"] == [False, True, None]
    assert [each is None for each in told["verdict_since"]] == [False, False, True]
    for name, column in columns.items():
        assert column.type == GROUPS.field(name).type
    by_verdict = groups_by_verdict(found).to_pylist()
    assert {row["verdict"] for row in by_verdict if row["severity"] == "fine"} == {"ok", "caught_up"}
    counts = {row["verdict"]: row["groups"] for row in by_verdict}
    assert (counts["stopped"], counts["caught_up"], counts["ok"], len(counts)) == (1, 1, 0, len(VERDICTS))


def test_topics_are_told_by_their_worst() -> None:
    """One row per group and topic, in the order of the rows."""
    found = diagnosed(
        dataclasses.replace(FAR, group="a", topic="t"),
        dataclasses.replace(DONE, group="a", topic="t"),
        dataclasses.replace(NOT_KNOWN, group="a", topic="u"),
        dataclasses.replace(DONE, group="b", topic="t", committed=-1),
        verdicts=["stopped", "caught_up", "unknown", "caught_up"],
        fresh=(3,),
    )
    rows = topics_table(found.inputs.rows, found.evaluation.window, found).to_pylist()
    assert [(row["group"], row["topic"], row["verdict"]) for row in rows] == [
        ("a", "t", "stopped"),
        ("a", "u", "unknown"),
        ("b", "t", "caught_up"),
    ]
    assert [(row["partitions"], row["lag_sum"], row["lag_max"], row["partitions_lag_unknown"]) for row in rows] == [
        (2, 400, 400, 0),
        (1, None, None, 1),
        (0, None, None, 1),
    ]
    assert [row["time_lag_max"] for row in rows] == [61.5, None, None]
    assert [row["time_lag_max_exact"] for row in rows] == [False, None, None]
    assert topics_table(found.inputs.rows, found.evaluation.window, None).column("verdict").null_count == 3


def test_without_a_judgement_there_are_no_columns() -> None:
    """The read model then has nulls."""
    assert partition_columns(None) == {}
    assert group_columns(None) == {}
    assert groups_by_verdict(None) == pa.table([[], [], []], schema=VERDICT_GROUPS)


def test_readers_and_health_have_the_same_words() -> None:
    """Exporters have their own list of severities, because they do not import health."""
    assert tuple(each.name.lower() for each in Severity) == SEVERITIES


def test_no_rows_at_all() -> None:
    """An empty fleet gives empty columns of the right types."""
    empty = np.empty(0, np.int64)
    places = InputRows([], [], empty, empty, np.empty(0, np.int32), empty)
    none: Any = None
    hidden = HiddenCommits(none, np.empty(0, np.bool_))
    found = EvaluatedTick(TickInputs(places, none, none, none), hidden, judged(pane(), []), np.empty(0, np.bool_))
    assert all(len(column) == 0 for column in partition_columns(found).values())
    assert all(len(column) == 0 for column in group_columns(found).values())
    assert len(topics_table(found.inputs.rows, found.evaluation.window, found)) == 0


@pytest.mark.parametrize("verdict", VERDICTS, ids=str)
def test_every_verdict_reaches_the_tables(verdict: str) -> None:
    """Whatever there is to say has its word and its severity."""
    found = diagnosed(Row(), verdicts=[verdict])
    assert partition_columns(found)["verdict"].to_pylist() == [verdict]
    assert group_columns(found)["severity"].to_pylist()[0] in SEVERITIES
