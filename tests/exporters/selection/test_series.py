"""What stands in `/metrics` of a snapshot: granularity, patterns, the series budget, targets."""

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
from tests.exporters.snapshots import HOSTILE_NAMES, NOON, small_world, snapshot, table
from tests.support.laws import examples

if TYPE_CHECKING:
    from exporters.readmodel import Snapshot

FINEST = {"partition": {"partition", "topic"}, "topic": {"topic"}, "group": set[str]()}


def world(groups: int = 3, partitions: int = 4) -> Snapshot:
    """Give groups of one topic each, with the lag of each partition known."""
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


def samples(shown: Snapshot, choice: SeriesSelection = EVERYTHING) -> list[Any]:
    """Render what is chosen, and read it as Prometheus does."""
    text = b"".join(
        bytes(part)
        for part in PublishedSnapshot.build(shown, SeriesSelector(choice)).exposition.plain(ExpositionFormat.TEXT)
    )
    return [sample for family in text_string_to_metric_families(text.decode()) for sample in family.samples]


def test_no_choice_shows_everything() -> None:
    """Without a word of configuration, the text is that of all metrics."""
    plain = PublishedSnapshot.build(small_world()).exposition.plain(ExpositionFormat.TEXT)
    assert PublishedSnapshot.build(small_world(), SeriesSelector()).exposition.plain(ExpositionFormat.TEXT) == plain


@pytest.mark.parametrize("granularity", Granularity)
def test_granularity_bounds_the_labels(granularity: Granularity) -> None:
    """No series is finer than asked for, and a group's own numbers are the same at every granularity."""
    chosen = samples(world(), SeriesSelection(granularity))
    assert {label for sample in chosen for label in sample.labels} & {"topic", "partition"} <= FINEST[granularity]
    of_groups = [sample for sample in samples(world()) if "topic" not in sample.labels]
    assert [sample for sample in chosen if "topic" not in sample.labels] == of_groups


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        pytest.param(NameFilter(), {"group-0", "group-1", "group-2"}, id="no pattern: all"),
        pytest.param(NameFilter(allow=("group-[01]",)), {"group-0", "group-1"}, id="only what is allowed"),
        pytest.param(NameFilter(deny=(".*-1",)), {"group-0", "group-2"}, id="all but what is denied"),
        pytest.param(NameFilter(allow=("group-.*",), deny=("group-0", "group-1")), {"group-2"}, id="denied wins"),
        pytest.param(NameFilter(allow=("group",)), set(), id="a pattern matches the whole name"),
        pytest.param(NameFilter(allow=("x|group-2",)), {"group-2"}, id="an alternative is no loophole"),
    ],
)
def test_groups_are_chosen_by_their_names(wanted: NameFilter, shown: set[str]) -> None:
    """A group is there with all of its series or with none."""
    chosen = samples(world(), SeriesSelection(groups=wanted))
    whole = [sample for sample in samples(world()) if sample.labels["group"] in shown]
    assert chosen == whole


def test_topics_are_chosen_and_sums_stay_whole() -> None:
    """A denied topic has no series of its own; what its group sums up still has it."""
    chosen = samples(world(), SeriesSelection(topics=NameFilter(deny=("topic-0",))))
    assert {sample.labels["topic"] for sample in chosen if "topic" in sample.labels} == {"topic-1"}
    assert {s.labels["group"]: s.value for s in chosen if s.name == "lagwarden_group_lag"} == {
        "group-0": 6,
        "group-1": 6,
        "group-2": 6,
    }


@given(st.sampled_from(HOSTILE_NAMES), st.sampled_from(HOSTILE_NAMES))
def test_a_name_of_any_letters_can_be_matched(name: str, other: str) -> None:
    """The point stands for any letter, a line feed too, and what is written plainly matches itself alone."""
    shown = snapshot(groups=[{"group": each} for each in dict.fromkeys((name, other))])
    everything = SeriesSelector(SeriesSelection(groups=NameFilter(allow=("(?:.*)",)))).select(shown).shown
    assert everything.groups == shown.groups
    quoted = "".join(f"\\x{{{ord(letter):x}}}" for letter in name)
    alone = SeriesSelector(SeriesSelection(groups=NameFilter(allow=(quoted,)))).select(shown).shown
    assert alone.groups.column("group").to_pylist() == [name]


def test_a_broken_pattern_is_told() -> None:
    """What no engine of Prometheus takes has a reason; what it takes has none."""
    assert pattern_error("group-.*") is None
    assert "missing )" in str(pattern_error("group-(a"))
    assert pattern_error("(?=look-ahead)") is not None


# --- the budget ---


def left_out(shown: Snapshot, budget: int) -> tuple[list[str], int]:
    """Give what a budget leaves out of a snapshot, and how many series are left."""
    selector = SeriesSelector(SeriesSelection(budget=budget))
    published = PublishedSnapshot.build(shown, selector)
    return selector.dropped.column("metric").to_pylist(), published.exposition.series


@examples(40)
@given(groups=st.integers(0, 12), partitions=st.integers(0, 6), budget=st.integers(1, 400))
def test_the_budget_is_a_bound(groups: int, partitions: int, budget: int) -> None:
    """Never more series than the budget; those of groups leave only when none of partitions and topics is left."""
    shown = world(groups, partitions)
    own = len([sample for sample in samples(shown) if "topic" not in sample.labels])
    chosen = samples(shown, SeriesSelection(budget=budget))
    assert len(chosen) <= budget
    if budget >= own:
        assert len([sample for sample in chosen if "topic" not in sample.labels]) == own
    else:
        assert not [sample for sample in chosen if "topic" in sample.labels]


