"""The section `metrics`: its validation, and its conversion into the selection of series."""

from __future__ import annotations

import pytest

from exporters.catalogue.metric import Preset
from exporters.compatibility.selection import PeerSelection
from exporters.selection.folding import FoldRules
from exporters.selection.name_filter import NameFilter
from exporters.selection.series import EVERYTHING, Granularity, SeriesSelection
from stream.config.loader import ConfigRefusal, load
from stream.config.metric_selection import selection_from_options

BROKER = {"kafka.bootstrap_servers": "broker-1:9092"}


def test_the_default_is_the_preset_standard_with_a_budget() -> None:
    """The default selection has all groups and topics, and folds groups with generated names."""
    assert selection_from_options(load(flags=BROKER).metrics) == SeriesSelection(
        Preset.STANDARD, budget=300_000, fold=FoldRules(generated_from=10)
    )


def test_everything_can_be_selected() -> None:
    """`full`, without folding and budget, excludes no series."""
    flags = {**BROKER, "metrics.preset": "full", "metrics.fold_generated": "0", "metrics.series_budget": "0"}
    assert selection_from_options(load(flags=flags).metrics) == EVERYTHING


def test_all_options_are_part_of_the_selection() -> None:
    """Each option is converted; text from flags and the environment is split at commas."""
    config = load(
        environment={
            "LAGWARDEN_METRICS_GROUPS_DENY": "console-consumer-.*, tmp",
            "LAGWARDEN_METRICS_SERIES_BUDGET": "5000",
        },
        flags={
            **BROKER,
            "metrics.preset": "lean",
            "metrics.add": "lagwarden_group_members,lagwarden_group_partitions",
            "metrics.omit": ["lagwarden_group_lag"],
            "metrics.fold": "ci-.*",
            "metrics.fold_generated": "3",
            "metrics.granularity": "topic",
            "metrics.groups_allow": ["a{1,3}"],
            "metrics.topics_allow": "orders",
            "metrics.topics_deny": "t",
            "metrics.targets": "billing-.*=30s, a=b=2, .*=1h",
            "metrics.compatibility": "kminion, burrow",
            "metrics.compatibility_cluster": "prod",
            "metrics.cluster_name": "orders-eu",
        },
    )
    assert selection_from_options(config.metrics, hide_members=True) == SeriesSelection(
        Preset.LEAN,
        frozenset({"lagwarden_group_members", "lagwarden_group_partitions"}),
        frozenset({"lagwarden_group_lag"}),
        Granularity.TOPIC,
        NameFilter(("a{1,3}",), ("console-consumer-.*", "tmp")),
        NameFilter(("orders",), ("t",)),
        5000,
        (("billing-.*", 30.0), ("a=b", 2.0), (".*", 3600.0)),
        FoldRules(("ci-.*",), 3),
        PeerSelection(("kminion", "burrow"), "prod", hide_members=True),
        "orders-eu",
    )


@pytest.mark.parametrize(
    ("flags", "label", "of_peers"),
    [
        pytest.param({}, None, "kafka", id="no name"),
        pytest.param({"metrics.cluster_name": "eu"}, "eu", "eu", id="the name is also that of the other exporters"),
        pytest.param({"metrics.compatibility_cluster": "prod"}, None, "prod", id="name for other exporters only"),
        pytest.param(
            {"metrics.cluster_name": "eu", "metrics.compatibility_cluster": "prod"}, "eu", "prod", id="two names"
        ),
    ],
)
def test_the_name_of_the_cluster(flags: dict[str, str], label: str | None, of_peers: str) -> None:
    """Labels of other exporters always have a name of the cluster, and have their own if it is configured."""
    selection = selection_from_options(load(flags=BROKER | flags).metrics)
    assert (selection.cluster, selection.compatibility.cluster) == (label, of_peers)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        pytest.param("groups_allow", "[(x", "(RE2): missing ]: [(x", id="unclosed bracket"),
        pytest.param("topics_deny", "(?=a)", "is not a regular expression", id="lookahead, which RE2 does not support"),
        pytest.param("targets", "billing", "must be PATTERN=DURATION", id="target without duration"),
        pytest.param("targets", "billing=soon", "must be a number of seconds", id="target whose duration is a word"),
        pytest.param("targets", "billing=0s", "must end in a duration above 0", id="target of zero"),
        pytest.param("targets", "a(=5s", "is not a regular expression", id="target with an invalid pattern"),
        pytest.param("granularity", "broker", "must be 'partition', 'topic' or 'group'", id="unknown granularity"),
        pytest.param("series_budget", "-1", "must be greater than or equal to 0", id="negative budget"),
        pytest.param("preset", "all", "must be 'lean', 'standard' or 'full'", id="unknown preset"),
        pytest.param("add", "lagwarden_lag", "is not the name of a metric", id="unknown metric"),
        pytest.param("omit", "lagwarden_ready", "is about the monitor itself", id="a metric that is always shown"),
        pytest.param("compatibility", "klag", "must be one of kafka_exporter, kafka_lag", id="unknown exporter"),
        pytest.param("compatibility_cluster", "", "must have at least 1 character", id="cluster without a name"),
        pytest.param("cluster_name", "", "must have at least 1 character", id="empty name of the cluster"),
        pytest.param("cluster_name", "a\nb", "must be printable text without spaces", id="two lines as a name"),
        pytest.param("cluster_name", " eu", "must be printable text without spaces", id="a name after a space"),
        pytest.param("cluster_name", "x" * 101, "must have at most 100 characters", id="a long name"),
        pytest.param("fold", "ci-(", "is not a regular expression", id="fold with an invalid pattern"),
    ],
)
def test_invalid_values_are_rejected(key: str, value: str, problem: str) -> None:
    """The error names the key and the valid form."""
    with pytest.raises(ConfigRefusal) as refused:
        load(flags={**BROKER, f"metrics.{key}": value})
    (fault,) = refused.value.faults
    assert fault.key == f"metrics.{key}"
    assert problem in fault.problem
