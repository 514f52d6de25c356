"""The selection of the series of `/metrics`: granularity, name patterns, series budget, targets."""

import dataclasses
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.catalogue.metric import Preset
from exporters.catalogue.metrics import OWNER_METRICS, SNAPSHOT_METRICS
from exporters.catalogue.verdicts import SUMMARY
from exporters.cluster.exposition import PublishedCluster
from exporters.compatibility.selection import OTHER_EXPORTERS, OtherSelection
from exporters.http.openapi.small_world import NOON, rows, small_cluster
from exporters.readmodel import GROUPS, TRANSITIONS, Snapshot
from exporters.selection.budget import NameFilter, pattern_error
from exporters.selection.series import EVERYTHING, Granularity, SeriesSelection, SeriesSelector, target_table
from exporters.text.exposition import ExpositionFormat, PublishedSnapshot
from tests.exporters.compatibility.other_world import snapshot_at
from tests.exporters.exposition_text import plain_text
from tests.exporters.exposition_text import samples as parsed_samples
from tests.exporters.snapshots import HOSTILE_NAMES, small_snapshot, snapshot, table
from tests.support.hypothesis_profiles import examples

SUMMARIES = {metric.name for metric in SNAPSHOT_METRICS if metric.source == SUMMARY.source}
FINEST = {"partition": {"partition", "topic"}, "topic": {"topic"}, "group": set[str]()}


def lag_snapshot(groups: int = 3, partitions: int = 4) -> Snapshot:
    """Return a snapshot of groups with one topic each; the lag of each partition is known."""
    return snapshot(
        partitions=rows(
            "group topic partition lag committed_offset commit_time progress_time",
            *(
                (f"group-{group}", f"topic-{group % 2}", partition, partition, 1, NOON, NOON)
                for group in range(groups)
                for partition in range(partitions)
            ),
        ),
        groups=[{"group": f"group-{group}", "lag_sum": 6, "lag_max": 3} for group in range(groups)],
        unknown_lags=[{"group": f"group-{group}", "reason": "no leader", "partitions": 1} for group in range(groups)],
        transitions=[{"group": f"group-{group}", "transition": "created", "count": 1} for group in range(groups)],
    )


def samples(shown: Snapshot, selection: SeriesSelection = EVERYTHING) -> list[Any]:
    """Return the parsed samples of the selected series, without those of all groups together."""
    text = plain_text(PublishedSnapshot.build(shown, SeriesSelector(selection)).exposition)
    return [sample for sample in parsed_samples(text) if sample.name not in SUMMARIES]


@pytest.mark.parametrize("form", ExpositionFormat, ids=lambda form: form.name.lower())
@pytest.mark.parametrize("preset", Preset)
def test_the_name_of_the_cluster_is_the_only_difference(preset: Preset, form: ExpositionFormat) -> None:
    """Law: the text with a name differs from the text without one only in the first label of each series.

    Series of another exporter with an own label `cluster` are the same.
    """
    others = OtherSelection(tuple(other.name for other in OTHER_EXPORTERS), "own")
    unnamed = SeriesSelection(preset, compatibility=others)
    named = dataclasses.replace(unnamed, cluster="eu-1")
    lines = exposition_lines(unnamed, form)
    assert exposition_lines(named, form) == [with_label(line, 'cluster="eu-1"') for line in lines]
    assert any('cluster="own"' in line for line in lines)


def exposition_lines(selection: SeriesSelection, form: ExpositionFormat) -> list[str]:
    """Return the lines of the series about groups and about the cluster, in all spellings."""
    of_groups = PublishedSnapshot.build(snapshot_at(), SeriesSelector(selection)).exposition
    of_cluster = PublishedCluster.build(small_cluster(), selection).exposition
    return (plain_text(of_groups, form) + plain_text(of_cluster, form)).splitlines()


def with_label(line: str, label: str) -> str:
    """Return a line of the text with one more label, at the start; comments and lines with that label as they are."""
    if line.startswith("#") or 'cluster="' in line:
        return line
    if "{" in line:
        return line.replace("{", f"{{{label},", 1)
    name, _, value = line.partition(" ")
    return f"{name}{{{label}}} {value}"


