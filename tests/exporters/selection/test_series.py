"""The selection of the series of `/metrics`: granularity, name patterns, series budget, targets."""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from exporters.catalogue.estimate import TRANSITIONS_OF_LIVE_GROUPS, SeriesBound
from exporters.catalogue.metric import MetricSource, Preset
from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.catalogue.selection import OWNER_METRICS
from exporters.cluster.exposition import PublishedCluster
from exporters.compatibility.peers import PEERS
from exporters.compatibility.selection import PeerSelection
from exporters.readmodel import GROUPS, NAME, PARTITIONS, TIMESTAMP, TOPICS, TRANSITIONS
from exporters.selection.budget import COLUMNS_BY_IMPORTANCE
from exporters.selection.name_filter import NameFilter, pattern_error
from exporters.selection.series import EVERYTHING, Granularity, SeriesSelection, SeriesSelector, target_table
from exporters.text.exposition import ExpositionFormat, PublishedSnapshot
from tests.exporters.cluster_facts import facts
from tests.exporters.compatibility.peer_world import snapshot_at
from tests.exporters.snapshots import HOSTILE_NAMES, NOON, small_snapshot, snapshot, table
from tests.support.hypothesis_profiles import examples

if TYPE_CHECKING:
    from exporters.readmodel import Snapshot

SUMMARIES = {metric.name for metric in SNAPSHOT_METRICS if metric.source is MetricSource.SUMMARY}
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
    """Return the parsed samples of the selected series, without those of all groups together."""
    text = b"".join(
        bytes(part)
        for part in PublishedSnapshot.build(shown, SeriesSelector(selection)).exposition.plain(ExpositionFormat.TEXT)
    )
    return [
        sample
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
        if sample.name not in SUMMARIES
    ]


@pytest.mark.parametrize("form", ExpositionFormat, ids=lambda form: form.name.lower())
@pytest.mark.parametrize("preset", Preset)
def test_the_name_of_the_cluster_is_the_only_difference(preset: Preset, form: ExpositionFormat) -> None:
    """Law: the text with a name differs from the text without one only in the first label of each series.

    Series of another exporter with an own label `cluster` are the same.
    """
    peers = PeerSelection(tuple(peer.name for peer in PEERS), "own")
    unnamed = SeriesSelection(preset, compatibility=peers)
    named = dataclasses.replace(unnamed, cluster="eu-1")
    lines = exposition_lines(unnamed, form)
    assert exposition_lines(named, form) == [with_label(line, 'cluster="eu-1"') for line in lines]
    assert any(b'cluster="own"' in line for line in lines)


def exposition_lines(selection: SeriesSelection, form: ExpositionFormat) -> list[bytes]:
    """Return the lines of the series about groups and about the cluster, in all spellings."""
    of_groups = PublishedSnapshot.build(snapshot_at(), SeriesSelector(selection)).exposition
    of_cluster = PublishedCluster.build(facts(), selection).exposition
    parts = [*of_groups.plain(form), *of_cluster.plain(form)]
    return [line for part in parts for line in bytes(part).splitlines()]


def with_label(line: bytes, label: str) -> bytes:
    """Return a line of the text with one more label, at the start; comments and lines with that label as they are."""
    if line.startswith(b"#") or b'cluster="' in line:
        return line
    name, braces, rest = line.partition(b"{")
    if braces:
        return b"%s{%s,%s" % (name, label.encode(), rest)
    name, _, value = line.partition(b" ")
    return b"%s{%s} %s" % (name, label.encode(), value)


def test_the_default_selection_has_all_series() -> None:
    """The text without configuration is that of all metrics."""
    plain = PublishedSnapshot.build(small_snapshot()).exposition.plain(ExpositionFormat.TEXT)
    assert PublishedSnapshot.build(small_snapshot(), SeriesSelector()).exposition.plain(ExpositionFormat.TEXT) == plain


@pytest.mark.parametrize("granularity", Granularity)
def test_granularity_bounds_the_labels(granularity: Granularity) -> None:
    """No series is finer than the granularity, and the values of a group are the same at every granularity."""
    chosen = samples(lag_snapshot(), SeriesSelection(granularity=granularity))
    assert {label for sample in chosen for label in sample.labels} & {"topic", "partition"} <= FINEST[granularity]
    of_groups = [sample for sample in samples(lag_snapshot()) if "topic" not in sample.labels]
    assert [sample for sample in chosen if "topic" not in sample.labels] == of_groups


