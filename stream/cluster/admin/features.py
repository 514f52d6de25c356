"""The features of the cluster, what each broker supports, and the configured quotas of users, clients and addresses.

During a rolling upgrade not all brokers are equal. One ApiVersions request per broker (KIP-584); no right is needed. A
broker does not report the version of its software. Brokers whose ranges of requests and features are equal are taken
for equal. `kafka-features describe` shows the same features.

Quotas are one DescribeClientQuotas request (KIP-546, brokers from 2.6). `kafka-configs --describe` with the entity
types users, clients and ips shows the same. Brokers do not report throttle times to other clients. Errors are values.
"""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from stream.cluster.transport import errors as reasons
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason

Range = tuple[int, int]
"""The lowest and the highest supported version."""

FORWARDED: Final = frozenset({19, 20, 30, 31, 33, 37, 38, 39, 40, 43, 44, 45, 46, 49, 51, 55, 57, 64, 67, 80, 81, 94})
"""Requests that a broker forwards to the controller (`ApiKeys.forwardable` of Kafka 4.4).

While releases are mixed, a broker reports the versions of these that the controller has, too, and its own ones without
a connection to the controller. So brokers of one release may report different ones, and they are not compared.
"""

_NAMED: Final = 3
"""The number of differing requests that a sentence names."""


@dataclasses.dataclass(frozen=True, slots=True)
class BrokerVersions:
    """What one broker supports, and the feature levels of the cluster that it knows."""

    # By the key of the request (org.apache.kafka.common.protocol.ApiKeys), without FORWARDED.
    requests: Mapping[int, Range]
    features: Mapping[str, Range]
    finalized: Mapping[str, int]
    # Increases with each change of the finalized features. None: the broker does not know them.
    epoch: int | None


def read_versions(cluster: Cluster, nodes: Collection[int]) -> dict[int, BrokerVersions | ErrorReason]:
    """Read what these brokers support, by node, or why it is unknown. Raises nothing."""
    wanted = sorted(set(nodes))
    answers = cluster.call_all([(node, requests.api_versions()) for node in wanted])
    return {node: _versions(answer) for node, answer in zip(wanted, answers, strict=True)}


def finalized_features(versions: Mapping[int, BrokerVersions]) -> dict[str, int]:
    """Return the level of each finalized feature by name, as the broker with the newest metadata knows it."""
    known = [each for each in versions.values() if each.epoch is not None]
    newest = max(known, key=lambda each: each.epoch or 0, default=None)
    return {} if newest is None else dict(sorted(newest.finalized.items()))


def version_sets(versions: Mapping[int, BrokerVersions]) -> list[list[int]]:
    """Return the brokers by what they support, the largest set first; more than one set: the versions are mixed."""
    sets: dict[Any, list[int]] = {}
    for node, each in sorted(versions.items()):
        supported = frozenset(each.requests.items()), frozenset(each.features.items())
        sets.setdefault(supported, []).append(node)
    return sorted(sets.values(), key=lambda nodes: (-len(nodes), nodes))


def mixed_versions(versions: Mapping[int, BrokerVersions]) -> list[str]:
    """Return a sentence for each set of brokers that differs from the largest one."""
    largest, *others = version_sets(versions) or [[]]
    return [
        f"{_brokers(nodes)} {'differs' if len(nodes) == 1 else 'differ'} from {_brokers(largest)}: "
        + "; ".join(_differences(versions[nodes[0]], versions[largest[0]]))
        for nodes in others
    ]


def _versions(answer: Any) -> BrokerVersions | ErrorReason:
    if isinstance(answer, ClusterError):
        return reasons.of_failure(answer)
    refused = reasons.of_code(answer.error_code)
    if refused is not None:
        return refused
    return BrokerVersions(
        requests={
            each.api_key: (each.min_version, each.max_version)
            for each in answer.api_keys
            if each.api_key not in FORWARDED
        },
        features={each.name: (each.min_version, each.max_version) for each in answer.supported_features or ()},
        finalized={each.name: each.max_version_level for each in answer.finalized_features or ()},
        epoch=None if answer.finalized_features_epoch < 0 else answer.finalized_features_epoch,
    )


def _differences(one: BrokerVersions, other: BrokerVersions) -> Iterator[str]:
    for name in sorted(one.features.keys() | other.features.keys()):
        if one.features.get(name) != other.features.get(name):
            yield f"{name} {_range(one.features.get(name))} instead of {_range(other.features.get(name))}"
    keys = [
        key
        for key in sorted(one.requests.keys() | other.requests.keys())
        if one.requests.get(key) != other.requests.get(key)
    ]
    if keys:
        named = ", ".join(map(requests.request_name, keys[:_NAMED])) + (", …" if len(keys) > _NAMED else "")
        yield f"{len(keys)} request{'s' if len(keys) != 1 else ''} in other versions ({named})"


def _range(supported: Range | None) -> str:
    return "not supported" if supported is None else f"{supported[0]} to {supported[1]}"


def _brokers(nodes: Collection[int]) -> str:
    return f"broker{'s' if len(nodes) != 1 else ''} {', '.join(map(str, nodes))}"


DEFAULT_ENTITY: Final = "<default>"
"""The name of the quota for all users, clients or addresses without a quota of their own, as in kafka-configs."""


class Quota(NamedTuple):
    """One value of a quota. An empty `user`, `client_id` or `ip` is not part of the quota."""

    user: str
    client_id: str
    ip: str
    # Kafka's name, such as `consumer_byte_rate`, which is in bytes per second and per broker.
    key: str
    value: float


def read_quotas(cluster: Cluster) -> list[Quota] | ErrorReason:
    """Read all quotas, sorted, or return why they are unknown.

    Needs the right to describe the configs of the cluster. Raises nothing.
    """
    try:
        answer = cluster.call_any(requests.describe_client_quotas())
    except ClusterError as error:
        return reasons.of_failure(error)
    refused = reasons.of_code(answer.error_code)
    if refused is not None:
        return refused
    quotas = [quota for entry in answer.entries or () for quota in _quotas(entry)]
    # An entity that is named as the default one counts as the default.
    return sorted({(each.user, each.client_id, each.ip, each.key): each for each in quotas}.values())


def _quotas(entry: Any) -> list[Quota]:
    names = {each.entity_type: each.entity_name or DEFAULT_ENTITY for each in entry.entity}
    entity = (names.get("user", ""), names.get("client-id", ""), names.get("ip", ""))
    return [Quota(*entity, each.key, each.value) for each in entry.values]
