"""Requests and answers on the I/O thread: the order of the nodes, the time limits and the errors.

`client`, the only user, runs the coroutines on the I/O thread; no other thread may call them. A failure of one node is
a value: a ClusterError instead of the answer. Connections are those of kafka-python's connection manager with the
corrections of `transport.corrections`. kafka-python is pinned to one minor release because undocumented methods are
overridden.
"""

import copy
import dataclasses
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from kafka.errors import KafkaConnectionError, KafkaTimeoutError, NodeNotReadyError
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

from stream.cluster.transport import connection_errors as causes
from stream.cluster.transport.corrections.closed_sockets import open_socket
from stream.cluster.transport.corrections.current_credentials import Connection
from stream.cluster.transport.corrections.decoder_errors import FailsRequests
from stream.cluster.transport.corrections.handshake_limit import LimitsHandshake
from stream.cluster.transport.corrections.no_background import OpensForRequests
from stream.cluster.transport.corrections.tls_alert import RefusesTlsAlert
from stream.cluster.transport.errors import ClusterError, CutOff, TimedOut, Unreachable
from stream.cluster.transport.login.authenticator import Authenticator
from stream.cluster.transport.login.tls_context import TlsContext


class _PlainTransport(RefusesTlsAlert, KafkaTCPTransport):  # type: ignore[misc]
    """Bytes over TCP."""


class _TlsTransport(LimitsHandshake, FailsRequests, KafkaSSLTransport):  # type: ignore[misc]
    """Bytes over TLS."""


class Connections(OpensForRequests):
    """The manager of all connections of one login."""

    def __init__(self, net: Any, authenticator: Authenticator | None, tls: TlsContext | None, **options: Any) -> None:
        super().__init__(net, **options)
        self._authenticator = authenticator
        self._tls = tls

    def _new_connection(self, node: Any, options: dict[str, Any]) -> Connection:
        return Connection(self._net, self._authenticator, node.host, f"{node.host}:{node.port}", **options)

    async def _connect(self, node: Any, conn: Connection, **_: Any) -> None:
        """Log in and connect. A token endpoint has its own time limit, which does not count here."""
        try:
            await conn.prepare_login()
        except Exception as error:  # noqa: BLE001 -- the waiting requests get it
            conn.connection_lost(error)
            self.update_backoff(node.node_id)
            return
        limit = self.socket_connection_setup_timeout_ms(node.node_id) / 1000
        await super()._connect(node, conn, timeout_at=time.monotonic() + limit)

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        context = None if self._tls is None else self._tls.current()
        opened = await open_socket(self._net, node.host, node.port, self.config["socket_options"], timeout_at)
        if context is None:
            return _PlainTransport(self._net, opened, host=node.host)
        transport = _TlsTransport(self._net, opened, host=node.host, ssl_context=context)
        try:
            await transport.handshake_until(timeout_at)
        except KafkaTimeoutError:
            transport.close()
            raise
        except Exception as error:
            transport.close()
            raise KafkaConnectionError(f"Handshake failed: {error}") from error
        return transport


GRACE_SECONDS: Final = 0.5
"""The additional time, in seconds, before the outer time limit ends a request that exceeded its own."""
# A broker that is stopping also closes connections, but hardly three new ones in a row.
_RETRIES_AFTER_CUT_OFF: Final = 2


