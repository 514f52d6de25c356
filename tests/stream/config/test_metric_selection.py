"""The section `metrics`: what is refused, and what the exposition gets of it."""

from __future__ import annotations

import pytest

from exporters.selection.choice import EVERYTHING, Choice, Granularity
from exporters.selection.names import Wanted
from stream.config.loader import ConfigRefusal, load
from stream.config.metric_selection import selection_from_options

BROKER = {"kafka.bootstrap_servers": "broker-1:9092"}


def test_nothing_configured_is_everything() -> None:
    """The defaults leave nothing out."""
    assert selection_from_options(load(flags=BROKER).metrics) == EVERYTHING


def test_all_of_it_reaches_the_exposition() -> None:
    """Each option is a part of the choice; text separates by commas, as flags and the environment have it."""
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
    assert selection_from_options(config.metrics) == Choice(
        Granularity.TOPIC,
        Wanted(("a{1,3}",), ("console-consumer-.*", "tmp")),
        Wanted(("orders",), ("t",)),
        5000,
        (("billing-.*", 30.0), ("a=b", 2.0), (".*", 3600.0)),
    )


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        pytest.param("groups_allow", "[(x", "(RE2): missing ]: [(x", id="an open bracket, as it was written"),
        pytest.param("topics_deny", "(?=a)", "is no regular expression", id="what RE2 does not know"),
        pytest.param("targets", "billing", "must be PATTERN=DURATION", id="a target without a duration"),
        pytest.param("targets", "billing=soon", "must be a number of seconds", id="no duration"),
        pytest.param("targets", "billing=0s", "must end in a duration above 0", id="a target that nobody can keep"),
        pytest.param("targets", "a(=5s", "is no regular expression", id="a broken pattern of a target"),
        pytest.param("granularity", "broker", "must be 'partition', 'topic' or 'group'", id="no granularity"),
        pytest.param("series_budget", "1", "must be greater than or equal to 100", id="a budget for nothing"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_key(key: str, value: str, said: str) -> None:
    """A fault names the key and what would be right."""
    with pytest.raises(ConfigRefusal) as refused:
        load(flags={**BROKER, f"metrics.{key}": value})
    (fault,) = refused.value.faults
    assert fault.key == f"metrics.{key}"
    assert said in fault.problem
