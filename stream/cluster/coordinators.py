"""The coordinators of groups: looked up in batches, and cached until a lookup invalidates them.

The coordinator of a group leads its partition of `__consumer_offsets`, but it is not computed from the group id: with
several listeners, or after partitions were added, only the cluster's answer is right.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from stream.cluster.transport import admin_requests
from stream.cluster.transport import error_codes as reasons
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError, Unsupported

_KEYS_AT_ONCE: Final = 1_000
# Brokers before 3.0 take one key per request, so the number of lookups is limited.
_SINGLE_KEYS: Final = 200


class Coordinators:
    """The coordinators of one cluster's groups. Caches at most `most` of them."""

    def __init__(self, cluster: Cluster, *, most: int = 200_000) -> None:
        self._cluster = cluster
        self._most = most
        self._node_of: dict[str, int] = {}

    def find(self, keys: Collection[str]) -> dict[str, int | ErrorReason]:
        """Return the node id of each key's coordinator, or the reason why it is unknown. Raises nothing."""
        found: dict[str, int | ErrorReason] = {key: self._node_of[key] for key in keys if key in self._node_of}
        for some in _pieces([key for key in keys if key not in found], _KEYS_AT_ONCE):
            found |= self._look_up(some)
        self._remember(found)
        return found

    def forget(self, keys: Iterable[str]) -> None:
        """Remove these keys from the cache: their coordinator has moved or is unreachable."""
        for key in keys:
            self._node_of.pop(key, None)

    def _remember(self, found: dict[str, int | ErrorReason]) -> None:
        self._node_of |= {key: node for key, node in found.items() if not isinstance(node, ErrorReason)}
        for key in list(itertools.islice(self._node_of, max(len(self._node_of) - self._most, 0))):
            del self._node_of[key]  # the oldest first

    def _look_up(self, keys: list[str]) -> dict[str, int | ErrorReason]:
        try:
            answer = self._cluster.call_any(admin_requests.find_coordinators(keys))
        except Unsupported:
            return self._look_up_one_by_one(keys)
        except ClusterError as error:
            return dict.fromkeys(keys, reasons.of_failure(error))
        answers: dict[str, int | ErrorReason] = dict.fromkeys(keys, ErrorReason.OTHER)
        return answers | {each.key: _node(each) for each in answer.coordinators}

    def _look_up_one_by_one(self, keys: list[str]) -> dict[str, int | ErrorReason]:
        answers: dict[str, int | ErrorReason] = dict.fromkeys(keys, ErrorReason.NOT_ASKED)
        for key in keys[:_SINGLE_KEYS]:
            try:
                answers[key] = _node(self._cluster.call_any(admin_requests.find_coordinator(key)))
            except ClusterError as error:
                answers[key] = reasons.of_failure(error)
                break  # the other lookups would probably fail too, each after the same wait
        return answers


def by_node(found: dict[str, int | ErrorReason], most: int) -> Iterator[tuple[int, list[str]]]:
    """Group the keys with a known coordinator by its node, in lists of at most `most`."""
    of_node: dict[int, list[str]] = {}
    for key, node in found.items():
        if not isinstance(node, ErrorReason):
            of_node.setdefault(node, []).append(key)
    for node, keys in of_node.items():
        for some in _pieces(keys, most):
            yield node, some


def _node(answer: Any) -> int | ErrorReason:
    return reasons.of_code(answer.error_code) or answer.node_id


def _pieces(keys: list[str], most: int) -> Iterator[list[str]]:
    return (keys[start : start + most] for start in range(0, len(keys), most))