# --- presets ---


@examples(40)
@given(
    preset=st.sampled_from(Preset),
    places=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5), st.booleans(), st.booleans()), max_size=12),
    with_targets=st.booleans(),
)
def test_a_preset_never_exceeds_its_bound(
    preset: Preset, places: list[tuple[int, int, bool, bool]], *, with_targets: bool
) -> None:
    """Law: whatever is known of groups and partitions, the series are at most those that the estimate counts.

    Configured owners and maintenance windows add at most one series each per group.
    """
    data = full_snapshot(places)
    selection = SeriesSelection(preset, targets=((".*", 1.0),) if with_targets else ())
    of_policies = {metric.name for metric in OWNER_METRICS}
    rendered = [s for s in samples(data, selection) if "group" in s.labels and s.name not in of_policies]
    bound = SeriesBound.of_preset(preset)
    most = bound.per_partition * len(data.partitions) + (bound.per_group + bound.per_topic) * len(data.groups)
    assert len(rendered) <= most


def full_snapshot(places: list[tuple[int, int, bool, bool]]) -> Snapshot:
    """Return a snapshot of (group, partition, is the lag known, is the verdict fine); all other columns have values."""

    def row(schema: pa.Schema, group: int, **changes: Any) -> dict[str, Any]:
        return {field.name: VALUES[field.type] for field in schema} | {"group": f"g{group}", "topic": "t"} | changes

    rows = {(group, partition): (known, fine) for group, partition, known, fine in places}
    unknown = collections.Counter(group for (group, _), (known, _) in rows.items() if not known)
    groups = sorted({group for group, _ in rows})
    no_lag: dict[str, Any] = {"lag": None, "time_lag": None}
    return snapshot(
        verdict_groups=[{"verdict": word, "severity": word, "groups": 1} for word in ("fine", "critical")],
        partitions=[
            row(PARTITIONS, group, partition=at, verdict="fine" if fine else "critical") | ({} if known else no_lag)
            for (group, at), (known, fine) in rows.items()
        ],
        groups=[row(GROUPS, group, state="Stable") for group in groups],
        topics=[row(TOPICS, group) for group in groups],
        unknown_lags=[{"group": f"g{group}", "reason": "r", "partitions": unknown[group]} for group in unknown],
        transitions=[
            {"group": f"g{group}", "transition": str(kind), "count": 1}
            for group in groups
            for kind in range(TRANSITIONS_OF_LIVE_GROUPS)
        ],
    )


VALUES = {
    NAME: "word",
    TIMESTAMP: NOON,
    pa.int32(): 1,
    pa.int64(): 1,
    pa.float64(): 1.5,
    pa.bool_(): True,
    pa.string(): "A sentence.",
}
MEMBERS = frozenset({"lagwarden_group_members"})
LAG = frozenset({"lagwarden_group_lag"})
MARGIN = frozenset({"lagwarden_partition_margin_offsets"})
TOPIC_LAG = frozenset({"lagwarden_group_topic_lag"})


@pytest.mark.parametrize(
    ("selection", "names", "shown"),
    [
        pytest.param(SeriesSelection(Preset.LEAN), LAG, True, id="in the preset"),
        pytest.param(SeriesSelection(Preset.LEAN), MEMBERS, False, id="not in the preset"),
        pytest.param(SeriesSelection(Preset.LEAN, add=MEMBERS), MEMBERS, True, id="added"),
        pytest.param(SeriesSelection(Preset.FULL, omit=LAG), LAG, False, id="omitted"),
        pytest.param(SeriesSelection(Preset.FULL, add=LAG, omit=LAG), LAG, False, id="omitted although added"),
        pytest.param(
            SeriesSelection(add=MARGIN, granularity=Granularity.TOPIC),
            MARGIN,
            False,
            id="added, but finer than the granularity",
        ),
        pytest.param(SeriesSelection(Preset.STANDARD), TOPIC_LAG, False, id="topic lag beside partitions"),
        pytest.param(
            SeriesSelection(Preset.STANDARD, granularity=Granularity.TOPIC),
            TOPIC_LAG,
            True,
            id="topic lag instead of partitions",
        ),
        pytest.param(SeriesSelection(granularity=Granularity.GROUP), TOPIC_LAG, False, id="groups only"),
        pytest.param(SeriesSelection(Preset.FULL), TOPIC_LAG, True, id="topic lag in the full preset"),
        pytest.param(SeriesSelection(Preset.LEAN, add=TOPIC_LAG), TOPIC_LAG, True, id="topic lag by name"),
    ],
)
def test_granularity_overrides_names_and_names_override_the_preset(
    selection: SeriesSelection, names: frozenset[str], *, shown: bool
) -> None:
    """Names have precedence over the preset, and granularity has precedence over names."""
    assert {selection.shows(metric) for metric in SNAPSHOT_METRICS if metric.name in names} == {shown}


