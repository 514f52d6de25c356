"""Groups with generated names, shown as one group per pattern."""

import dataclasses
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exporters.catalogue.groups import TARGETS
from exporters.http.openapi.small_world import NOON
from exporters.readmodel import Snapshot
from exporters.selection.folding import FoldRules, GroupFolder
from exporters.selection.series import (
    dead_groups_apart,
    maintenance_table,
    not_alerted_table,
    owner_table,
    partition_verdict_table,
)
from tests.exporters.snapshots import snapshot, table

CONSOLE = "console-consumer-*"


def group(name: str, **changes: Any) -> dict[str, Any]:
    """Return a healthy group with a lag of 1."""
    row = {"group": name, "kind": "classic", "state": "Stable", "members": 1, "partitions": 1, "rebalances": 3}
    fine = {"lag_sum": 1, "lag_max": 1, "time_lag_max": 2.0, "verdict": "ok", "severity": "fine", "verdict_since": NOON}
    return {**row, **fine, **changes}


def world(*groups: dict[str, Any]) -> Snapshot:
    """Return a snapshot of these groups; each live one has a partition, an unknown lag, a transition and a target."""
    names = [row["group"] for row in groups if row["state"] != "Dead"]
    made = snapshot(
        partitions=[{"group": name, "topic": "t", "partition": 0, "lag": 1, "verdict": "stopped"} for name in names],
        groups=list(groups),
        unknown_lags=[{"group": name, "reason": "no leader", "partitions": 2} for name in names],
        transitions=[{"group": name, "transition": "created", "count": 1} for name in names],
        topics=[{"group": name, "topic": "t", "lag_sum": 1} for name in names],
    )
    targets = [{"group": name, "time_lag_target": 60.0 - at} for at, name in enumerate(names)]
    return dataclasses.replace(
        made, targets=table(TARGETS.schema, targets), partition_verdicts=partition_verdict_table(made)
    )


def consoles(number: int) -> list[dict[str, Any]]:
    return [group(f"console-consumer-{at}") for at in range(number)]


def folded(shown: Snapshot, rules: FoldRules) -> Snapshot:
    return GroupFolder(rules).fold(dead_groups_apart(shown))


def names(shown: Snapshot) -> list[str]:
    return shown.groups.column("group").to_pylist()


def test_a_folded_row_has_sums_and_the_worst_verdict() -> None:
    """A row has the sums of lag, lost offsets, members and partitions, and the greatest lag and time lag.

    The verdict of the row is the worst one, with the time at which it began.
    """
    shown = folded(
        world(
            group("orders"),
            group("console-consumer-1", lag_sum=5, lag_max=4, time_lag_max=9.5, last_commit_time=NOON, lost_sum=2),
            group("console-consumer-2", verdict="stopped", severity="critical", verdict_since=NOON + 7, lag_sum=None),
            group("console-consumer-3", verdict="stalled", severity="critical", verdict_since=NOON + 5, members=3),
        ),
        FoldRules(generated_from=3),
    )
    assert names(shown) == ["orders", CONSOLE]
    row = {name: value for name, value in shown.groups.to_pylist()[1].items() if value is not None}
    assert row.pop("verdict_since").microsecond == 5000
    assert row.pop("last_commit_time").year == 2023
    assert row == {
        "group": CONSOLE,
        "lag_sum": 6,
        "lag_max": 4,
        "time_lag_max": 9.5,
        "lost_sum": 2,
        "members": 5,
        "partitions": 3,
        "verdict": "stalled",
        "severity": "critical",
    }
    assert shown.folded_groups.to_pylist() == [{"group": CONSOLE, "groups": 3}]


def test_folded_groups_have_no_finer_series_and_no_counters() -> None:
    """Folded groups lose partitions, topics and transitions; unknown lags are added; the shortest target applies."""
    shown = folded(world(group("orders"), *consoles(3)), FoldRules(generated_from=3))
    for finer in (shown.partitions, shown.partition_verdicts, shown.topics, shown.transitions):
        assert finer.column("group").to_pylist() == ["orders"]
    assert shown.unknown_lags.to_pylist() == [
        {"group": "orders", "reason": "no leader", "partitions": 2},
        {"group": CONSOLE, "reason": "no leader", "partitions": 6},
    ]
    assert shown.targets.to_pylist() == [
        {"group": "orders", "time_lag_target": 60.0},
        {"group": CONSOLE, "time_lag_target": 57.0},
    ]


ZERO, ONE, TWO = (f"console-consumer-{at}" for at in range(3))
RULES: list[tuple[FoldRules, list[dict[str, Any]], list[str]]] = [
    # no rule; fewer groups than the limit; as many as the limit
    (FoldRules(), consoles(2), [ZERO, ONE]),
    (FoldRules(generated_from=3), consoles(2), [ZERO, ONE]),
    (FoldRules(generated_from=2), consoles(2), [CONSOLE]),
    # one group by option; the first pattern of the option applies; the option has precedence over the rule
    (FoldRules((".*-1",)), consoles(2), [ZERO, ".*-1"]),
    (FoldRules(("console-.*", ".*-1")), consoles(2), ["console-.*"]),
    (FoldRules((".*-0",), 2), consoles(3), [".*-0", CONSOLE]),
    # groups folded by option do not count for the rule; a group is named like the pattern
    (FoldRules((".*-0",), 3), consoles(3), [ONE, TWO, ".*-0"]),
    (FoldRules(generated_from=2), [*consoles(2), group(CONSOLE)], [CONSOLE]),
]


