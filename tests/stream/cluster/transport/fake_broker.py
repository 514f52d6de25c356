"""A listener with the part of Kafka's protocol that a login needs, for answers that no real broker gives."""

import contextlib
import dataclasses
import io
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, Self

from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from sandbox.ports import LOOPBACK

_APIS = {
    ApiVersionsRequest.API_KEY: (ApiVersionsRequest, 0),
    MetadataRequest.API_KEY: (MetadataRequest, 8),
    SaslHandshakeRequest.API_KEY: (SaslHandshakeRequest, 1),
    SaslAuthenticateRequest.API_KEY: (SaslAuthenticateRequest, 2),
}
"""The supported requests and their highest versions."""


@dataclasses.dataclass(frozen=True)
class Login:
    """The answer to one SaslAuthenticate request."""

    challenge: bytes = b""
    error: int = 0
    text: str | None = None
    session_ms: int = 0


class FakeBroker:
    """`with FakeBroker(answer) as broker: broker.address`; `answer` maps a SASL message to a Login."""

    def __init__(
        self, answer: Callable[[bytes], Login], mechanisms: tuple[str, ...] = ("PLAIN", "OAUTHBEARER")
    ) -> None:
        self.answer = answer
        self.mechanisms = mechanisms
        self.messages: list[bytes] = []
        """The SASL messages received."""
        self.connections = 0
        self._open: list[socket.socket] = []
        self._server = socket.create_server((LOOPBACK, 0))
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def address(self) -> str:
        """Return the address as host:port."""
        return f"{LOOPBACK}:{self._server.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._server.close()
        for connection in self._open:
            connection.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                self._open.append(connection)
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, struct.error), connection.makefile("rb") as received:
            while True:
                frame = received.read(*struct.unpack(">i", received.read(4)))
                key, version, correlation = struct.unpack_from(">hhi", frame)
                kind, highest = _APIS[key]
                if version > highest:  # as a broker answers an unknown version of ApiVersions (KIP-511)
                    response: Any = self._api_versions(error=35)
                    version = 0
                else:
                    response = self._respond(kind, kind.decode(io.BytesIO(frame), version=version, header=True))
                response.API_VERSION = version
                response.with_header(correlation_id=correlation)
                connection.sendall(response.encode(header=True, framed=True))

    def _respond(self, kind: Any, request: Any) -> Any:
        if kind is ApiVersionsRequest:
            return self._api_versions()
        if kind is SaslHandshakeRequest:
            known = request.mechanism in self.mechanisms
            return SaslHandshakeResponse(error_code=0 if known else 33, mechanisms=list(self.mechanisms))
        if kind is SaslAuthenticateRequest:
            self.messages.append(bytes(request.auth_bytes))
            login = self.answer(self.messages[-1])
            return SaslAuthenticateResponse(
                error_code=login.error,
                error_message=login.text,
                auth_bytes=login.challenge,
                session_lifetime_ms=login.session_ms,
            )
        port = int(self.address.rpartition(":")[2])
        broker = MetadataResponse.MetadataResponseBroker(node_id=1, host=LOOPBACK, port=port, rack=None)
        return MetadataResponse(throttle_time_ms=0, brokers=[broker], cluster_id="fake", controller_id=1, topics=[])

    @staticmethod
    def _api_versions(error: int = 0) -> Any:
        version = ApiVersionsResponse.ApiVersion
        keys = [version(api_key=key, min_version=0, max_version=highest) for key, (_, highest) in _APIS.items()]
        return ApiVersionsResponse(error_code=error, api_keys=keys)