@dataclasses.dataclass(slots=True, eq=False)
class Exchange:
    """Exchanges requests with the nodes of one cluster. `_seconds` is the limit of one request, connecting included."""

    _net: Any
    _connections: Connections
    _protocol: str
    _seconds: float
    last_error: dict[object, ClusterError] = dataclasses.field(default_factory=dict)
    """The error of the last exchange with a node; none if it succeeded. May be read by any thread."""
    _preferred: object = None

    async def metadata(self, request: Any) -> Any:
        """Return the first metadata answer with brokers, and update the brokers and the cluster id from it.

        Raises the first permanent ClusterError, else the first.
        """
        node, answer = await self._first(self._metadata_of, request)
        brokers_only = copy.copy(answer)
        brokers_only.topics = []
        self._connections.cluster.update_metadata(brokers_only)
        if self._connections.cluster.is_bootstrap(node):
            self._connections.close(node)
        else:
            self._preferred = node
        return answer

    async def any(self, request: Any) -> Any:
        """Return the answer of the first node that answers. Raises the first permanent ClusterError, else the first."""
        return (await self._first(self._ask, request))[1]

    async def _first(self, ask: Callable[[object, Any, float], Awaitable[Any]], request: Any) -> tuple[object, Any]:
        """Return the first node that answers, and its answer, within the limit of one request.

        Tries the one that answered last, the other brokers, then the bootstrap addresses.
        """
        deadline = time.monotonic() + self._seconds
        errors: list[ClusterError] = []
        known = [broker.node_id for broker in self._connections.cluster.brokers()]
        known.sort(key=lambda node: node != self._preferred)
        for node in known + [broker.node_id for broker in self._connections.cluster.bootstrap_brokers()]:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            # One broker without an answer must not use up the time for the others.
            answer = await ask(node, request, min(left, max(1.0, self._seconds / 3)))
            if not isinstance(answer, ClusterError):
                return node, answer
            errors.append(answer)
        raise min(
            errors,
            key=lambda error: error.passes,
            default=TimedOut("no broker answers in time", "the request is retried"),
        )

    async def _metadata_of(self, node: object, request: Any, seconds: float) -> Any:
        """Return a node's metadata, or Unreachable if it does not know any broker yet, as just after its start."""
        answer = await self._first_answer(node, request, seconds)
        if isinstance(answer, ClusterError) or answer.brokers:
            return answer
        return Unreachable(f"{self._where(node)} does not know any broker yet", "it has just started; wait")

    async def _first_answer(self, node: object, request: Any, seconds: float) -> Any:
        """Return a node's first answer; if it closes the connection, retry, because the broker may only be stopping."""
        answer = await self._ask(node, request, seconds)
        for _ in range(_RETRIES_AFTER_CUT_OFF):
            if self._protocol.startswith("SASL") or not isinstance(answer, CutOff):
                return answer
            answer = await self._ask(node, request, seconds)
        if not isinstance(answer, CutOff):
            return answer
        return causes.closed_on_first_request(self._where(node), self._protocol)  # without a login

    async def _ask(self, node: object, request: Any, seconds: float) -> Any:
        """Return a node's answer to one request, or the ClusterError."""
        return (await self._exchange_with(node, [request], seconds))[0]

    async def all(self, calls: Sequence[tuple[object, Any]]) -> list[Any]:
        """Send to all nodes at the same time and return the answers in the order of the calls."""
        by_node: dict[object, list[int]] = {}
        for index, (node, _) in enumerate(calls):
            by_node.setdefault(node, []).append(index)
        exchanges = [
            self._net.call_soon_with_future(
                self._exchange_with, node, [calls[index][1] for index in indexes], self._seconds
            )
            for node, indexes in by_node.items()
        ]
        answers: list[Any] = [None] * len(calls)
        for exchange, indexes in zip(exchanges, by_node.values(), strict=True):
            for index, answer in zip(indexes, await exchange, strict=True):
                answers[index] = answer
        return answers

    async def _exchange_with(self, node: object, wanted: Sequence[Any], seconds: float) -> list[Any]:
        """Send requests to one node, one after the other, and return the answers; each ClusterError is a value.

        Sends only on an established connection: the library loses a request that it cannot encode while it connects,
        and every other one that waits for the same connection.
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
        """Return the library's future, or the exception that sending raised."""
        try:
            left = guard - time.monotonic() - GRACE_SECONDS / 2
            # A copy, because the library writes the broker's API version into the request.
            return connection.send_request(copy.copy(request), request_timeout_ms=max(left, 0) * 1000)
        except Exception as error:  # noqa: BLE001 -- one bad request must not lose the other answers
            return error

    async def _answer(self, node: object, connection: Any, sent: Any, guard: float) -> Any:
        try:
            if isinstance(sent, Exception):
                raise sent  # noqa: TRY301 -- one place converts all failures
            answer = await self._until(sent, guard)
        except Exception as error:  # noqa: BLE001 -- every failure becomes a named value
            return self._named(node, connection, error)
        self.last_error.pop(node, None)
        return answer

    async def _until(self, future: Any, guard: float) -> Any:
        """Await a future of the library, whose own time limits do not cover every case."""
        return await self._connections.wait_for(future, max(guard - time.monotonic(), 0.0) * 1000)

    def _named(self, node: object, connection: Any, error: Exception) -> ClusterError:
        if isinstance(error, NodeNotReadyError) and node in self.last_error:
            return self.last_error[node]  # in its reconnect back-off: the cause is the last error
        named = causes.named(error, self._where(node), self._protocol)
        if isinstance(named, TimedOut) and connection is not None and connection.awaits is not None:
            named = causes.login_waits(self._where(node), connection.awaits)
        was_connected = connection is not None and connection.init_future.succeeded()
        if was_connected and isinstance(error, KafkaConnectionError) and isinstance(named, Unreachable):
            named = CutOff(named.what, named.advice)
        self.last_error[node] = named
        return named

    def _where(self, node: object) -> str:
        broker = self._connections.cluster.broker_metadata(node)
        return f"broker {node}" if broker is None else f"{broker.host}:{broker.port}"
