"""Tests of the brokers' settings for offset expiration, with scripted and real brokers."""

from collections.abc import Mapping
from typing import Any, Final, cast

import pytest
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from sandbox.kafka.broker import Broker
from stream.cluster.retention_config import CHECK_INTERVAL, RETENTION, read_retention, rules_of
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.groups.expiry.broker_rules import ExpiryRules, OffsetsRetention
from tests.support.scripted_cluster import AWAY, Answers, ScriptedCluster, says

WEEK: Final = 604_800_000
NO_RESULTS: Final = -100
DENIED: Final = "DescribeConfigs on the cluster is not granted to lagwarden's user"


RULES: Final[dict[ExpiryRules, list[tuple[int, ...]]]] = {
    ExpiryRules.PER_OFFSET: [(0, 9), (0, 10, 0), (2, 0)],
    ExpiryRules.EMPTY_ONLY: [(2, 1), (2, 3)],
    ExpiryRules.UNSUBSCRIBED: [(2, 4), (3, 1)],
    ExpiryRules.UNSUBSCRIBED_IF_STABLE: [(3, 2), (3, 9)],
    ExpiryRules.NONE_PENDING: [(4, 0), (4, 3)],
}


def newest_versions(version: tuple[int, ...]) -> dict[int, int]:
    """Return the newest version of each request that a broker advertises."""
    return {request: newest for request, (_, newest) in BROKER_API_VERSIONS[version].items()}


def test_rules_are_recognised_by_the_requests_that_a_broker_knows() -> None:
    """The request versions that a broker advertises identify its rules, on both sides of each version boundary."""
    found = {rules: [rules_of(newest_versions(version)) for version in versions] for rules, versions in RULES.items()}
    assert found == {rules: [rules] * len(versions) for rules, versions in RULES.items()}


def cluster_of(brokers: Mapping[int, tuple[Mapping[str, str | None] | int | None, tuple[int, ...]]]) -> Cluster:
    """Return a cluster with these answers of brokers: settings (None: unreachable, a number: an error), and version."""

    def described(node: int | None, _: Any) -> Any:
        settings = brokers[node or 0][0]
        if settings is None:
            return AWAY
        if settings == NO_RESULTS:
            return says(results=[])
        if isinstance(settings, int):
            return says(results=[says(error_code=settings, configs=[], resource_name=str(node))])
        configs = [says(name=name, value=value, config_source=4) for name, value in settings.items()]
        return says(results=[says(error_code=0, configs=configs, resource_name=str(node))])

    def versions(node: int | None, _: Any) -> Any:
        settings, version = brokers[node or 0]
        keys = [says(api_key=key, min_version=0, max_version=most) for key, most in newest_versions(version).items()]
        features = {"supported_features": [], "finalized_features": [], "finalized_features_epoch": -1}
        return AWAY if settings is None else says(error_code=0, api_keys=keys, **features)

    metadata = says(topics=[]) if brokers else AWAY
    answers: Answers = {
        "Metadata": lambda *_: metadata,
        "DescribeConfigsRequest": described,
        "ApiVersionsRequest": versions,
    }
    return cast("Cluster", ScriptedCluster(answers, tuple(brokers)))


def settings(minutes: str | None, interval: str | None = "600000") -> dict[str, str | None]:
    """Return the settings as a broker does."""
    return {RETENTION: minutes, CHECK_INTERVAL: interval}


NEW: Final = (4, 3)
SAME: Final = ExpiryRules.NONE_PENDING
OLD: Final = (
    "brokers differ in version (broker 1: 3.2 to 3.9, broker 2: 2.4 to 3.1): the expiry rules of the oldest apply"
)
DIFFERENT: Final = (
    f"brokers differ in {RETENTION} (broker 1: 10080, broker 2: 1440): the smallest counts",
    f"brokers differ in {CHECK_INTERVAL} (broker 1: 600000, broker 2: 5000): the smallest counts",
)


def known(retention: int, *remarks: str, interval: int = 600_000, rules: ExpiryRules = SAME) -> OffsetsRetention:
    """Return the result for brokers that report their settings."""
    return OffsetsRetention(retention, interval, "broker", rules, remarks)


def configured(*remarks: str, interval: int = 77, rules: ExpiryRules = SAME) -> OffsetsRetention:
    return OffsetsRetention(WEEK, interval, "configuration", rules, remarks)


def unknown(*remarks: str) -> OffsetsRetention:
    """Return the result without any value."""
    return OffsetsRetention(None, None, "unknown", SAME, remarks)


def silent(reason: str) -> str:
    """Return the remark about a broker without settings."""
    return f"broker 1 does not report its {RETENTION}: {reason}"


WEEKLY: Final = settings("10080"), NEW
DIFFERING: Final = {1: WEEKLY, 2: (settings("1440", "5000"), NEW)}
OLDEST: Final = known(WEEK, OLD, rules=ExpiryRules.UNSUBSCRIBED)
# Per row: what the brokers report, the configured retention, the result.
CASES: Final[dict[str, tuple[dict[int, Any], int | None, OffsetsRetention]]] = {
    "one broker": ({1: WEEKLY}, None, known(WEEK)),
    "broker value overrides the configured value": ({1: (settings("1"), NEW)}, WEEK, known(60_000)),
    "smallest of different values": (DIFFERING, None, known(86_400_000, *DIFFERENT, interval=5000)),
    "one unreachable": ({1: (None, NEW), 2: WEEKLY}, 5, known(WEEK, silent("unreachable"))),
    "one without settings": ({1: (NO_RESULTS, NEW), 2: WEEKLY}, 5, known(WEEK, silent("other"))),
    "missing ACL right, no configured value": ({1: (31, NEW)}, None, unknown(silent(DENIED))),
    "missing ACL right, known version": (
        {1: (31, (2, 3))},
        WEEK,
        configured(silent(DENIED), rules=ExpiryRules.EMPTY_ONLY),
    ),
    "brokers of two versions": ({1: (settings("10080"), (3, 9)), 2: (settings("10080"), (2, 8))}, None, OLDEST),
    "unexpected Kafka error": ({1: (42, NEW)}, None, unknown(silent("invalid"))),
    "value withheld by the broker": (
        {1: (settings(None), NEW)},
        WEEK,
        configured(silent("the value is withheld"), interval=600_000),
    ),
    "cluster unreachable, configured value": ({}, WEEK, configured()),
    "cluster unreachable, no configured value": ({}, None, unknown()),
}
# Per row: what the brokers report, the configured retention, the result.


def test_settings_of_all_brokers_are_combined() -> None:
    """The result has the combined values, their source and the remarks."""
    found = {
        name: read_retention(cluster_of(brokers), retention, None if retention is None else 77)
        for name, (brokers, retention, _) in CASES.items()
    }
    assert found == {name: expected for name, (_, _, expected) in CASES.items()}


@pytest.mark.kafka
def test_a_broker_has_one_form_of_each_setting(broker: Broker) -> None:
    """A broker has one setting for the retention and one for the check interval, with a week and ten minutes."""
    with Cluster([broker.bootstrap]) as cluster:
        assert read_retention(cluster, 5) == known(WEEK)
        names = [RETENTION, CHECK_INTERVAL, "offsets.retention.ms", "offsets.retention.check.interval.minutes"]
        answer = cluster.call(requests.describe_configs(requests.BROKER_RESOURCE, ["1"], names), 1)
    assert {each.name for each in answer.results[0].configs} == {RETENTION, CHECK_INTERVAL}
