"""Reads the credentials again for each login, also a repeated one (KIP-368), in a thread.

Symptom: kafka-python keeps the password, the certificates and the mechanism of its first connection, so a rotated
password needs another client, and it asks for a token on the I/O thread, which blocks all connections meanwhile.
"""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from kafka.errors import SaslAuthenticationFailedError, for_code
from kafka.future import Future
from kafka.net.connection import KafkaConnection
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from stream.cluster.transport.errors import LoginRefused
from stream.cluster.transport.login.authenticator import Authenticator
from stream.cluster.transport.login.sasl import SaslExchange


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
        message: bytes | None = exchange.first
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