@given(st.integers(1, 12), st.integers(0, 90), st.integers(20, 400))
def test_the_dead_go_first(living: int, dead: int, budget: int) -> None:
    """No metric of the living is left out for a dead group, and none of the dead is shown while one is."""
    shown = world(living)
    with_dead = graveyard(shown, dead)
    alone = [sample for sample in samples(shown, SeriesSelection(budget=budget)) if sample.labels.get("group")]
    chosen = samples(with_dead, SeriesSelection(budget=budget))
    assert len(chosen) <= budget
    of_living = [sample for sample in chosen if not sample.labels.get("group", "dead").startswith("dead")]
    assert of_living == alone
    if len(chosen) > len(of_living):
        assert len(of_living) == len([sample for sample in samples(shown) if sample.labels.get("group")])


def test_dead_groups_that_are_left_out_are_counted_and_come_back() -> None:
    """Their series are counted by metric; with room for all of them they are shown again."""
    selector = SeriesSelector(SeriesSelection(budget=150))
    crowded = graveyard(world(3), 82)
    assert PublishedSnapshot.build(crowded, selector).exposition.series == len(samples(world(3)))
    dropped = {row["metric"]: row["series_now"] for row in selector.dropped.to_pylist()}
    assert dropped == {"lagwarden_group_info": 82, "lagwarden_group_death_info": 82}
    assert "lagwarden_partition_lag" not in dropped
    few = graveyard(world(3), 2)
    assert PublishedSnapshot.build(few, selector).exposition.series == len(samples(few))


def graveyard(shown: Snapshot, dead: int) -> Snapshot:
    """Add so many groups that have died, each with two series."""
    rows = [{"group": f"dead-{at}", "state": "Dead", "death_cause": "expired"} for at in range(dead)]
    return dataclasses.replace(shown, groups=pa.concat_tables([shown.groups, table(GROUPS, rows)]).unify_dictionaries())


def test_the_least_important_goes_first_and_is_counted() -> None:
    """With a shrinking budget metrics leave whole, in the order of their worth; lag is the last of the partitions'."""
    everything = len(samples(world()))
    assert left_out(world(), everything) == ([], everything)
    gone = [left_out(world(), everything - 12 * step - 1)[0] for step in range(4)]
    assert gone == [
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


def test_what_was_left_out_is_added_up_and_comes_back_with_room_to_spare() -> None:
    """The count rises with every snapshot; a metric returns only when it fits well, so that it does not flicker."""
    total = len(samples(world(30)))
    selector = SeriesSelector(SeriesSelection(budget=total - 1))
    PublishedSnapshot.build(world(30), selector)
    PublishedSnapshot.build(world(30), selector)
    (row,) = selector.dropped.to_pylist()
    assert (row["series_now"], row["series_ever"]) == (120, 240)
    assert PublishedSnapshot.build(world(29), selector).exposition.series < len(samples(world(29)))
    assert PublishedSnapshot.build(world(20), selector).exposition.series == len(samples(world(20)))
    (row,) = selector.dropped.to_pylist()
    assert (row["series_now"], row["series_ever"]) == (None, 240 + 116)


def test_no_limit_drops_nothing() -> None:
    """Without a budget every metric is there, and nothing is counted."""
    selector = SeriesSelector()
    assert selector.select(world(30)).metrics == SNAPSHOT_METRICS
    assert len(selector.dropped) == 0


def test_every_rank_is_of_a_column_that_is_shown() -> None:
    """The order of importance names no column that does not exist, or it would quietly rank nothing."""
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
        pytest.param(((".*", 60.0),), {"billing": 60, "billing-batch": 60, "audit": 60}, id="one for all"),
        pytest.param(
            ((".*-batch", 7200.0), ("billing.*", 30.0)), {"billing": 30, "billing-batch": 7200}, id="the first counts"
        ),
        pytest.param((("bill", 1.0),), {}, id="a pattern matches the whole name"),
    ],
)
def test_a_group_has_the_target_of_the_first_pattern_that_matches(
    targets: tuple[tuple[str, float], ...], found: dict[str, float]
) -> None:
    """Targets are looked up in the order in which they are written; a group that none matches has no target."""
    groups = snapshot(groups=[{"group": name} for name in ("audit", "billing", "billing-batch")]).groups
    rows = target_table(groups, targets).to_pylist()
    assert {row["group"]: row["time_lag_target"] for row in rows} == found


def test_targets_stand_in_the_metrics() -> None:
    """Rules find a target under the labels of the time lag that it is compared with."""
    chosen = samples(small_world(), SeriesSelection(targets=(("bill.*", 30.0),)))
    assert [(s.labels, s.value) for s in chosen if s.name == "lagwarden_group_target_seconds"] == [
        ({"group": "billing"}, 30.0)
    ]


# --- the cluster beside the groups ---


@pytest.mark.parametrize(
    ("choice", "labels"),
    [
        pytest.param(EVERYTHING, {"topic", "partition"}, id="everything"),
        pytest.param(SeriesSelection(Granularity.TOPIC), {"topic"}, id="no partitions"),
        pytest.param(SeriesSelection(Granularity.GROUP), set(), id="no topics"),
        pytest.param(SeriesSelection(topics=NameFilter(deny=("orders",))), set(), id="not this topic"),
    ],
)
def test_the_clusters_topics_are_chosen_too(choice: SeriesSelection, labels: set[str]) -> None:
    """Granularity and patterns of topics hold for the cluster's own series; what the API tells stays whole."""
    published = PublishedCluster.build(facts(), choice)
    text = b"".join(bytes(part) for part in published.exposition.plain(ExpositionFormat.TEXT)).decode()
    chosen = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    assert {label for sample in chosen for label in sample.labels} & {"topic", "partition"} == labels
    assert "lagwarden_broker_leaders" in {sample.name for sample in chosen}
    assert len(published.facts.cluster_topics) == 1
