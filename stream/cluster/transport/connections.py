"""Connections to brokers: kafka-python's connection manager with the corrections of `transport.corrections`.

`client` is the only user. kafka-python is pinned to one minor release because undocumented methods are overridden.
"""

import time
from typing import Any

from kafka.errors import KafkaConnectionError, KafkaTimeoutError
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

from stream.cluster.transport.corrections.closed_sockets import open_socket
from stream.cluster.transport.corrections.current_credentials import Connection
from stream.cluster.transport.corrections.decoder_errors import FailsRequests
from stream.cluster.transport.corrections.handshake_limit import LimitsHandshake
from stream.cluster.transport.corrections.no_background import OpensForRequests
from stream.cluster.transport.corrections.tls_alert import RefusesTlsAlert
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
