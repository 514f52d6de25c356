"""The section `metrics`: its validation, and its conversion into the selection of series."""

from __future__ import annotations

import pytest

from exporters.selection.name_filter import NameFilter
from exporters.selection.series import EVERYTHING, Granularity, SeriesSelection
from stream.config.loader import ConfigRefusal, load
from stream.config.metric_selection import selection_from_options

BROKER = {"kafka.bootstrap_servers": "broker-1:9092"}


def test_defaults_select_everything() -> None:
    """The default options exclude no series."""
    assert selection_from_options(load(flags=BROKER).metrics) == EVERYTHING


def test_all_options_are_part_of_the_selection() -> None:
    """Each option is converted; text from flags and the environment is split at commas."""
    config = load(
        environment={
            "LAGWARDEN_METRICS_GROUPS_DENY": "console-consumer-.*, tmp",
            "LAGWARDEN_METRICS_SERIES_BUDGET": "5000",
        },
        flags={
            **BROKER,
            "metrics.granularity": "topic",
            "metrics.groups_allow": ["a{1,3}"],
            "metrics.topics_allow": "orders",
            "metrics.topics_deny": "t",
            "metrics.targets": "billing-.*=30s, a=b=2, .*=1h",
        },
    )
    assert selection_from_options(config.metrics) == SeriesSelection(
        Granularity.TOPIC,
        NameFilter(("a{1,3}",), ("console-consumer-.*", "tmp")),
        NameFilter(("orders",), ("t",)),
        5000,
        (("billing-.*", 30.0), ("a=b", 2.0), (".*", 3600.0)),
    )


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
        pytest.param("series_budget", "1", "must be greater than or equal to 100", id="budget below the minimum"),
    ],
)
def test_invalid_values_are_rejected(key: str, value: str, problem: str) -> None:
    """The error names the key and the valid form."""
    with pytest.raises(ConfigRefusal) as refused:
        load(flags={**BROKER, f"metrics.{key}": value})
    (fault,) = refused.value.faults
    assert fault.key == f"metrics.{key}"
    assert problem in fault.problem
