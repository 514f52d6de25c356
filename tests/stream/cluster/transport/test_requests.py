"""Tests of encoded requests: each can be sent in all its versions and keeps its required fields."""

import copy
from typing import Any

from stream.cluster.transport import admin_requests, requests

REQUESTS: dict[str, Any] = {
    "metadata of some topics": requests.metadata(["t", "ü"]),
    "metadata of all topics": requests.metadata(None),
    "metadata of none, with rights": requests.metadata([], operations=True),
    "ends": requests.list_offsets({"t": [(0, 3)]}, requests.LATEST),
    "offsets at times": requests.list_offsets_for_times({"t": [(0, 3, 99), (1, -1, -2)]}, timeout_ms=7),
    "the newest record": requests.list_offsets_for_times({"t": [(0, 3, requests.NEWEST)]}),
    "fetch": requests.fetch({"t": [(0, -1, 5)]}, most_bytes=100, committed=True),
    "tails": requests.fetch({"t": [(0, 3, 5), (1, -1, 2**40)]}, most_bytes=100, most_bytes_each=10),
    "coordinators of groups": admin_requests.find_coordinators(["a", "b"], admin_requests.GROUP),
    "the coordinator of a group": admin_requests.find_coordinator("a", admin_requests.GROUP),
    "the coordinator of a transaction": admin_requests.find_coordinator("a", 1),
    "groups": admin_requests.describe_groups(["a", "b"]),
    "settings": admin_requests.describe_configs(admin_requests.TOPIC_RESOURCE, ["t"], ["retention.ms"]),
    "quorum": admin_requests.describe_quorum(),
    "reassignments": admin_requests.list_partition_reassignments(),
    "quotas": admin_requests.describe_client_quotas(),
    "supported requests": admin_requests.api_versions(),
    "producers": admin_requests.describe_producers("t", [0, 1]),
    "transactions of producers": admin_requests.list_transactions([1, 2**62]),
    "transactions": admin_requests.describe_transactions(["x"]),
    "log ends of followers": requests.replica_ends({"t": [(0, -1)]}),
    "sizes of all": admin_requests.describe_log_dirs(None),
    "sizes": admin_requests.describe_log_dirs({"t": [0, 1]}),
}
# By request: the first version that has the field, the field, and its value in every version sent.
SAYS: dict[str, tuple[int, str, Any]] = {
    "metadata of all topics": (1, "topics", None),
    "metadata of some topics": (4, "allow_auto_topic_creation", False),
    "ends": (2, "isolation_level", 0),
    "coordinators of groups": (4, "coordinator_keys", ["a", "b"]),
    "the coordinator of a group": (0, "key", "a"),
    "the coordinator of a transaction": (1, "key_type", 1),
    "reassignments": (0, "topics", None),
    "quotas": (0, "strict", False),
    "sizes of all": (0, "topics", None),
    "log ends of followers": (0, "replica_id", -2),
    "transactions of producers": (0, "producer_id_filters", [1, 2**62]),
}


def versions(request: Any) -> range:
    """Return the versions in which a request may be sent."""
    least, most = request._min_version or 0, request._max_version
    return range(least, (request.max_version if most is None else most) + 1)


def test_a_request_can_be_encoded_in_every_version() -> None:
    """Decoding and encoding returns the same bytes, with the required fields."""
    faults = []
    for name, request in REQUESTS.items():
        since, field, value = SAYS.get(name, (0, "", None))
        for version in versions(request):
            raw = copy.copy(request).encode(version=version)
            read = type(request).decode(raw, version=version)
            read._header = None  # a request that was decoded without a header cannot be encoded otherwise
            if read.encode(version=version) != raw:
                faults.append(f"{name}: version {version} is not encoded as it was decoded")
            if field and (version < since or getattr(read, field) != value):
                faults.append(f"{name}: version {version} has another {field}, or a broker would ignore it")
    assert faults == []
    assert [name for name, request in REQUESTS.items() if not versions(request)] == []
