"""The selection of the series of `/metrics`: granularity, name patterns, series budget, targets."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from exporters.catalogue.metric import MetricSource
from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.cluster.exposition import PublishedCluster
from exporters.readmodel import GROUPS
from exporters.selection.budget import COLUMNS_BY_IMPORTANCE
from exporters.selection.name_filter import NameFilter, pattern_error
from exporters.selection.series import EVERYTHING, Granularity, SeriesSelection, SeriesSelector, target_table
from exporters.text.exposition import ExpositionFormat, PublishedSnapshot
from tests.exporters.cluster_facts import facts
from tests.exporters.snapshots import HOSTILE_NAMES, NOON, small_snapshot, snapshot, table
from tests.support.hypothesis_profiles import examples

if TYPE_CHECKING:
    from exporters.readmodel import Snapshot

FINEST = {"partition": {"partition", "topic"}, "topic": {"topic"}, "group": set[str]()}


def lag_snapshot(groups: int = 3, partitions: int = 4) -> Snapshot:
    """Return a snapshot of groups with one topic each; the lag of each partition is known."""
    return snapshot(
        partitions=[
            {
                "group": f"group-{group}",
                "topic": f"topic-{group % 2}",
                "partition": partition,
                "committed_offset": 1,
                "commit_time": NOON,
                "progress_time": NOON,
                "lag": partition,
            }
            for group in range(groups)
            for partition in range(partitions)
        ],
        groups=[{"group": f"group-{group}", "lag_sum": 6, "lag_max": 3} for group in range(groups)],
        unknown_lags=[{"group": f"group-{group}", "reason": "no leader", "partitions": 1} for group in range(groups)],
        transitions=[{"group": f"group-{group}", "transition": "created", "count": 1} for group in range(groups)],
    )


def samples(shown: Snapshot, selection: SeriesSelection = EVERYTHING) -> list[Any]:
    """Return the parsed samples of the selected series."""
    text = b"".join(
        bytes(part)
        for part in PublishedSnapshot.build(shown, SeriesSelector(selection)).exposition.plain(ExpositionFormat.TEXT)
    )
    return [sample for family in text_string_to_metric_families(text.decode()) for sample in family.samples]


def test_the_default_selection_has_all_series() -> None:
    """Without configuration, the text is that of all metrics."""
    plain = PublishedSnapshot.build(small_snapshot()).exposition.plain(ExpositionFormat.TEXT)
    assert PublishedSnapshot.build(small_snapshot(), SeriesSelector()).exposition.plain(ExpositionFormat.TEXT) == plain


@pytest.mark.parametrize("granularity", Granularity)
def test_granularity_bounds_the_labels(granularity: Granularity) -> None:
    """No series is finer than the granularity, and the values of a group are the same at every granularity."""
    chosen = samples(lag_snapshot(), SeriesSelection(granularity))
    assert {label for sample in chosen for label in sample.labels} & {"topic", "partition"} <= FINEST[granularity]
    of_groups = [sample for sample in samples(lag_snapshot()) if "topic" not in sample.labels]
    assert [sample for sample in chosen if "topic" not in sample.labels] == of_groups


@pytest.mark.parametrize(
    ("name_filter", "shown"),
    [
        pytest.param(NameFilter(), {"group-0", "group-1", "group-2"}, id="no pattern"),
        pytest.param(NameFilter(allow=("group-[01]",)), {"group-0", "group-1"}, id="allowed"),
        pytest.param(NameFilter(deny=(".*-1",)), {"group-0", "group-2"}, id="denied"),
        pytest.param(
            NameFilter(allow=("group-.*",), deny=("group-0", "group-1")), {"group-2"}, id="deny has precedence"
        ),
        pytest.param(NameFilter(allow=("group",)), set(), id="a pattern matches the whole name"),
        pytest.param(NameFilter(allow=("x|group-2",)), {"group-2"}, id="an alternative matches the whole name"),
    ],
)
def test_groups_are_selected_by_name(name_filter: NameFilter, shown: set[str]) -> None:
    """A group has all of its series or none."""
    chosen = samples(lag_snapshot(), SeriesSelection(groups=name_filter))
    of_groups = [sample for sample in samples(lag_snapshot()) if sample.labels["group"] in shown]
    assert chosen == of_groups


def test_a_denied_topic_stays_in_the_sums_of_its_group() -> None:
    """It has no series, but the values of the group include it."""
    chosen = samples(lag_snapshot(), SeriesSelection(topics=NameFilter(deny=("topic-0",))))
    assert {sample.labels["topic"] for sample in chosen if "topic" in sample.labels} == {"topic-1"}
    assert {s.labels["group"]: s.value for s in chosen if s.name == "lagwarden_group_lag"} == {
        "group-0": 6,
        "group-1": 6,
        "group-2": 6,
    }


@given(st.sampled_from(HOSTILE_NAMES), st.sampled_from(HOSTILE_NAMES))
def test_a_name_with_any_characters_can_be_matched(name: str, other: str) -> None:
    """`.` matches any character, also a line feed, and an escaped name matches only itself."""
    shown = snapshot(groups=[{"group": each} for each in dict.fromkeys((name, other))])
    all_groups = SeriesSelector(SeriesSelection(groups=NameFilter(allow=("(?:.*)",)))).select(shown).shown
    assert all_groups.groups == shown.groups
    quoted = "".join(f"\\x{{{ord(letter):x}}}" for letter in name)
    one_group = SeriesSelector(SeriesSelection(groups=NameFilter(allow=(quoted,)))).select(shown).shown
    assert one_group.groups.column("group").to_pylist() == [name]


def test_an_invalid_pattern_has_an_error() -> None:
    """A pattern that is not RE2 has an error message, a valid one has none."""
    assert pattern_error("group-.*") is None
    assert "missing )" in str(pattern_error("group-(a"))
    assert pattern_error("(?=look-ahead)") is not None


# --- the budget ---


def left_out(shown: Snapshot, budget: int) -> tuple[list[str], int]:
    """Return the metrics that a budget leaves out of a snapshot, and the number of remaining series."""
    selector = SeriesSelector(SeriesSelection(budget=budget))
    published = PublishedSnapshot.build(shown, selector)
    return selector.dropped.column("metric").to_pylist(), published.exposition.series


@examples(40)
@given(groups=st.integers(0, 12), partitions=st.integers(0, 6), budget=st.integers(1, 400))
def test_the_budget_is_a_bound(groups: int, partitions: int, budget: int) -> None:
    """Law: never more series than the budget; group series are left out only after all partition and topic series."""
    shown = lag_snapshot(groups, partitions)
    own = len([sample for sample in samples(shown) if "topic" not in sample.labels])
    chosen = samples(shown, SeriesSelection(budget=budget))
    assert len(chosen) <= budget
    if budget >= own:
        assert len([sample for sample in chosen if "topic" not in sample.labels]) == own
    else:
        assert not [sample for sample in chosen if "topic" in sample.labels]


@given(st.integers(1, 12), st.integers(0, 90), st.integers(20, 400))
def test_dead_groups_are_left_out_first(living: int, dead: int, budget: int) -> None:
    """Law: no metric of live groups is left out while dead groups have series."""
    shown = lag_snapshot(living)
    mixed = with_dead_groups(shown, dead)
    only_live = [sample for sample in samples(shown, SeriesSelection(budget=budget)) if sample.labels.get("group")]
    chosen = samples(mixed, SeriesSelection(budget=budget))
    assert len(chosen) <= budget
    of_live_groups = [sample for sample in chosen if not sample.labels.get("group", "dead").startswith("dead")]
    assert of_live_groups == only_live
    if len(chosen) > len(of_live_groups):
        assert len(of_live_groups) == len([sample for sample in samples(shown) if sample.labels.get("group")])


def test_dead_groups_that_are_left_out_are_counted_and_return() -> None:
    """Their series are counted per metric; they return when all of them fit."""
    selector = SeriesSelector(SeriesSelection(budget=150))
    crowded = with_dead_groups(lag_snapshot(3), 82)
    assert PublishedSnapshot.build(crowded, selector).exposition.series == len(samples(lag_snapshot(3)))
    dropped = {row["metric"]: row["series_now"] for row in selector.dropped.to_pylist()}
    assert dropped == {"lagwarden_group_info": 82, "lagwarden_group_death_info": 82}
    assert "lagwarden_partition_lag" not in dropped
    few = with_dead_groups(lag_snapshot(3), 2)
    assert PublishedSnapshot.build(few, selector).exposition.series == len(samples(few))


def with_dead_groups(shown: Snapshot, dead: int) -> Snapshot:
    """Return the snapshot with `dead` further groups that have died, each with two series."""
    rows = [{"group": f"dead-{at}", "state": "Dead", "death_cause": "expired"} for at in range(dead)]
    return dataclasses.replace(shown, groups=pa.concat_tables([shown.groups, table(GROUPS, rows)]).unify_dictionaries())


def test_the_least_important_metric_is_left_out_first() -> None:
    """With a shrinking budget whole metrics are left out by importance; of the partition metrics lag is the last."""
    total = len(samples(lag_snapshot()))
    assert left_out(lag_snapshot(), total) == ([], total)
    dropped = [left_out(lag_snapshot(), total - 12 * step - 1)[0] for step in range(4)]
    assert dropped == [
        ["lagwarden_partition_progress_timestamp_seconds"],
        ["lagwarden_partition_commit_timestamp_seconds", "lagwarden_partition_progress_timestamp_seconds"],
        [
            "lagwarden_partition_commit_timestamp_seconds",
            "lagwarden_partition_committed_offset",
            "lagwarden_partition_progress_timestamp_seconds",
        ],
        [
            "lagwarden_partition_commit_timestamp_seconds",
            "lagwarden_partition_committed_offset",
            "lagwarden_partition_lag",
            "lagwarden_partition_progress_timestamp_seconds",
        ],
    ]


def test_series_left_out_are_summed_and_return_below_the_limit() -> None:
    """The sum increases with every snapshot; a metric returns only well below the limit, to avoid flapping."""
    total = len(samples(lag_snapshot(30)))
    selector = SeriesSelector(SeriesSelection(budget=total - 1))
    PublishedSnapshot.build(lag_snapshot(30), selector)
    PublishedSnapshot.build(lag_snapshot(30), selector)
    (row,) = selector.dropped.to_pylist()
    assert (row["series_now"], row["series_ever"]) == (120, 240)
    assert PublishedSnapshot.build(lag_snapshot(29), selector).exposition.series < len(samples(lag_snapshot(29)))
    assert PublishedSnapshot.build(lag_snapshot(20), selector).exposition.series == len(samples(lag_snapshot(20)))
    (row,) = selector.dropped.to_pylist()
    assert (row["series_now"], row["series_ever"]) == (None, 240 + 116)


def test_no_limit_drops_nothing() -> None:
    """Without a budget all metrics are selected, and nothing is counted."""
    selector = SeriesSelector()
    assert selector.select(lag_snapshot(30)).metrics == SNAPSHOT_METRICS
    assert len(selector.dropped) == 0


def test_every_ranked_column_has_a_metric() -> None:
    """The order of importance has no column without a metric, which would have no effect."""
    for source, columns in COLUMNS_BY_IMPORTANCE.items():
        shown = {metric.column for metric in SNAPSHOT_METRICS if metric.source is source}
        assert [column for column in columns if column not in shown] == []
    ranked = set(COLUMNS_BY_IMPORTANCE[MetricSource.GROUPS])
    assert {metric.column for metric in SNAPSHOT_METRICS if metric.source is MetricSource.GROUPS} == ranked


# --- targets ---


@pytest.mark.parametrize(
    ("targets", "found"),
    [
        pytest.param((), {}, id="none"),
        pytest.param(((".*", 60.0),), {"billing": 60, "billing-batch": 60, "audit": 60}, id="one for all groups"),
        pytest.param(
            ((".*-batch", 7200.0), ("billing.*", 30.0)),
            {"billing": 30, "billing-batch": 7200},
            id="the first match applies",
        ),
        pytest.param((("bill", 1.0),), {}, id="a pattern matches the whole name"),
    ],
)
def test_a_group_has_the_target_of_the_first_pattern_that_matches(
    targets: tuple[tuple[str, float], ...], found: dict[str, float]
) -> None:
    """In the order of the configuration; a group without a match has no target."""
    groups = snapshot(groups=[{"group": name} for name in ("audit", "billing", "billing-batch")]).groups
    rows = target_table(groups, targets).to_pylist()
    assert {row["group"]: row["time_lag_target"] for row in rows} == found


def test_a_target_has_the_labels_of_the_time_lag() -> None:
    """Alert rules compare both."""
    chosen = samples(small_snapshot(), SeriesSelection(targets=(("bill.*", 30.0),)))
    assert [(s.labels, s.value) for s in chosen if s.name == "lagwarden_group_target_seconds"] == [
        ({"group": "billing"}, 30.0)
    ]


# --- the cluster ---


@pytest.mark.parametrize(
    ("selection", "labels"),
    [
        pytest.param(EVERYTHING, {"topic", "partition"}, id="everything"),
        pytest.param(SeriesSelection(Granularity.TOPIC), {"topic"}, id="no partitions"),
        pytest.param(SeriesSelection(Granularity.GROUP), set(), id="no topics"),
        pytest.param(SeriesSelection(topics=NameFilter(deny=("orders",))), set(), id="not this topic"),
    ],
)
def test_topics_of_the_cluster_are_selected(selection: SeriesSelection, labels: set[str]) -> None:
    """Granularity and topic patterns apply to the series of the cluster, but not to the API."""
    published = PublishedCluster.build(facts(), selection)
    text = b"".join(bytes(part) for part in published.exposition.plain(ExpositionFormat.TEXT)).decode()
    chosen = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    assert {label for sample in chosen for label in sample.labels} & {"topic", "partition"} == labels
    assert "lagwarden_broker_leaders" in {sample.name for sample in chosen}
    assert len(published.facts.cluster_topics) == 1
