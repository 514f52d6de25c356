"""The catalogue against the naming conventions, the promises of the presets and the reference page."""

import pathlib
import re
from collections.abc import Iterator

from exporters.catalogue.estimate import SeriesCost
from exporters.catalogue.metric import Metric, Preset, Stability, ValueConversion
from exporters.catalogue.metrics import METRICS, SELF_METRICS, SNAPSHOT_METRICS
from exporters.catalogue.partitions import PARTITIONS, TOPICS
from exporters.catalogue.reference_page import markdown

ROOT = pathlib.Path(__file__).parents[3]


def naming_faults(metric: Metric) -> Iterator[str]:
    """Yield the rules of names and texts that a metric breaks. Its kind and its unit follow from its name."""
    rules = {
        "lower case with one prefix": re.fullmatch(r"lagwarden(_[a-z]+)+", metric.name),
        "the suffix of a time": metric.name.endswith("_timestamp_seconds")
        == (metric.conversion is ValueConversion.TIMESTAMP),
        "no reserved suffix": not metric.name.endswith(("_sum", "_count", "_bucket", "_created")),
        "help: a sentence without escapes": re.fullmatch(r'[A-Z0-9][^\\\n"]+\.', metric.help),
        "absent: no full stop": not metric.absent.endswith("."),
        "the topic is the first label": not metric.name.startswith("lagwarden_topic_") or metric.labels[0] == "topic",
        "the group is the first label": not (metric.name.startswith("lagwarden_group_") and metric.source.in_snapshot)
        or metric.labels[0] == "group",
    }
    yield from (f"{metric.name}: {rule}" for rule, is_kept in rules.items() if not is_kept)


def test_metrics_follow_the_conventions() -> None:
    """A metric has a name by the conventions, a help text without escapes, and a unique name and family."""
    assert [fault for metric in METRICS for fault in naming_faults(metric)] == []
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert len({metric.family for metric in METRICS}) == len(METRICS)


def test_reference_page_is_current() -> None:
    """`docs/metrics.md` is what `python -m exporters.catalogue.reference_page` prints."""
    assert (ROOT / "docs" / "metrics.md").read_text("utf-8") == markdown()
    assert re.findall(r"^- \*\*`(.+?)`\*\*", markdown(), re.MULTILINE) == [metric.name for metric in METRICS]


def test_metrics_of_the_lean_preset_are_stable() -> None:
    """The metrics of preset lean, with topics instead of partitions, are stable, except the listed ones."""
    assert {
        metric.name
        for metric in METRICS
        if metric.stability is Stability.EXPERIMENTAL and metric.is_in(Preset.LEAN, {"partition"})
        if metric not in SELF_METRICS
    } == {
        "lagwarden_common_cause_muted_groups",
        "lagwarden_group_folded_groups",
        "lagwarden_group_maintenance",
        "lagwarden_group_owner_info",
        "lagwarden_group_scalable_lag",
        "lagwarden_group_not_alerted",
        "lagwarden_offsets_topic_cleaner_suspect",
    }


def test_a_preset_is_within_its_promise() -> None:
    """A preset has the promised series, and with a coarser granularity those per topic instead of those per partition.

    Lean has the lag per partition, and what alerts need per group; standard what rules and dashboards need.
    """
    assert SeriesCost.of_preset(Preset.LEAN) == SeriesCost(Preset.LEAN, 1, 0, 5, 0, 0)
    assert SeriesCost.of_preset(Preset.STANDARD) == SeriesCost(Preset.STANDARD, 1, 0, 10, 3, 1)
    for preset in (Preset.LEAN, Preset.STANDARD):
        instead = {metric.source for metric in SNAPSHOT_METRICS if metric.is_in(preset, {"partition"})}
        assert TOPICS.source in instead
        assert PARTITIONS.source not in instead


def test_a_preset_has_all_series_of_the_smaller_ones() -> None:
    """At any granularity. The estimate is for 2,000 groups of 17 partitions."""
    for hidden in ((), ("partition",), ("partition", "topic")):
        shown = [{metric for metric in METRICS if metric.is_in(preset, hidden)} for preset in Preset]
        assert shown[0] < shown[1] < shown[2]
    assert shown[2] == {metric for metric in METRICS if not {"topic", "partition"} & metric.multiplying_labels}
    cost = SeriesCost(Preset.FULL, 12, 1, 30, 2, 2)
    assert (cost.series(2000, 17), cost.series(2000, 17, unhealthy=True)) == (472_000, 510_000)