def test_granularity_bounds_the_labels() -> None:
    """No series is finer than the granularity, and the values of a group are the same at every granularity."""
    of_groups = [sample for sample in samples(lag_snapshot()) if "topic" not in sample.labels]
    for granularity in Granularity:
        chosen = samples(lag_snapshot(), SeriesSelection(granularity=granularity))
        assert {label for sample in chosen for label in sample.labels} & {"topic", "partition"} <= FINEST[granularity]
        assert [sample for sample in chosen if "topic" not in sample.labels] == of_groups


LAG, MEMBERS, MARGIN = "lagwarden_group_lag", "lagwarden_group_members", "lagwarden_partition_margin_offsets"
TOPIC_LAG = "lagwarden_group_topic_lag"


def with_names(preset: Preset = Preset.FULL, *, add: str = "", omit: str = "", **more: Any) -> SeriesSelection:
    return SeriesSelection(preset, add=frozenset(filter(None, [add])), omit=frozenset(filter(None, [omit])), **more)


SELECTIONS = {
    "in the preset": (with_names(Preset.LEAN), LAG, True),
    "not in the preset": (with_names(Preset.LEAN), MEMBERS, False),
    "added": (with_names(Preset.LEAN, add=MEMBERS), MEMBERS, True),
    "omitted": (with_names(omit=LAG), LAG, False),
    "omitted although added": (with_names(add=LAG, omit=LAG), LAG, False),
    "added, but finer": (SeriesSelection(add=frozenset({MARGIN}), granularity=Granularity.TOPIC), MARGIN, False),
    "topic lag beside partitions": (with_names(Preset.STANDARD), TOPIC_LAG, False),
    "topic lag instead": (with_names(Preset.STANDARD, granularity=Granularity.TOPIC), TOPIC_LAG, True),
    "groups only": (SeriesSelection(granularity=Granularity.GROUP), TOPIC_LAG, False),
    "one finding per group": (SeriesSelection(granularity=Granularity.GROUP), "lagwarden_group_finding_info", True),
    "topic lag in the full preset": (with_names(), TOPIC_LAG, True),
    "topic lag by name": (with_names(Preset.LEAN, add=TOPIC_LAG), TOPIC_LAG, True),
}


def test_granularity_overrides_names_and_names_override_the_preset() -> None:
    """Names have precedence over the preset, and granularity has precedence over names."""
    for story, (selection, name, shown) in SELECTIONS.items():
        assert [selection.shows(metric) for metric in SNAPSHOT_METRICS if metric.name == name] == [shown], story


def test_the_summary_counts_all_groups() -> None:
    """The summary counts groups that a pattern denies, too; groups whose value is unknown do not count."""
    data = snapshot(groups=rows("group held_back odd_times", ("a", True, 3), ("b", False), ("c", True), ("d",)))
    shown = SeriesSelector(SeriesSelection(groups=NameFilter(allow=("a",)))).select(data)[0]
    assert shown.summary.to_pylist() == [{"held_back": 2, "odd_times": 1}]
    assert SeriesSelector().select(snapshot())[0].summary.to_pylist() == [{"held_back": None, "odd_times": 0}]


FILTERS = [
    (NameFilter(), "012"),
    (NameFilter(allow=("group-[01]",)), "01"),
    (NameFilter(deny=(".*-1",)), "02"),
    (NameFilter(allow=("group-.*",), deny=("group-0", "group-1")), "2"),
    (NameFilter(allow=("group",)), ""),
    (NameFilter(allow=("x|group-2",)), "2"),
]


def test_groups_are_selected_by_name() -> None:
    """A group has all of its series or none. A pattern matches the whole name, and deny has precedence."""
    for name_filter, shown in FILTERS:
        chosen = samples(lag_snapshot(), SeriesSelection(groups=name_filter))
        assert chosen == [each for each in samples(lag_snapshot()) if each.labels["group"][-1] in shown], name_filter


