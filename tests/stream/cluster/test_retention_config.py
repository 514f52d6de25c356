"""Tests of the brokers' settings for offset expiration, with scripted and real brokers."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from sandbox.waiting import wait_until
from stream.cluster.retention_config import CHECK_INTERVAL, RETENTION, read_retention, rules_of
from stream.cluster.transport import admin_requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import Unreachable
from stream.groups.expiry.predict import ExpiryRules, OffsetsRetention

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sandbox.kafka.broker import Broker
    from tests.conftest import MakeBroker

WEEK: Final = 604_800_000
NO_RESULTS: Final = -100
DENIED: Final = "DescribeConfigs on the cluster is not granted to lagwarden's user"


@pytest.mark.parametrize(
    ("version", "rules"),
    [
        ((0, 9), ExpiryRules.PER_OFFSET),
        ((0, 10, 0), ExpiryRules.PER_OFFSET),
        ((2, 0), ExpiryRules.PER_OFFSET),
        ((2, 1), ExpiryRules.EMPTY_ONLY),
        ((2, 3), ExpiryRules.EMPTY_ONLY),
        ((2, 4), ExpiryRules.UNSUBSCRIBED),
        ((3, 1), ExpiryRules.UNSUBSCRIBED),
        ((3, 2), ExpiryRules.UNSUBSCRIBED_IF_STABLE),
        ((3, 9), ExpiryRules.UNSUBSCRIBED_IF_STABLE),
        ((4, 0), ExpiryRules.NONE_PENDING),
        ((4, 3), ExpiryRules.NONE_PENDING),
    ],
)
def test_rules_are_recognised_by_the_requests_that_a_broker_knows(version: tuple[int, ...], rules: ExpiryRules) -> None:
    """The request versions that a broker advertises identify its rules, on both sides of each version boundary."""
    assert rules_of({request: newest for request, (_, newest) in BROKER_API_VERSIONS[version].items()}) is rules


class Answers:
    """A cluster with these answers of brokers: settings (None: unreachable, a number: an error), and API versions."""

    def __init__(self, brokers: Mapping[int, tuple[Mapping[str, str | None] | int | None, tuple[int, ...]]]) -> None:
        self._answers = brokers
        self.brokers = [SimpleNamespace(node=node) for node in brokers]

    def metadata(self) -> None:
        """Answer, or raise Unreachable if there are no brokers."""
        if not self._answers:
            raise Unreachable("nothing listens there", "start it")

    def call_all(self, calls: Sequence[tuple[int, Any]]) -> list[Any]:
        """Answer in the order of the calls."""
        return [self._answer(*self._answers[node], request) for node, request in calls]

    @staticmethod
    def _answer(settings: Mapping[str, str | None] | int | None, version: tuple[int, ...], request: Any) -> Any:
        if settings is None:
            return Unreachable("it refuses the connection", "start it")
        if request.name == "ApiVersionsRequest":
            keys = [
                SimpleNamespace(api_key=key, max_version=newest)
                for key, (_, newest) in BROKER_API_VERSIONS[version].items()
            ]
            return SimpleNamespace(error_code=0, api_keys=keys)
        if settings == NO_RESULTS:
            return SimpleNamespace(results=[])
        if isinstance(settings, int):
            return SimpleNamespace(results=[SimpleNamespace(error_code=settings, configs=[])])
        configs = [SimpleNamespace(name=name, value=value) for name, value in settings.items()]
        return SimpleNamespace(results=[SimpleNamespace(error_code=0, configs=configs)])


def settings(minutes: str | None, interval: str | None = "600000") -> dict[str, str | None]:
    """Return the settings as a broker does."""
    return {RETENTION: minutes, CHECK_INTERVAL: interval}


NEW: Final = (4, 3)
SAME: Final = ExpiryRules.NONE_PENDING
CASES: Final[list[tuple[str, dict[int, Any], int | None, OffsetsRetention]]] = [
    ("one broker", {1: (settings("10080"), NEW)}, None, OffsetsRetention(WEEK, 600_000, "broker", SAME)),
    (
        "broker value overrides the configured value",
        {1: (settings("1"), NEW)},
        WEEK,
        OffsetsRetention(60_000, 600_000, "broker", SAME),
    ),
    (
        "smallest of different broker values",
        {1: (settings("10080"), NEW), 2: (settings("1440", "5000"), NEW)},
        None,
        OffsetsRetention(
            86_400_000,
            5000,
            "broker",
            SAME,
            (
                f"brokers differ in {RETENTION} (broker 1: 604800000, broker 2: 86400000 ms): the smallest counts",
                f"brokers differ in {CHECK_INTERVAL} (broker 1: 600000, broker 2: 5000 ms): the smallest counts",
            ),
        ),
    ),
    (
        "one of two brokers unreachable",
        {1: (None, NEW), 2: (settings("10080"), NEW)},
        5,
        OffsetsRetention(
            WEEK, 600_000, "broker", SAME, (f"broker 1 does not report its {RETENTION}: it refuses the connection",)
        ),
    ),
    (
        "one of two brokers answers without settings",
        {1: (NO_RESULTS, NEW), 2: (settings("10080"), NEW)},
        5,
        OffsetsRetention(
            WEEK, 600_000, "broker", SAME, (f"broker 1 does not report its {RETENTION}: its answer has no settings",)
        ),
    ),
    (
        "missing ACL right, no configured value",
        {1: (31, NEW)},
        None,
        OffsetsRetention(None, None, "unknown", SAME, (f"broker 1 does not report its {RETENTION}: {DENIED}",)),
    ),
    (
        "missing ACL right, configured value, known version",
        {1: (31, (2, 3))},
        WEEK,
        OffsetsRetention(
            WEEK, 77, "configuration", ExpiryRules.EMPTY_ONLY, (f"broker 1 does not report its {RETENTION}: {DENIED}",)
        ),
    ),
    (
        "brokers of two versions",
        {1: (settings("10080"), (3, 9)), 2: (settings("10080"), (2, 8))},
        None,
        OffsetsRetention(
            WEEK,
            600_000,
            "broker",
            ExpiryRules.UNSUBSCRIBED,
            (
                (
                    "brokers differ in version (broker 1: 3.2 to 3.9, broker 2: 2.4 to 3.1):"
                    " the expiry rules of the oldest apply"
                ),
            ),
        ),
    ),
    (
        "unexpected Kafka error",
        {1: (42, NEW)},
        None,
        OffsetsRetention(None, None, "unknown", SAME, (f"broker 1 does not report its {RETENTION}: Kafka error 42",)),
    ),
    (
        "value withheld by the broker",
        {1: (settings(None), NEW)},
        WEEK,
        OffsetsRetention(
            WEEK,
            600_000,
            "configuration",
            SAME,
            (f"broker 1 does not report its {RETENTION}: it has no {RETENTION}",),
        ),
    ),
    ("cluster unreachable, configured value", {}, WEEK, OffsetsRetention(WEEK, 77, "configuration", SAME)),
    ("cluster unreachable, no configured value", {}, None, OffsetsRetention(None, None, "unknown", SAME)),
]


@pytest.mark.parametrize(
    ("brokers", "configured", "expected"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_settings_of_all_brokers_are_combined(
    brokers: dict[int, Any], configured: int | None, expected: OffsetsRetention
) -> None:
    """The result has the combined values, their source and the remarks."""
    cluster = cast("Cluster", Answers(brokers))
    assert read_retention(cluster, configured, None if configured is None else 77) == expected


def test_an_unreachable_cluster_leaves_the_configured_values() -> None:
    """An unreachable cluster raises no exception; without configured values the retention is unknown."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with Cluster([f"127.0.0.1:{closed.getsockname()[1]}"], request_timeout=1) as cluster:
            assert read_retention(cluster) == OffsetsRetention(None, None, "unknown")