def test_rules_choose_the_groups() -> None:
    """No name occurs twice, which Prometheus would refuse. Near the limit, folding does not alternate."""
    for rules, groups, shown in RULES:
        assert sorted(names(folded(world(*groups), rules))) == sorted(shown)
    folder = GroupFolder(FoldRules(generated_from=10))
    seen = [len(names(folder.fold(world(*consoles(number))))) for number in (9, 10, 9, 5, 4, 9, 10)]
    assert seen == [9, 1, 1, 1, 4, 9, 1]


@given(
    st.lists(st.sampled_from([f"ci-{at}" for at in range(10_000, 10_020)] + ["a", "b", "ci-*"]), unique=True),
    st.integers(1, 5),
)
def test_folding_keeps_the_total(present: list[str], limit: int) -> None:
    """Law: the sums of lag and members over all groups stay the same, and every name is shown once."""
    whole = world(*(group(name, lag_sum=at) for at, name in enumerate(present)))
    shown = folded(whole, FoldRules(generated_from=limit))
    for column in ("lag_sum", "members", "partitions"):
        before, after = (sum(groups.column(column).to_pylist()) for groups in (whole.groups, shown.groups))
        assert before == after
    assert len(set(names(shown))) == len(shown.groups)


def test_a_folded_row_has_the_labels_that_all_owners_share() -> None:
    """A label that differs, or that one group does not have, is not shown; a row without labels has no owner."""
    owners = [{"team": "dev", "tier": "3", "link": "https://a"}, {"team": "dev", "tier": "2"}, {"team": "dev"}]
    shown = owned(*(group(f"console-consumer-{at}", **labels) for at, labels in enumerate(owners)))
    unknown = {"tier": None, "link": None, "max_severity": None}
    assert shown.owners.to_pylist() == [{"group": CONSOLE, "team": "dev", **unknown}]
    shown = owned(group("orders", team="a"), *consoles(2), group("console-consumer-9", team="dev"))
    assert shown.owners.to_pylist() == [{"group": "orders", "team": "a", **unknown}]


def test_a_folded_row_is_in_maintenance_while_all_of_its_groups_are() -> None:
    """A row is in maintenance if each of its groups is in maintenance or silenced.

    Otherwise an alert on a group outside of the window would be muted.
    """
    until = {"maintenance_until": NOON}
    every = [group(f"console-consumer-{at}", **until) for at in range(3)]
    assert owned(*every).maintenance.to_pylist() == [{"group": CONSOLE, "in_maintenance": True}]
    assert owned(*every, *consoles(4)[3:]).maintenance.to_pylist() == []
    silenced = group("console-consumer-9", silence_reason="retired")
    assert owned(*every, silenced).maintenance.to_pylist() == [{"group": CONSOLE, "in_maintenance": True}]


def test_a_folded_row_is_not_alerted_while_every_fault_of_its_groups_is_old() -> None:
    """A new fault of any group of the row is paged; groups without a fault do not count."""
    old = [group(f"console-consumer-{at}", verdict="stopped", severity="critical", not_alerted=True) for at in range(3)]
    new = group("console-consumer-9", verdict="stopped", severity="critical", not_alerted=False)
    well = group("console-consumer-8", verdict="ok", severity="fine", not_alerted=False)
    assert owned(*old, well).not_alerted.to_pylist() == [{"group": CONSOLE, "not_alerted": True}]
    assert owned(*old, new).not_alerted.to_pylist() == []
    assert owned(well, *consoles(4)[:2]).not_alerted.to_pylist() == []


def owned(*groups: dict[str, Any]) -> Snapshot:
    """Return the folded snapshot of these groups, with owners, maintenance windows and old faults."""
    made = world(*groups)
    tables = {
        "owners": owner_table(made.groups),
        "maintenance": maintenance_table(made.groups),
        "not_alerted": not_alerted_table(made.groups),
    }
    return folded(dataclasses.replace(made, **tables), FoldRules(generated_from=3))


@given(st.lists(st.integers(0, 6), min_size=2, max_size=8))
def test_kept_names_fold_as_new_ones(counts: list[int]) -> None:
    """Law: a snapshot whose names are those of the last one is folded as if they were new."""
    kept, fresh = (GroupFolder(FoldRules(generated_from=4)) for _ in range(2))
    for count in counts:
        shown = dead_groups_apart(world(group("orders"), *consoles(count)))
        fresh._names = []
        assert names(kept.fold(shown)) == names(fresh.fold(shown))
