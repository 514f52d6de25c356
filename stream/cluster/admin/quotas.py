"""The configured quotas of users, clients and addresses.

One DescribeClientQuotas request (KIP-546, brokers from 2.6). Errors are values. `kafka-configs --describe` with the
entity types users, clients and ips shows the same. Brokers do not report throttle times to other clients.
"""

from typing import Any, Final, NamedTuple

from stream.cluster.transport import admin_requests
from stream.cluster.transport import error_codes as reasons
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError

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
        answer = cluster.call_any(admin_requests.describe_client_quotas())
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