def test_a_denied_topic_stays_in_the_sums_of_its_group() -> None:
    """A denied topic has no series, but its group includes it. A pattern that is not RE2 has an error message."""
    chosen = samples(lag_snapshot(), SeriesSelection(topics=NameFilter(deny=("topic-0",))))
    assert {sample.labels["topic"] for sample in chosen if "topic" in sample.labels} == {"topic-1"}
    assert [s.value for s in chosen if s.name == LAG] == [6] * 3
    assert pattern_error("group-.*") is None
    assert "missing )" in str(pattern_error("group-(a"))
    assert pattern_error("(?=look-ahead)") is not None


@given(st.sampled_from(HOSTILE_NAMES), st.sampled_from(HOSTILE_NAMES))
def test_a_name_with_any_characters_can_be_matched(name: str, other: str) -> None:
    """`.` matches any character, also a line feed, and an escaped name matches only itself."""
    shown = snapshot(groups=[{"group": each} for each in dict.fromkeys((name, other))])
    all_groups = SeriesSelector(SeriesSelection(groups=NameFilter(allow=("(?:.*)",)))).select(shown)[0]
    assert all_groups.groups == shown.groups
    quoted = "".join(f"\\x{{{ord(letter):x}}}" for letter in name)
    one_group = SeriesSelector(SeriesSelection(groups=NameFilter(allow=(quoted,)))).select(shown)[0]
    assert one_group.groups.column("group").to_pylist() == [name]


def left_out(shown: Snapshot, budget: int) -> tuple[list[str], int]:
    """Return the metrics that a budget leaves out of a snapshot, and the number of remaining series."""
    selector = SeriesSelector(within(budget))
    published = PublishedSnapshot.build(shown, selector)
    return selector.dropped.column("metric").to_pylist(), published.exposition.series