def test_the_summary_counts_all_groups() -> None:
    """The summary counts groups that a pattern denies, too; groups whose value is unknown do not count."""
    data = snapshot(
        groups=[
            {"group": "a", "held_back": True, "odd_times": 3},
            {"group": "b", "held_back": False},
            {"group": "c", "held_back": True},
            {"group": "d"},
        ]
    )
    shown = SeriesSelector(SeriesSelection(groups=NameFilter(allow=("a",)))).select(data).shown
    assert shown.summary.to_pylist() == [{"held_back": 2, "odd_times": 1}]
    assert SeriesSelector().select(snapshot()).shown.summary.to_pylist() == [{"held_back": None, "odd_times": 0}]


# --- names ---


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
    """A denied topic has no series, but the values of the group include it."""
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
    selector = SeriesSelector(within(budget))
    published = PublishedSnapshot.build(shown, selector)
    return selector.dropped.column("metric").to_pylist(), published.exposition.series


def within(series: int) -> SeriesSelection:
    """Return the selection whose budget has room for this number of series about groups."""
    selection = SeriesSelection(budget=series + (series - 1) // 3)
    assert selection.budget is not None
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


# --- dead groups ---


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
    """Return the snapshot with `dead` further groups that have died, with a history."""
    rows = [
        {"group": f"dead-{at}", "state": "Dead", "kind": "classic", "died_time": NOON, "death_cause": "expired"}
        for at in range(dead)
    ]
    history = [{"group": row["group"], "transition": "dead", "count": 1} for row in rows]
    return dataclasses.replace(
        shown,
        groups=pa.concat_tables([shown.groups, table(GROUPS, rows)]).unify_dictionaries(),
        transitions=pa.concat_tables([shown.transitions, table(TRANSITIONS, history)]).unify_dictionaries(),
    )


# --- the order of the budget ---


def test_the_least_important_metric_is_left_out_first() -> None:
    """A shrinking budget leaves out whole metrics by importance; of the partition metrics lag is the last."""
    total = PublishedSnapshot.build(lag_snapshot()).exposition.series
    assert left_out(lag_snapshot(), total) == ([], total)
    dropped = [set(left_out(lag_snapshot(), total - 12 * step - 1)[0]) for step in range(4)]
    order = ("progress_timestamp_seconds", "commit_timestamp_seconds", "committed_offset", "lag")
    assert dropped == [{f"lagwarden_partition_{name}" for name in order[: step + 1]} for step in range(4)]


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


def test_no_limit_drops_nothing() -> None:
    """A selection without a budget has all metrics, and nothing is counted."""
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
    """Patterns apply in the order of the configuration; a group without a match has no target."""
    groups = snapshot(groups=[{"group": name} for name in ("audit", "billing", "billing-batch")]).groups
    rows = target_table(groups, targets).to_pylist()
    assert {row["group"]: row["time_lag_target"] for row in rows} == found


def test_a_target_has_the_labels_of_the_time_lag() -> None:
    """A target has the labels of the time lag, because alert rules compare both."""
    chosen = samples(small_snapshot(), SeriesSelection(targets=(("bill.*", 30.0),)))
    assert [(s.labels, s.value) for s in chosen if s.name == "lagwarden_group_target_seconds"] == [
        ({"group": "billing"}, 30.0)
    ]


# --- the cluster ---


@pytest.mark.parametrize(
    ("selection", "labels"),
    [
        pytest.param(EVERYTHING, {"topic", "partition"}, id="everything"),
        pytest.param(SeriesSelection(granularity=Granularity.TOPIC), {"topic"}, id="no partitions"),
        pytest.param(SeriesSelection(granularity=Granularity.GROUP), set(), id="no topics"),
        pytest.param(SeriesSelection(topics=NameFilter(deny=("orders",))), set(), id="denied topic"),
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


def test_the_budget_has_a_quarter_for_the_cluster() -> None:
    """The least important metrics are left out whole and are counted; without a budget all are shown."""
    everything = PublishedCluster.build(facts()).exposition
    _, budget = SeriesSelection(budget=40).budgets
    published = PublishedCluster.build(facts(), EVERYTHING, budget)
    assert everything.series > published.exposition.series > 0
    assert published.exposition.series <= 10
    dropped = {row["metric"]: row["series_now"] for row in published.series_dropped.to_pylist()}
    kept = {family.metric.name for family in published.exposition.families}
    assert dropped == {f.metric.name: f.series for f in everything.families if f.metric.name not in kept}
    assert not any("partition" in family.metric.labels for family in published.exposition.families)
    assert SeriesSelection().budgets == (None, None)


# --- owners and maintenance windows ---

OWNED = {"team": "payments", "tier": "1", "link": None, "max_severity": "warning", "maintenance_until": NOON + 60_000}


def policy_samples(*groups: dict[str, Any], selection: SeriesSelection = EVERYTHING) -> list[dict[str, str]]:
    """Return name and labels of the samples of owners and maintenance windows."""
    names = {metric.name for metric in OWNER_METRICS}
    rendered = samples(snapshot(groups=list(groups)), selection)
    assert {sample.value for sample in rendered if sample.name in names} <= {1.0}
    return [{"name": sample.name, **sample.labels} for sample in rendered if sample.name in names]


def test_an_owner_is_shown_with_the_labels_that_it_has() -> None:
    """A missing label is empty, which Prometheus treats as missing; a group without an owner has no series."""
    assert policy_samples({"group": "billing", "state": "Stable", **OWNED}, {"group": "other", "state": "Stable"}) == [
        {
            "name": "lagwarden_group_owner_info",
            "group": "billing",
            "team": "payments",
            "tier": "1",
            "link": "",
            "max_severity": "warning",
        },
        {"name": "lagwarden_group_maintenance", "group": "billing"},
    ]


def test_a_silenced_group_is_muted_like_one_in_maintenance() -> None:
    """A silenced group has the series of a maintenance window, which the alert rules use."""
    found = policy_samples({"group": "legacy", "state": "Stable", "silence_reason": "retired"})
    assert found == [{"name": "lagwarden_group_maintenance", "group": "legacy"}]


def test_a_dead_group_keeps_its_owner() -> None:
    """A dead group has the series of its owner and of its maintenance window, for the alert on dead groups."""
    found = policy_samples({"group": "billing", "state": "Dead", "died_time": NOON, **OWNED})
    assert [sample["group"] for sample in found] == ["billing", "billing"]


def test_owners_of_excluded_groups_are_not_shown() -> None:
    """The patterns of `metrics.groups_deny` apply to owners too."""
    selection = SeriesSelection(groups=NameFilter(deny=("bill.*",)))
    assert policy_samples({"group": "billing", "state": "Stable", **OWNED}, selection=selection) == []


def test_owners_are_left_out_after_the_metrics_of_groups() -> None:
    """Other metrics are left out first: alerts without owners would reach other receivers and fire in a maintenance."""
    shown = snapshot(
        groups=[
            {"group": f"g{at}", "state": "Stable", "members": 1, "lag_sum": 1, "unpaged": True, **OWNED}
            for at in range(9)
        ]
    )
    selector = SeriesSelector(within(31))
    families = PublishedSnapshot.build(shown, selector).exposition.families
    kept = {family.metric.name for family in families}
    assert {metric.name for metric in OWNER_METRICS} <= kept
    assert "lagwarden_group_lag" not in kept
