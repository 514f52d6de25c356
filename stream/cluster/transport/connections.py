"""Connections to brokers: kafka-python's connection manager with five corrections, each found on a real broker.

Contains only the subclasses; `client` is the only user. kafka-python is pinned to one minor release because this module
overrides undocumented methods. The corrections:

- *Answer before the end of the stream.* A broker that refuses a login answers and closes the connection at once. The
  library drops an answer that arrives together with the end of the stream, so that a wrong password is reported as
  "socket disconnected". Here the answer is read first.
- *TLS listener.* A TLS listener answers a plaintext client with a TLS alert, which the library parses as the length of
  a frame. Here it is recognised.
- *TLS listener without an answer.* The library's handshake has no time limit, and every later request queues behind it.
- *Leaked sockets.* The library leaves the socket of a refused connection to the garbage collector.
- *Background activity.* The library keeps a refused login for ever and bootstraps again in the background, without
  limit and with the auto-creation of topics on. Here connections are opened only for requests.
"""

from __future__ import annotations

import socket
import ssl
import time
from typing import Any, Final

from kafka.errors import KafkaConnectionError, KafkaProtocolError, KafkaTimeoutError
from kafka.net.inet import KafkaNetSocket
from kafka.net.manager import KafkaConnectionManager
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

_TLS_ALERT: Final = b"\x15\x03"
_DELIVERY_SECONDS: Final = 0.05


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
        except KafkaProtocolError as error:
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


class Connections(KafkaConnectionManager):  # type: ignore[misc]
    """The manager of all connections, without background activity."""

    def maybe_raise_auth_failure(self, node_id: object) -> None:
        """Ignore a refused login: rights and passwords change, and the caller decides about retries."""

    def get_connection(self, node_id: object, **options: Any) -> Any:
        """Return the node's connection, opened if needed, without a background refresh when it breaks."""
        return super().get_connection(node_id, **{**options, "refresh_metadata_on_err": False})

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        opened = await self._open_socket(node.host, node.port, timeout_at)
        if not self.ssl_enabled:
            return _PlainTransport(self._net, opened, host=node.host)
        transport = _TlsTransport(self._net, opened, host=node.host, ssl_context=self.config["ssl_context"])
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
