"""Tests of features, and of the comparison of brokers by what they support."""

from typing import Any

from stream.cluster.admin.features import BrokerVersions, mixed_versions, read_versions, version_sets
from stream.cluster.transport.errors import ErrorReason
from tests.support.scripted_cluster import AWAY, ScriptedCluster, says

FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT = 1, 2, 3, 8


def versions(
    level: int = 27, requests: dict[int, tuple[int, int]] | None = None, epoch: int | None = 5, finalized: int = 20
) -> BrokerVersions:
    """Return a broker that supports metadata.version up to a level."""
    supported = {FETCH: (4, 17), METADATA: (0, 13)} if requests is None else requests
    return BrokerVersions(supported, {"metadata.version": (7, level)}, {"metadata.version": finalized}, epoch)


def test_each_broker_has_its_versions_or_a_reason() -> None:
    """An answer has ranges, features and levels; a broker before 2.7 has no features; a failure is a reason."""
    usual = {"error_code": 0, "api_keys": [says(api_key=FETCH, min_version=4, max_version=17)]}
    answers: dict[int | None, Any] = {
        1: says(
            **usual,
            supported_features=[says(name="metadata.version", min_version=7, max_version=27)],
            finalized_features=[says(name="metadata.version", max_version_level=20, min_version_level=20)],
            finalized_features_epoch=5,
        ),
        2: AWAY,
        3: says(**usual, supported_features=None, finalized_features=None, finalized_features_epoch=-1),
    }
    cluster = ScriptedCluster({"ApiVersionsRequest": lambda node, _: answers[node]}, nodes=(1, 2, 3))
    assert read_versions(cluster, [3, 2, 1]) == {  # type: ignore[arg-type]
        1: versions(requests={FETCH: (4, 17)}),
        2: ErrorReason.UNREACHABLE,
        3: BrokerVersions({FETCH: (4, 17)}, {}, {}, None),
    }


def test_brokers_that_differ_are_named_with_the_difference() -> None:
    """Each smaller set is compared with the largest set; feature ranges and the first requests are named."""
    requests = {FETCH: (4, 16), LIST_OFFSETS: (1, 2), OFFSET_COMMIT: (2, 9), 9_999: (0, 0)}
    mixed = {
        **{node: versions() for node in (1, 3, 6)},
        **{node: versions(25) for node in (2, 4)},
        5: versions(requests=requests),
    }
    assert version_sets(mixed) == [[1, 3, 6], [2, 4], [5]]
    assert mixed_versions(mixed) == [
        "brokers 2, 4 differ from brokers 1, 3, 6: metadata.version 7 to 25 instead of 7 to 27",
        "broker 5 differs from brokers 1, 3, 6: 5 requests in other versions (Fetch, ListOffsets, Metadata, …)",
    ]
