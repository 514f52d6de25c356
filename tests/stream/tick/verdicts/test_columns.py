"""The columns of verdicts: codes, milliseconds, -1 and NaN become words, seconds and nulls."""

import dataclasses
import types
from typing import Any, cast

import numpy as np

from exporters.readmodel import GROUPS, PARTITIONS
from exporters.wording import SEVERITIES
from stream.health.limits import HealthLimits
from stream.health.rules import RULES
from stream.health.share.rules import SHARE_RULES
from stream.health.verdict import SEVERITY, VERDICTS, Severity, Verdict
from stream.tick.hidden_commits.overlay import HiddenCommits
from stream.tick.inputs.builder import TickInputs
from stream.tick.inputs.rows import InputRows
from stream.tick.snapshot.topics import topics_table
from stream.tick.verdicts.columns import findings_table, group_columns, groups_by_verdict, partition_columns
from stream.tick.verdicts.evaluated_tick import EvaluatedTick
from tests.stream.health.panes import NOW, SPLIT, Row, judged, pane
from tests.stream.health.share.polls import SHARE_VERDICTS

NOT_KNOWN = Row(known=False, lag=0, age=-1, exact=False, lost=-1, produce=float("nan"), consume=float("nan"), trend=2)
FAR = Row(age=61_500, exact=False, produce=100.12345, consume=0.0, trend=1, lost=3, catch_up=-1)
NEAR = Row(age=1_000, catch_up=2_500, trend=-1)
DONE = Row(lag=0, age=0, catch_up=0, trend=2)
UNASSIGNED = np.full(8, -1)


def evaluated_tick(*rows: Row, verdicts: list[str], dead: tuple[str, ...] = (), fresh: tuple[int, ...] = ()) -> Any:
    """Return an evaluated tick with these rows and verdicts; `fresh` rows have no commit."""
    window = pane(*rows)
    seen = window.inputs
    state_row = np.cumsum([at not in fresh for at in range(len(rows))]) - 1
    state_row[list(fresh)] = -1
    rows_of_tick = InputRows(seen.groups.names, seen.topics, seen.group, seen.topic, seen.partition, state_row)
    evaluation = judged(window, verdicts, NOW - 5_000)
    asked = np.arange(int((state_row >= 0).sum())) == 0
    alive = np.array([name not in dead for name in seen.groups.names], np.bool_)
    inputs: Any = TickInputs(rows_of_tick, *[cast("Any", None)] * 4)
    hidden = HiddenCommits(cast("Any", None), asked, read_groups=frozenset({"b"}))
    derived: Any = types.SimpleNamespace(hidden=hidden)
    return EvaluatedTick(derived, inputs, evaluation, alive)


def test_numbers_of_partitions() -> None:
    """Unknown values are null, never -1 or NaN, and times are seconds. A group that has stopped to commit reads 0/s."""
    verdicts = ["unknown", "stopped", "recovering", "caught_up"]
    columns = partition_columns(evaluated_tick(NOT_KNOWN, FAR, NEAR, DONE, verdicts=verdicts))
    assert partition_columns(evaluated_tick(Row(trend=0), verdicts=["ok"]))["trend"].to_pylist() == ["steady"]
    ended = partition_columns(evaluated_tick(Row(consume=9.0, catch_up=5, ended=True), verdicts=["ok"]))
    assert [ended[name].to_pylist() for name in ("consume_rate", "catch_up_seconds")] == [[0.0], [None]]
    values = {name: column.to_pylist() for name, column in columns.items()}
    assert values["lost"] == [None, 3, 0, 0]
    assert values["time_lag"] == [None, 61.5, 1.0, 0.0]
    assert values["time_lag_exact"] == [None, False, True, True]
    assert values["produce_rate"] == [None, 100.123, 100.0, 100.0]
    assert values["consume_rate"] == [None, 0.0, 100.0, 100.0]
    assert values["catch_up_seconds"] == [None, None, 2.5, 0.0]
    assert values["trend"] == [None, "growing", "shrinking", None]
    assert values["verdict"] == verdicts
    assert values["offset_hidden"] == [True, False, False, False]
    assert columns.keys() <= set(PARTITIONS.names)
    for name, column in columns.items():
        assert column.type == PARTITIONS.field(name).type


def test_a_group_has_its_worst_verdict() -> None:
    """A group has the partitions and the time of its worst verdict; a dead group has no verdict."""
    found = evaluated_tick(
        dataclasses.replace(FAR, group="a", stuck=True),
        dataclasses.replace(NEAR, group="a"),
        dataclasses.replace(DONE, group="b"),
        dataclasses.replace(DONE, group="c"),
        verdicts=["stopped", "stopped", "caught_up", "ok"],
        dead=("c",),
    )
    columns = group_columns(found)
    values = {name: column.to_pylist() for name, column in columns.items()}
    assert values["verdict"] == ["stopped", "caught_up", None]
    assert values["severity"] == ["critical", "fine", None]
    assert values["verdict_partitions"] == [2, 1, None]
    assert values["time_lag_max"] == [61.5, 0.0, 0.0]
    assert values["time_lag_max_exact"] == [False, True, True], (
        "the history of the first does not reach back far enough"
    )
    assert values["held_back"] == [False, True, None]
    assert [each is None for each in values["verdict_since"]] == [False, False, True]
    for name, column in columns.items():
        assert column.type == GROUPS.field(name).type
    by_verdict = groups_by_verdict(found).to_pylist()
    assert {row["verdict"] for row in by_verdict if row["severity"] == "fine"} == {"ok", "caught_up", "mirrored"}
    counts = {row["verdict"]: row["groups"] for row in by_verdict}
    assert (counts["stopped"], counts["caught_up"], counts["ok"], len(counts)) == (
        1,
        1,
        0,
        len(VERDICTS),
    )


