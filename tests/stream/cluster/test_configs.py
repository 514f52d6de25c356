"""Tests of settings: value and source, or the reason why they are unknown."""

from typing import Any

import pytest

from stream.cluster.configs import TopicConfig, read_broker_configs, read_topic_configs
from stream.cluster.transport.errors import ErrorReason
from tests.support.scripted_cluster import AWAY, TOO_OLD, ScriptedCluster, says

NAMES = ("cleanup.policy", "retention.ms")


def config(name: str, value: str | None, source: int = 5) -> Any:
    return says(name=name, value=value, config_source=source)


def result(resource: str, *configs: Any, error: int = 0) -> Any:
    return says(resource_name=resource, error_code=error, configs=list(configs))


def cluster(*answers: Any) -> ScriptedCluster:
    """Return a cluster that returns these answers one after the other."""
    left = iter(answers)
    return ScriptedCluster({"DescribeConfigsRequest": lambda *_: next(left)})


BOTH = says(results=[result("t", config(NAMES[0], "compact", 1), config(NAMES[1], "9"), config("more", "x"))])
SENSITIVE = says(results=[result("t", config(NAMES[0], None, 4), config(NAMES[1], "9", 99))])
ANSWERS: list[tuple[Any, TopicConfig, TopicConfig]] = [
    (BOTH, TopicConfig(NAMES[0], "compact", "dynamic_topic_config"), TopicConfig(NAMES[1], "9", "default_config")),
    (SENSITIVE, TopicConfig(NAMES[0], None, "static_broker_config"), TopicConfig(NAMES[1], "9", None)),
    (
        says(results=[result("t", config(NAMES[1], "9"))]),
        TopicConfig(NAMES[0], reason=ErrorReason.NOT_FOUND),
        TopicConfig(NAMES[1], "9", "default_config"),
    ),
]
FAILURES = [
    (says(results=[result("t", error=29)]), ErrorReason.NOT_AUTHORIZED),
    (says(results=[]), ErrorReason.OTHER),
    (AWAY, ErrorReason.UNREACHABLE),
    (TOO_OLD, ErrorReason.UNSUPPORTED),
]


def test_each_requested_setting_of_a_topic_has_a_value_or_a_reason() -> None:
    """Each requested name has a setting, with value and source or with a reason; other settings are ignored."""
    failed = [(answer, *(TopicConfig(name, reason=reason) for name in NAMES)) for answer, reason in FAILURES]
    for answer, *wanted in (*ANSWERS, *failed):
        found = read_topic_configs(cluster(answer), ["t"], NAMES)["t"]  # type: ignore[arg-type]
        assert found == dict(zip(NAMES, wanted, strict=True))


def test_topics_are_requested_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that fails affects only its own topics."""
    monkeypatch.setattr("stream.cluster.configs._TOPICS_AT_ONCE", 2)
    good = says(results=[result("c", config("retention.ms", "7"))])
    found = read_topic_configs(cluster(AWAY, good), ["c", "b", "a"], ["retention.ms"])  # type: ignore[arg-type]
    assert {topic: settings["retention.ms"].number() for topic, settings in found.items()} == {
        "a": None,
        "b": None,
        "c": 7,
    }


def test_each_broker_is_asked_for_its_own_settings() -> None:
    """A broker that is unreachable or denies the request affects only its own settings."""
    answers = {
        1: says(results=[result("1", config("log.cleaner.enable", "true", 4))]),
        2: AWAY,
        3: says(results=[result("3", error=31)]),
    }
    asked = ScriptedCluster({"DescribeConfigsRequest": lambda node, _: answers[node or 0]})
    found = read_broker_configs(asked, [3, 1, 2], ["log.cleaner.enable"])  # type: ignore[arg-type]
    assert [found[node]["log.cleaner.enable"] for node in (1, 2, 3)] == [
        TopicConfig("log.cleaner.enable", "true", "static_broker_config"),
        TopicConfig("log.cleaner.enable", reason=ErrorReason.UNREACHABLE),
        TopicConfig("log.cleaner.enable", reason=ErrorReason.NOT_AUTHORIZED),
    ]
    assert [(node, request.resources[0].resource_name) for node, request in asked.asked] == [
        (1, "1"),
        (2, "2"),
        (3, "3"),
    ]
