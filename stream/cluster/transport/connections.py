"""Connections to brokers: kafka-python's connection manager with eight corrections.

Contains the subclasses and one replaced method; `client` is the only user. kafka-python is pinned to one minor release
because this module overrides undocumented methods. The corrections:

- *Answer before the end of the stream.* A broker that refuses a login answers and closes the connection at once. The
  library drops an answer that arrives together with the end of the stream, so that a wrong password is reported as
  "socket disconnected". Here the answer is read first.
- *TLS listener.* A TLS listener answers a plaintext client with a TLS alert, which the library parses as the length of
  a frame. Here it is recognised.
- *TLS listener without an answer.* The library's handshake has no time limit, and every later request queues behind it.
- *Leaked sockets.* The library leaves the socket of a refused connection to the garbage collector.
- *Old credentials.* The library keeps the password, the certificates and the mechanism of its first connection, and
  asks for a token on the I/O thread. Here each login, also a repeated one (KIP-368), reads them again, in a thread.
- *Decoders of two threads.* The library compiles the decoder of a response at its first use, and replaces the data
  class of the response meanwhile. If two I/O threads compile the same decoder at once, the decoder that stays can raise
  a TypeError for every response. Here one thread compiles at a time.
- *Errors of a decoder.* Such an exception ends the task that reads the connection, but the connection stays open: its
  requests time out. Here the requests fail with the exception.
- *Background activity.* The library keeps a refused login forever and bootstraps again in the background, without
  limit and with the auto-creation of topics on. Here connections are opened only for requests.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from kafka.errors import (
    KafkaConnectionError,
    KafkaProtocolError,
    KafkaTimeoutError,
    NodeNotReadyError,
    SaslAuthenticationFailedError,
    UnknownBrokerIdError,
    for_code,
)
from kafka.future import Future
from kafka.net.connection import KafkaConnection
from kafka.net.inet import KafkaNetSocket
from kafka.net.manager import KafkaConnectionManager
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from kafka.protocol.schemas.fields.struct import StructField

from stream.cluster.transport.errors import LoginRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.cluster.transport.login.authenticator import Authenticator
    from stream.cluster.transport.login.sasl import SaslExchange
    from stream.cluster.transport.login.tls_context import TlsContext

_TLS_ALERT: Final = b"\x15\x03"
_DELIVERY_SECONDS: Final = 0.05
_COMPILING: Final = threading.RLock()
_decoder_of_library: Final = StructField.compiled_decode_from


def _decoder(struct: Any, *args: Any, **options: Any) -> Any:
    """Return the decoder of a response, compiled at its first use by one thread at a time."""
    with _COMPILING:
        return _decoder_of_library(struct, *args, **options)


StructField.compiled_decode_from = _decoder


class SpeaksTlsError(KafkaProtocolError):  # type: ignore[misc]
    """The listener answered a plaintext request with a TLS alert."""


class _ReadsFinalAnswer:
    """Delivers the bytes that arrived with the end of the stream before it reports the end."""

    async def _read_from_sock(self: Any) -> None:
        while self._read and not self._closed:
            await self._net.wait_read(self._sock)
            received, error = self._sock_recv()
            if received and not self._deliver(received):
                return
            if error:
                if received:  # the coroutine that waits for this answer runs before the connection is torn down
                    await self._net.sleep(_DELIVERY_SECONDS)
                self.abort(error=error)
                return

    def _deliver(self: Any, received: bytes) -> bool:
        """Pass the bytes to the connection; return False if they closed it."""
        self.last_read = time.monotonic()
        if self._protocol is None:
            return False
        try:
            self._refuse_alert(received)
            self._protocol.data_received(received)
        except IndexError:
            self.abort(error=KafkaProtocolError("the response ends too early"))
            return False
        except Exception as error:  # noqa: BLE001 -- the requests that wait for this connection get it
            self.abort(error=error)
            return False
        return True

    def _refuse_alert(self, received: bytes) -> None:
        """Raise SpeaksTlsError if the bytes are a TLS alert instead of a Kafka frame."""


class _PlainTransport(_ReadsFinalAnswer, KafkaTCPTransport):  # type: ignore[misc]
    """Bytes over TCP."""

    def _refuse_alert(self, received: bytes) -> None:
        # As the length of a frame these two bytes would mean more than 350 MB, which no request asks for.
        if received.startswith(_TLS_ALERT):
            raise SpeaksTlsError("answered with a TLS alert")


class _TlsTransport(_ReadsFinalAnswer, KafkaSSLTransport):  # type: ignore[misc]
    """Bytes over TLS."""

    async def handshake_until(self, deadline: float | None) -> None:
        """Do the TLS handshake. Raises KafkaTimeoutError after `deadline` (monotonic seconds)."""
        while True:
            try:
                self._sock.do_handshake()
            except ssl.SSLWantReadError:
                await self._net.wait_read(self._sock, timeout_at=deadline)
            except ssl.SSLWantWriteError:
                await self._net.wait_write(self._sock, timeout_at=deadline)
            else:
                return


class Connection(KafkaConnection):  # type: ignore[misc]
    """One connection, which logs in with current credentials, and again before its session ends (KIP-368)."""

    def __init__(self, net: Any, authenticator: Authenticator | None, host: str, where: str, **options: Any) -> None:
        super().__init__(net, **options)
        self._authenticator = authenticator
        self._host = host
        self._where = where
        self._exchange: SaslExchange | None = None
        self.awaits: str | None = None
        """What the login waits for, if it is not the broker, such as `the token endpoint URL`."""

    async def prepare_login(self) -> None:
        """Read the credentials for the next login. Raises ClusterError."""
        authenticator = self._authenticator
        if authenticator is None:
            return
        self.awaits = authenticator.origin
        try:
            self._exchange = await in_thread(self.net, lambda: authenticator.start(self._host))
        finally:
            self.awaits = None

    async def _sasl_authenticate(self, timeout_at: float | None = None) -> None:
        if self._exchange is None:  # a repeated login
            await self.prepare_login()
        exchange, self._exchange = self._exchange, None
        if exchange is None or self._authenticator is None:
            raise SaslAuthenticationFailedError("no credentials")
        deadline = self._timeout_at() if timeout_at is None else timeout_at
        await self._agree_on(self._authenticator.mechanism, deadline)
        message: bytes | None = exchange.first()
        while message is not None:
            response = await self._send_request(SaslAuthenticateRequest(message), timeout_at=deadline)
            if response.error_code:
                raise exchange.refusal(self._where, response.error_message or for_code(response.error_code).__name__)
            try:
                message = exchange.reply(response.auth_bytes)
            except ValueError as error:
                raise LoginRefused(
                    f"the login to {self._where} failed: {error}", "check that the address is that of your broker"
                ) from None
        self._reauth.session_updated(response.session_lifetime_ms)

    async def _agree_on(self, mechanism: str, deadline: float) -> None:
        # Version 0, before Kafka 1.0, has no error texts and no session lifetimes.
        request = SaslHandshakeRequest(mechanism=mechanism, min_version=1)
        response = await self._send_request(request, timeout_at=deadline)
        if response.error_code:
            offered = ", ".join(response.mechanisms or ()) or "none"
            raise for_code(response.error_code)(f"SASL mechanism {mechanism}; it offers {offered}")


class Connections(KafkaConnectionManager):  # type: ignore[misc]
    """The manager of all connections of one login, without background activity."""

    def __init__(self, net: Any, authenticator: Authenticator | None, tls: TlsContext | None, **options: Any) -> None:
        super().__init__(net, **options)
        self._authenticator = authenticator
        self._tls = tls

    def get_connection(self, node_id: object, **_: Any) -> Connection:
        """Return the node's connection, opened if needed.

        Unlike the library's, it does not keep a refused login forever: rights and passwords change, and the caller
        decides about retries. It also causes no background refresh when a connection breaks.
        """
        if self.connection_delay(node_id) > 0:
            raise NodeNotReadyError(node_id)
        if node_id in self._conns:
            return self._conns[node_id]  # type: ignore[no-any-return]
        node = self.cluster.broker_metadata(node_id)
        if node is None:
            raise UnknownBrokerIdError(node_id)
        options = {**self.config, "node_id": node_id, "broker_version_data": self.broker_version_data}
        connection = Connection(self._net, self._authenticator, node.host, f"{node.host}:{node.port}", **options)
        connection.close_future.add_both(lambda _: self._conns.pop(node_id, None))
        self._conns[node_id] = connection
        self._net.call_soon(lambda: self._connect(node, connection))
        return connection

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
        opened = await self._open_socket(node.host, node.port, timeout_at)
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

    async def _open_socket(self, host: str, port: int, deadline: float | None) -> socket.socket:
        """Connect to the first address of a host that accepts. Raises the error of the last address if none does."""
        network = KafkaNetSocket()
        problem: Exception = KafkaConnectionError("DNS Resolution failure")
        for family, kind, protocol, _, address in network.dns_lookup(host, port):
            candidate = socket.socket(family, kind, protocol)
            try:
                candidate.setblocking(False)
                for option in self.config["socket_options"]:
                    candidate.setsockopt(*option)
                await network.sock_connect(self._net, candidate, address, timeout_at=deadline)
            except Exception as error:  # noqa: BLE001 -- the next address may work, and the last error is raised
                candidate.close()
                problem = error
            else:
                return candidate
        raise problem


def in_thread(net: Any, work: Callable[[], Any]) -> Any:
    """Run a blocking function in a thread of its own; returns the library's future, which ends on the I/O thread."""
    done = Future()

    def run() -> None:
        try:
            value, error = work(), None
        except Exception as raised:  # noqa: BLE001 -- raised where the future is awaited
            value, error = None, raised
        with contextlib.suppress(Exception):  # the client may be closed by now
            net.call_soon_threadsafe(lambda: done.success(value) if error is None else done.failure(error))

    threading.Thread(target=run, name="kafka-login", daemon=True).start()
    return done
