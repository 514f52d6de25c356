"""The connection to the Kafka cluster: raw requests, guarded by time limits, with errors that name their cause.

Owns the I/O thread and every connection. Refuses to interpret: `offsets_topic` and `watermarks` know what an answer
means. Nothing runs in the background: a connection is opened when a request needs it and opened anew after it broke, so
that a cluster that comes back is found by the next request.

Threads: every method may be called from any thread; one I/O thread does the work.
"""

from __future__ import annotations

import copy
import dataclasses
import threading
import time
from typing import TYPE_CHECKING, Any, Final, Self

from kafka.errors import KafkaConnectionError, NodeNotReadyError
from kafka.net.selector import NetworkSelector

from stream.cluster import causes, requests
from stream.cluster.connections import Connections
from stream.cluster.errors import ClusterError, CutOff, TimedOut, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
    from types import TracebackType

_TUNING: Final = {
    "client_id": "lagwarden",
    # With the library's 5, the sixth request to a broker fails at once instead of waiting its turn.
    "max_in_flight_requests_per_connection": 100,
    # The metadata of some ten thousand topics is larger than the library's 1 MB.
    "receive_message_max_bytes": 100_000_000,
    "reconnect_backoff_ms": 50,
    # With the library's 30 s a broker that came back is found half a minute later.
    "reconnect_backoff_max_ms": 1_000,
    # Encoding a large request is no fault worth a warning.
    "slow_task_threshold_secs": 0,
}
_CONNECT_SECONDS: Final = 5.0
_RETRY_SECONDS: Final = 0.5
# How much later than a request's own limit the guards around it strike.
_GRACE_SECONDS: Final = 0.5
# A broker that is stopping also cuts connections off, though hardly three new ones in a row.
_CUT_OFF_TWICE_MORE: Final = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Broker:
    """One broker as the cluster's metadata names it."""

    node: int
    host: str
    port: int
    rack: str | None


class Cluster:
    """A client of one cluster. Opens nothing until the first request; `close` it, or use it in a `with`.

    `security` holds the library's options for protocol, TLS and login (`stream.security.client_options`);
    `request_timeout` is the limit of one request in seconds, also of opening the connection for it.
    """

    def __init__(
        self,
        bootstrap_servers: Sequence[str],
        security: Mapping[str, Any] | None = None,
        *,
        request_timeout: float = 10.0,
    ) -> None:
        self._seconds = request_timeout
        self._bootstrap = tuple(bootstrap_servers)
        connect_ms = int(min(request_timeout, _CONNECT_SECONDS) * 1000)
        options = {
            **_TUNING,
            **(security or {}),
            "bootstrap_servers": list(bootstrap_servers),
            "request_timeout_ms": int(request_timeout * 1000),
            "socket_connection_setup_timeout_ms": connect_ms,
            "socket_connection_setup_timeout_max_ms": connect_ms,
        }
        self._protocol = str(options.get("security_protocol", "PLAINTEXT"))
        self._logs_in = self._protocol.startswith("SASL")
        self._net = NetworkSelector(**options)
        self._connections = Connections(self._net, **options)
        # Touched by the I/O thread only.
        self._last_error: dict[object, ClusterError] = {}
        self._preferred: object = None
        self._net.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id as Kafka's tools print it; None before the first answer."""
        return self._connections.cluster.cluster_id  # type: ignore[no-any-return]

    @property
    def brokers(self) -> tuple[Broker, ...]:
        """The brokers that the last metadata named."""
        known = self._connections.cluster.brokers()
        return tuple(sorted((Broker(b.node_id, b.host, b.port, b.rack) for b in known), key=lambda b: b.node))

    def connect(self, timeout: float) -> None:
        """Reach any broker within `timeout` seconds, trying again while the cause may pass.

        Raises the ClusterError that names the cause: at once where waiting does not help, else the last one met.
        """
        deadline = time.monotonic() + timeout
        while True:
            try:
                self.metadata()
            except ClusterError as error:
                if not error.passes or time.monotonic() + _RETRY_SECONDS >= deadline:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                return

    def metadata(self, topics: Collection[str] = (), *, operations: bool = False) -> Any:
        """Ask any broker for the cluster's brokers and for these topics; learns the brokers from the answer.

        Tries the known brokers, then the bootstrap addresses, until one answers. Raises ClusterError when none does:
        the most telling cause of all that were met.
        """
        return self._run(lambda: self._metadata(requests.metadata(topics, operations=operations)), self._seconds)

    def call(self, request: Any, node: int) -> Any:
        """Send one request to one broker and give its answer, error codes and all. Raises ClusterError."""
        answer = self.call_all([(node, request)])[0]
        if isinstance(answer, ClusterError):
            raise answer
        return answer

    def call_all(self, calls: Sequence[tuple[int, Any]]) -> list[Any]:
        """Send many (node, request) pairs at once and give the answers in the same order.

        A failure is a value: the ClusterError stands in the place of the answer. Requests to one broker are answered
        in the order given. Ends within the request time-out, whatever the brokers do.
        """
        if not calls:
            return []
        answers: list[Any] = self._run(lambda: self._all(calls), self._seconds)
        return answers

    def close(self) -> None:
        """Close all connections and end the I/O thread. May be called twice."""
        if not self._connections.closed:
            self._run(self._close_connections, _GRACE_SECONDS)
        self._net.stop(timeout_ms=1000)
        self._net.close()

    # --- on the I/O thread ---

    async def _close_connections(self) -> None:
        self._connections.close()

    async def _metadata(self, request: Any) -> Any:
        deadline = time.monotonic() + self._seconds
        met: list[ClusterError] = []
        for node in self._candidates():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            # A silent broker must leave time for the others.
            answer = await self._introduced(node, request, min(left, max(1.0, self._seconds / 3)))
            if not isinstance(answer, ClusterError):
                self._learn(node, answer)
                return answer
            met.append(answer)
        raise min(
            met, key=lambda error: error.passes, default=TimedOut("no broker answers in time", "it is tried again")
        )

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

    async def _all(self, calls: Sequence[tuple[object, Any]]) -> list[Any]:
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
        guard = time.monotonic() + seconds + _GRACE_SECONDS / 2
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
            left = guard - time.monotonic() - _GRACE_SECONDS / 2
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

    # --- between the threads ---

    def _run(self, work: Callable[[], Coroutine[Any, Any, Any]], seconds: float) -> Any:
        """Run a coroutine on the I/O thread and wait for it, though never for ever: looking up a name can block it."""
        if self._connections.closed:
            raise Unreachable("the connection to the cluster is closed", "lagwarden is stopping")
        done = threading.Event()
        future = self._net.call_soon_with_future(work)
        future.add_both(lambda _: done.set())
        if not done.wait(seconds + 2 * _GRACE_SECONDS):
            servers = ", ".join(self._bootstrap)
            raise TimedOut(f"no answer from {servers} in {seconds:g} s", "check the network and the name resolution")
        if future.exception is not None:
            raise future.exception
        return future.value