def test_a_topic_has_its_worst_verdict() -> None:
    """The table has one row per group and topic, in the order of the rows.

    Without a commit, the lag is known of an empty partition only: clients in Go and JavaScript never commit these.
    """
    found = evaluated_tick(
        dataclasses.replace(FAR, group="a", topic="t"),
        dataclasses.replace(DONE, group="a", topic="t"),
        dataclasses.replace(NOT_KNOWN, group="a", topic="u"),
        dataclasses.replace(DONE, group="b", topic="t", lag=5, committed=-1),
        dataclasses.replace(DONE, group="b", topic="u", committed=-1),
        verdicts=["stopped", "caught_up", "unknown", "caught_up", "caught_up"],
        fresh=(3, 4),
    )
    rows = topics_table(
        found.inputs.rows, found.evaluation.window, UNASSIGNED[: len(found.inputs.rows)], found
    ).to_pylist()
    assert [(row["group"], row["topic"], row["verdict"]) for row in rows] == [
        ("a", "t", "stopped"),
        ("a", "u", "unknown"),
        ("b", "t", "caught_up"),
        ("b", "u", "caught_up"),
    ]
    assert [(row["partitions"], row["lag_sum"], row["lag_max"], row["partitions_lag_unknown"]) for row in rows] == [
        (2, 400, 400, 0),
        (1, None, None, 1),
        (0, None, None, 1),
        (0, 0, 0, 0),
    ]
    assert [row["time_lag_max"] for row in rows] == [61.5, None, None, None]
    assert [row["time_lag_max_exact"] for row in rows] == [False, None, None, None]
    assert (
        topics_table(found.inputs.rows, found.evaluation.window, UNASSIGNED[: len(found.inputs.rows)], None)
        .column("verdict")
        .null_count
        == 4
    )


def test_an_unhealthy_group_has_the_partition_that_is_sick_for_longest() -> None:
    """Neither the greater lag nor a worse time of another verdict changes it; fine and dead groups have no row.

    The owner's client is hidden with the members.
    """
    names = ("a", "a", "a", "b", "c")
    rows = [dataclasses.replace(FAR, group=name, lag=lag, committed=7) for lag, name in enumerate(names)]
    found = evaluated_tick(*rows, verdicts=["skewed", "stopped", "stopped", "ok", "stopped"], dead=("c",), fresh=(4,))
    since = np.array([NOW - 9, NOW - 5, NOW, 0, 0])
    evaluation = dataclasses.replace(found.evaluation, since=since, group_since=since[[1, 3, 4]])
    for hides in (False, True):
        inputs = dataclasses.replace(evaluation.window.inputs, clients=SPLIT[0].clients)
        limits = HealthLimits(hide_members=hides)
        window = dataclasses.replace(evaluation.window, inputs=inputs, limits=limits)
        seen = dataclasses.replace(found, evaluation=dataclasses.replace(evaluation, window=window))
        assert findings_table(seen).to_pylist() == [
            {
                "group": "a",
                "verdict": "stopped",
                "topic": "orders",
                "partition": 1,
                "client_id": None if hides else "a",
                "committed_offset": 7,
            }
        ]


def test_exporters_and_health_have_the_same_severities() -> None:
    """Exporters have their own list of severities, because they do not import health."""
    assert tuple(each.name.lower() for each in Severity) == SEVERITIES


def test_the_legends_are_in_the_order_of_the_verdicts() -> None:
    """The table of verdicts has the meaning and the next step of each rule."""
    table = groups_by_verdict(evaluated_tick(Row(), verdicts=["stopped"]))
    legends = {row["verdict"]: (row["meaning"], row["next_step"]) for row in table.to_pylist()}
    of_partitions = {rule.verdict: (rule.meaning, rule.next_step) for rule in RULES}
    assert legends == of_partitions | {rule.verdict: (rule.meaning, rule.next_step) for rule in SHARE_RULES}


def test_every_verdict_reaches_the_tables() -> None:
    """Each verdict that a row may have has its word and its severity."""
    for verdict in set(VERDICTS) - set(SHARE_VERDICTS):
        found = evaluated_tick(Row(), verdicts=[verdict])
        assert partition_columns(found)["verdict"].to_pylist() == [verdict]
        assert group_columns(found)["severity"].to_pylist() == [SEVERITY[Verdict(verdict)].name.lower()]
