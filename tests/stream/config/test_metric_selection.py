"""The section `metrics`: its validation, and its conversion into the selection of series."""

import pytest

from exporters.catalogue.metric import Preset
from exporters.compatibility.selection import OtherSelection
from exporters.selection.budget import NameFilter
from exporters.selection.folding import FoldRules
from exporters.selection.series import Granularity, SeriesSelection
from stream.config.config_follower import selection_from_options
from stream.config.loader import ConfigRefusal, load

BROKER = {"kafka.bootstrap_servers": "broker-1:9092"}


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
        OtherSelection(("kminion", "burrow"), "prod", hide_members=True),
        "orders-eu",
    )


INVALID = [
    ("groups_allow", "[(x", "(RE2): missing ]: [(x"),
    ("topics_deny", "(?=a)", "is not a regular expression"),
    ("targets", "billing", "must be PATTERN=DURATION"),
    ("targets", "billing=soon", "must be a number of seconds"),
    ("targets", "billing=0s", "must end in a duration above 0"),
    ("targets", "a(=5s", "is not a regular expression"),
    ("granularity", "broker", "must be 'partition', 'topic' or 'group'"),
    ("series_budget", "-1", "must be greater than or equal to 0"),
    ("preset", "all", "must be 'lean', 'standard' or 'full'"),
    ("add", "lagwarden_lag", "is not the name of a metric"),
    ("omit", "lagwarden_ready", "is about the monitor itself"),
    ("compatibility", "klag", "must be one of kafka_exporter, kafka_lag"),
    ("compatibility_cluster", "", "must have at least 1 character"),
    ("cluster_name", "", "must have at least 1 character"),
    ("cluster_name", "a\nb", "must be printable text without spaces"),
    ("cluster_name", " eu", "must be printable text without spaces"),
    ("cluster_name", "x" * 101, "must have at most 100 characters"),
    ("fold", "ci-(", "is not a regular expression"),
]


def test_invalid_values_are_rejected() -> None:
    """The error names the key and the valid form."""
    wrong = []
    for key, value, problem in INVALID:
        with pytest.raises(ConfigRefusal) as refused:
            load(flags={**BROKER, f"metrics.{key}": value})
        (fault,) = refused.value.faults
        if fault.key != f"metrics.{key}" or problem not in fault.problem:
            wrong.append(f"{key} {value!r}: {fault}")
    assert wrong == []
