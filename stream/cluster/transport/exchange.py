"""Requests and answers on the I/O thread: whom to ask, for how long, and what it means when no answer comes.

Owns the order in which nodes are asked and the guards around every wait. `client` runs its coroutines on the I/O
thread; nothing here may be called from elsewhere. A failure of one node is a value, a ClusterError in the place of the
answer.
"""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING, Any, Final

from kafka.errors import KafkaConnectionError, NodeNotReadyError

from stream.cluster.transport import connection_errors as causes
from stream.cluster.transport.errors import ClusterError, CutOff, TimedOut, Unreachable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from stream.cluster.transport.connections import Connections

GRACE_SECONDS: Final = 0.5
"""How much later than a request's own limit the guards around it strike."""
# A broker that is stopping also cuts connections off, though hardly three new ones in a row.
_CUT_OFF_TWICE_MORE: Final = 2


class Exchange:
    """Talks to the nodes of one cluster. `seconds` is the limit of one request, connecting included."""

    def __init__(self, net: Any, connections: Connections, security_protocol: str, seconds: float) -> None:
        self._net = net
        self._connections = connections
        self._protocol = security_protocol
        self._logs_in = security_protocol.startswith("SASL")
        self._seconds = seconds
        self._last_error: dict[object, ClusterError] = {}
        self._preferred: object = None

    async def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    async def metadata(self, request: Any) -> Any:
        """Ask one node after the other until one knows brokers; raises the most telling ClusterError of all met."""
        node, answer = await self._first(self._brokers_by, request)
        self._learn(node, answer)
        return answer

    async def any(self, request: Any) -> Any:
        """Ask one node after the other until one answers; raises the most telling ClusterError of all met."""
        return (await self._first(self._ask, request))[1]

    async def _first(self, ask: Callable[[object, Any, float], Awaitable[Any]], request: Any) -> tuple[object, Any]:
        """Give the first node that answers, and its answer, within the limit of one request."""
        deadline = time.monotonic() + self._seconds
        met: list[ClusterError] = []
        for node in self._candidates():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            # A silent broker must leave time for the others.
            answer = await ask(node, request, min(left, max(1.0, self._seconds / 3)))
            if not isinstance(answer, ClusterError):
                return node, answer
            met.append(answer)
        raise min(
            met, key=lambda error: error.passes, default=TimedOut("no broker answers in time", "it is tried again")
        )

    async def _brokers_by(self, node: object, request: Any, seconds: float) -> Any:
        """Ask a node for metadata; one that has just started may not know a broker yet, which is no answer."""
        answer = await self._introduced(node, request, seconds)
        if isinstance(answer, ClusterError) or answer.brokers:
            return answer
        return Unreachable(f"{self._where(node)} knows no brokers yet", "it has just started; wait")

    def _candidates(self) -> list[object]:
        """List the nodes worth asking: the one that answered last, the others, then the bootstrap addresses."""
        known = [broker.node_id for broker in self._connections.cluster.brokers()]
        known.sort(key=lambda node: node != self._preferred)
        return known + [broker.node_id for broker in self._connections.cluster.bootstrap_brokers()]

    async def _introduced(self, node: object, request: Any, seconds: float) -> Any:
        """Ask a node that may be a stranger; tell a listener that wants a login from a broker that goes away."""
        answer = await self._ask(node, request, seconds)
        for _ in range(_CUT_OFF_TWICE_MORE):
            if self._logs_in or not isinstance(answer, CutOff):
                return answer
            answer = await self._ask(node, request, seconds)
        wants_login = not self._logs_in and isinstance(answer, CutOff)
        return causes.closed_on_first_request(self._where(node), self._protocol) if wants_login else answer

    def _learn(self, node: object, answer: Any) -> None:
        """Keep the brokers and the cluster id of a metadata answer; its topics are the caller's."""
        brokers_only = copy.copy(answer)
        brokers_only.topics = []
        self._connections.cluster.update_metadata(brokers_only)
        if self._connections.cluster.is_bootstrap(node):
            self._connections.close(node)
        else:
            self._preferred = node

    async def _ask(self, node: object, request: Any, seconds: float) -> Any:
        """Send one request to one node; the ClusterError is a value."""
        return (await self._talk(node, [request], seconds))[0]

    async def all(self, calls: Sequence[tuple[object, Any]]) -> list[Any]:
        """Talk to all nodes at the same time, and put the answers back in the order of the calls."""
        by_node: dict[object, list[int]] = {}
        for place, (node, _) in enumerate(calls):
            by_node.setdefault(node, []).append(place)
        talks = [
            self._net.call_soon_with_future(self._talk, node, [calls[place][1] for place in places], self._seconds)
            for node, places in by_node.items()
        ]
        answers: list[Any] = [None] * len(calls)
        for talk, places in zip(talks, by_node.values(), strict=True):
            for place, answer in zip(places, await talk, strict=True):
                answers[place] = answer
        return answers

    async def _talk(self, node: object, wanted: Sequence[Any], seconds: float) -> list[Any]:
        """Send requests to one node, one behind the other, and await the answers; each ClusterError is a value.

        Sends on a connection that stands only: the library loses a request that it cannot encode while it connects, and
        every other one that waits for the same connection.
        """
        guard = time.monotonic() + seconds + GRACE_SECONDS / 2
        connection = None
        try:
            connection = self._connections.get_connection(node)
            await self._until(connection.init_future, guard)
        except Exception as error:  # noqa: BLE001 -- every failure becomes a named value
            return [self._named(node, connection, error)] * len(wanted)
        sent = [self._send(connection, request, guard) for request in wanted]
        return [await self._answer(node, connection, answer, guard) for answer in sent]

    def _send(self, connection: Any, request: Any, guard: float) -> Any:
        """Give the library's future, or in its place the exception that sending met."""
        try:
            left = guard - time.monotonic() - GRACE_SECONDS / 2
            # A copy, because the library writes the version that this broker speaks into the request.
            return connection.send_request(copy.copy(request), request_timeout_ms=max(left, 0) * 1000)
        except Exception as error:  # noqa: BLE001 -- one bad request must not lose the other answers
            return error

    async def _answer(self, node: object, connection: Any, sent: Any, guard: float) -> Any:
        """Await one answer."""
        try:
            if isinstance(sent, Exception):
                raise sent  # noqa: TRY301 -- one place words all failures
            answer = await self._until(sent, guard)
        except Exception as error:  # noqa: BLE001 -- every failure becomes a named value
            return self._named(node, connection, error)
        self._last_error.pop(node, None)
        return answer

    async def _until(self, future: Any, guard: float) -> Any:
        """Await a future of the library, whose own time limits do not cover every case."""
        return await self._connections.wait_for(future, max(guard - time.monotonic(), 0.0) * 1000)

    def _named(self, node: object, connection: Any, error: Exception) -> ClusterError:
        if isinstance(error, NodeNotReadyError) and node in self._last_error:
            return self._last_error[node]  # it waits before it connects again: the cause is the last one
        named = causes.named(error, self._where(node), self._protocol)
        greeted = connection is not None and connection.init_future.succeeded()
        if greeted and isinstance(error, KafkaConnectionError) and isinstance(named, Unreachable):
            named = CutOff(named.what, named.advice)
        self._last_error[node] = named
        return named

    def _where(self, node: object) -> str:
        broker = self._connections.cluster.broker_metadata(node)
        return f"broker {node}" if broker is None else f"{broker.host}:{broker.port}"