def within(series: int) -> SeriesSelection:
    """Return the selection whose budget has room for this number of series about groups."""
    selection = SeriesSelection(budget=series + (series - 1) // 3)
    assert selection.budget - selection.budget // 4 == series
    return selection


@examples(40)
@given(groups=st.integers(0, 12), partitions=st.integers(0, 6), budget=st.integers(3, 400))
def test_the_budget_is_a_bound(groups: int, partitions: int, budget: int) -> None:
    """Law: never more series than the budget; group series are left out only after all partition and topic series."""
    shown = lag_snapshot(groups, partitions)
    own = PublishedSnapshot.build(shown, SeriesSelector(SeriesSelection(granularity=Granularity.GROUP)))
    selector = SeriesSelector(within(budget))
    published = PublishedSnapshot.build(shown, selector)
    assert published.exposition.series <= budget
    labels = {label for family in published.exposition.families for label in family.metric.labels}
    shown_of_groups = sum(f.series for f in published.exposition.families if "topic" not in f.metric.labels)
    if budget >= own.exposition.series:
        assert shown_of_groups == own.exposition.series
    else:
        assert "topic" not in labels


@given(st.integers(0, 5), st.integers(0, 5), st.sampled_from(Preset), st.sampled_from(Granularity))
def test_a_dead_group_has_one_series(living: int, dead: int, preset: Preset, granularity: Granularity) -> None:
    """Law: a dead group has one series with every preset and granularity, also with a history and a target."""
    selection = SeriesSelection(preset, granularity=granularity, targets=((".*", 30.0),))
    alone = samples(lag_snapshot(living), selection)
    both = samples(with_dead_groups(lag_snapshot(living), dead), selection)
    assert [sample for sample in both if not sample.labels.get("group", "").startswith("dead")] == alone
    of_dead = [sample for sample in both if sample.labels.get("group", "").startswith("dead")]
    assert {sample.name for sample in of_dead} <= {"lagwarden_group_died_timestamp_seconds"}
    assert [sample.labels["death_cause"] for sample in of_dead] == ["expired"] * dead


def test_the_series_of_dead_groups_are_left_out_first() -> None:
    """Series of dead groups are left out before any of a live group, are counted, and return when they fit."""
    few = PublishedSnapshot.build(lag_snapshot(3)).exposition.series
    selector = SeriesSelector(within(few + 10))
    crowded = with_dead_groups(lag_snapshot(3), 82)
    assert PublishedSnapshot.build(crowded, selector).exposition.series == few
    dropped = {row["metric"]: row["series_now"] for row in selector.dropped.to_pylist()}
    assert dropped == {"lagwarden_group_died_timestamp_seconds": 82}
    back = with_dead_groups(lag_snapshot(3), 2)
    assert PublishedSnapshot.build(back, selector).exposition.series == few + 2


def with_dead_groups(shown: Snapshot, dead: int) -> Snapshot:
    died = {"state": "Dead", "kind": "classic", "died_time": NOON, "death_cause": "expired"}
    names = [f"dead-{at}" for at in range(dead)]
    further = table(GROUPS, [{"group": name, **died} for name in names])
    history = [{"group": name, "transition": "dead", "count": 1} for name in names]
    return dataclasses.replace(
        shown,
        groups=pa.concat_tables([shown.groups, further]).unify_dictionaries(),
        transitions=pa.concat_tables([shown.transitions, table(TRANSITIONS, history)]).unify_dictionaries(),
    )


def test_the_least_important_metric_is_left_out_first() -> None:
    """A shrinking budget leaves out whole metrics by importance, of partitions lag last; without one, none."""
    total = PublishedSnapshot.build(lag_snapshot()).exposition.series
    assert left_out(lag_snapshot(), total) == ([], total)
    dropped = [set(left_out(lag_snapshot(), total - 12 * step - 1)[0]) for step in range(4)]
    order = ("progress_timestamp_seconds", "commit_timestamp_seconds", "committed_offset", "lag")
    assert dropped == [{f"lagwarden_partition_{name}" for name in order[: step + 1]} for step in range(4)]
    selector = SeriesSelector()
    assert selector.select(lag_snapshot(30))[1] == SNAPSHOT_METRICS
    assert len(selector.dropped) == 0
    plain = plain_text(PublishedSnapshot.build(small_snapshot()).exposition)
    assert plain_text(PublishedSnapshot.build(small_snapshot(), selector).exposition) == plain


def test_series_left_out_are_summed_and_return_below_the_limit() -> None:
    """The sum increases with every snapshot; a metric returns only well below the limit, to avoid flapping."""
    total = {groups: PublishedSnapshot.build(lag_snapshot(groups)).exposition.series for groups in (20, 29, 30)}
    selector = SeriesSelector(within(total[30] - 1))
    PublishedSnapshot.build(lag_snapshot(30), selector)
    PublishedSnapshot.build(lag_snapshot(30), selector)
    (row,) = selector.dropped.to_pylist()
    assert (row["series_now"], row["series_ever"]) == (120, 240)
    assert PublishedSnapshot.build(lag_snapshot(29), selector).exposition.series < total[29]
    assert PublishedSnapshot.build(lag_snapshot(20), selector).exposition.series == total[20]
    (row,) = selector.dropped.to_pylist()
    assert (row["series_now"], row["series_ever"]) == (None, 240 + 116)


def test_a_group_has_the_target_of_the_first_pattern_that_matches() -> None:
    """Patterns apply in the order of the configuration; a group without a match of its whole name has no target."""
    groups = snapshot(groups=[{"group": name} for name in ("audit", "billing", "billing-batch")]).groups
    for targets, found in (
        ((), {}),
        (((".*", 60.0),), {"billing": 60, "billing-batch": 60, "audit": 60}),
        (((".*-batch", 7200.0), ("billing.*", 30.0)), {"billing": 30, "billing-batch": 7200}),
        ((("bill", 1.0),), {}),
    ):
        assert {row["group"]: row["time_lag_target"] for row in target_table(groups, targets).to_pylist()} == found


def test_topics_of_the_cluster_are_selected() -> None:
    """Granularity and topic patterns apply to the series of the cluster, but not to the API."""
    for selection, labels in (
        (EVERYTHING, {"topic", "partition"}),
        (SeriesSelection(granularity=Granularity.TOPIC), {"topic"}),
        (SeriesSelection(granularity=Granularity.GROUP), set()),
        (SeriesSelection(topics=NameFilter(deny=("orders",))), set()),
    ):
        published = PublishedCluster.build(small_cluster(), selection)
        chosen = list(parsed_samples(plain_text(published.exposition)))
        assert {label for sample in chosen for label in sample.labels} & {"topic", "partition"} == labels
        assert "lagwarden_broker_leaders" in {sample.name for sample in chosen}
        assert len(published.facts.cluster_topics) == 1


def test_the_budget_has_a_quarter_for_the_cluster() -> None:
    """The least important metrics are left out whole and are counted; without a budget all are shown."""
    everything = PublishedCluster.build(small_cluster()).exposition
    _, budget = SeriesSelection(budget=40).budgets
    published = PublishedCluster.build(small_cluster(), EVERYTHING, budget)
    assert everything.series > published.exposition.series > 0
    assert published.exposition.series <= 10
    dropped = {row["metric"]: row["series_now"] for row in published.series_dropped.to_pylist()}
    kept = {family.metric.name for family in published.exposition.families}
    assert dropped == {f.metric.name: f.series for f in everything.families if f.metric.name not in kept}
    assert not any("partition" in family.metric.labels for family in published.exposition.families)
    assert SeriesSelection().budgets == (None, None)


def test_verdicts_of_partitions_are_counted_over_all_topics() -> None:
    """The number of partitions by verdict does not depend on the selected topics, and fine ones have no series."""
    verdicts = (("shown", "stopped"), ("hidden", "stopped"), ("hidden", "stalled"), ("shown", "ok"))
    world = snapshot(
        partitions=[
            {"group": "a", "topic": topic, "partition": at, "verdict": verdict}
            for at, (topic, verdict) in enumerate(verdicts)
        ],
        groups=[{"group": "a", "state": "Stable"}],
        verdict_groups=[{"verdict": "ok", "severity": "fine", "groups": 0}],
    )
    rendered = samples(world, SeriesSelection(Preset.STANDARD, topics=NameFilter(deny=("hidden",))))
    counts = {each.labels["verdict"]: each.value for each in rendered if each.name.endswith("partitions_by_verdict")}
    assert counts == {"stopped": 2.0, "stalled": 1.0}


OWNED = {"team": "payments", "tier": "1", "link": None, "max_severity": "warning", "maintenance_until": NOON + 60_000}


def policy_samples(*groups: dict[str, Any], selection: SeriesSelection = EVERYTHING) -> list[dict[str, str]]:
    """Return name and labels of the samples of owners and maintenance windows."""
    names = {metric.name for metric in OWNER_METRICS}
    rendered = samples(snapshot(groups=list(groups)), selection)
    assert {sample.value for sample in rendered if sample.name in names} <= {1.0}
    return [{"name": sample.name, **sample.labels} for sample in rendered if sample.name in names]


def test_owners_and_maintenance_windows_have_series() -> None:
    """A missing label is empty, which Prometheus treats as missing; a group without an owner has no series.

    A silenced group has the series of a maintenance window, which the alert rules use. A dead group keeps both series,
    for the alert on dead groups. The patterns of `metrics.groups_deny` apply to owners too.
    """
    billing = {"group": "billing", "state": "Stable", **OWNED}
    labels = {"group": "billing", "team": "payments", "tier": "1", "link": "", "max_severity": "warning"}
    both = [
        {"name": "lagwarden_group_owner_info", **labels},
        {"name": "lagwarden_group_maintenance", "group": "billing"},
    ]
    assert policy_samples(billing, {"group": "other", "state": "Stable"}) == both
    found = policy_samples({"group": "legacy", "state": "Stable", "silence_reason": "retired"})
    assert found == [{"name": "lagwarden_group_maintenance", "group": "legacy"}]
    assert policy_samples(billing | {"state": "Dead", "died_time": NOON}) == both
    assert policy_samples(billing, selection=SeriesSelection(groups=NameFilter(deny=("bill.*",)))) == []