@pytest.mark.kafka
class TestBroker:
    """Tests with a real broker."""

    def test_defaults(self, broker: Broker) -> None:
        """The defaults of a broker are a retention of a week and a check interval of ten minutes."""
        with Cluster([broker.bootstrap]) as cluster:
            assert read_retention(cluster, 5) == OffsetsRetention(WEEK, 600_000, "broker")

    def test_each_setting_has_one_form(self, broker: Broker) -> None:
        """A broker has one setting for the retention, and one setting for the check interval."""
        with Cluster([broker.bootstrap]) as cluster:
            cluster.connect(10)
            names = [RETENTION, CHECK_INTERVAL, "offsets.retention.ms", "offsets.retention.check.interval.minutes"]
            answer = cluster.call(admin_requests.describe_configs(admin_requests.BROKER_RESOURCE, ["1"], names), 1)
        assert {each.name for each in answer.results[0].configs} == {RETENTION, CHECK_INTERVAL}

    def test_a_missing_right_is_named(self, make_broker: MakeBroker) -> None:
        """Without DescribeConfigs on the cluster, the configured value applies, and a remark names the right."""
        broker = make_broker(
            properties={
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "allow.everyone.if.no.acl.found": "true",
            }
        )
        _deny_describe_configs(broker.bootstrap)
        expected = OffsetsRetention(
            WEEK, None, "configuration", SAME, (f"broker 1 does not report its {RETENTION}: {DENIED}",)
        )
        with Cluster([broker.bootstrap]) as cluster:
            wait_until(lambda: read_retention(cluster, WEEK) == expected, "the rights to be known to the broker")


def _deny_describe_configs(bootstrap: str) -> None:
    rules = [
        (AclOperation.ALL, AclPermissionType.ALLOW),
        (AclOperation.DESCRIBE_CONFIGS, AclPermissionType.DENY),
    ]
    bindings = [
        AclBinding(
            ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL, "User:ANONYMOUS", "*", operation, kind
        )
        for operation, kind in rules
    ]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for done in admin.create_acls(bindings).values():
        done.result(30)
