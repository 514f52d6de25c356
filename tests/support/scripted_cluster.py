"""A cluster without brokers: scripted answers per request class, and a record of all requests."""

import copy
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any, cast

from stream.cluster.transport.client import Broker, Cluster
from stream.cluster.transport.errors import ClusterError, TimedOut, Unreachable, Unsupported

Answers = dict[str, "Callable[[int | None, Any], Any]"]

AWAY = Unreachable("b:9092 is not reachable", "wait")
SILENT = TimedOut("b:9092 does not answer in time", "wait")
TOO_OLD = Unsupported("the broker does not know a request", "upgrade")


def says(**fields: Any) -> SimpleNamespace:
    return SimpleNamespace(**fields)


class ScriptedCluster:
    """Replaces a Cluster. `answers` has a function of (node, request) per name of a request class.

    A ClusterError from such a function is raised or returned as the answer, as by the real cluster. Node None
    means any broker. Every request is encoded as for the newest broker that the library knows, so that an invalid
    request fails the test.
    """

    cluster_id = "scripted"

    def __init__(self, answers: Answers, nodes: Collection[int] = (1, 2)) -> None:
        self.brokers = tuple(Broker(node, f"b{node}", 9092, None) for node in nodes)
        self.asked: list[tuple[int | None, Any]] = []
        self._answers = answers

    def metadata(self, topics: Collection[str] | None = ()) -> Any:
        """Return metadata from any broker; the request is the collection of topics."""
        return self._raising(None, "Metadata", topics)

    def call(self, request: Any, node: int) -> Any:
        return self._raising(node, type(request).__name__, request)

    def call_any(self, request: Any) -> Any:
        return self._raising(None, type(request).__name__, request)

    def call_all(self, calls: list[tuple[int, Any]]) -> list[Any]:
        """Send requests to several brokers; failures are returned as values."""
        return [self._answer(node, type(request).__name__, request) for node, request in calls]

    def count(self, kind: str) -> int:
        return sum(type(request).__name__ == kind for _, request in self.asked)

    def _raising(self, node: int | None, kind: str, request: Any) -> Any:
        answer = self._answer(node, kind, request)
        if isinstance(answer, ClusterError):
            raise answer
        return answer

    def _answer(self, node: int | None, kind: str, request: Any) -> Any:
        self.asked.append((node, request))
        if hasattr(request, "encode"):
            most = request._max_version
            copy.copy(request).encode(version=request.max_version if most is None else most)
        return self._answers[kind](node, request)


def no_cluster() -> Cluster:
    """Return a cluster for tests that replace every function that uses it; any request fails the test."""
    return cast("Cluster", ScriptedCluster({}))
