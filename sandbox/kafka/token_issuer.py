"""An identity provider on loopback: a token endpoint for client credentials, and the keys for the broker (JWKS).

Keys and signatures are openssl's. A test replaces `answer` to make the endpoint fail in a certain way.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import functools
import http.server
import json
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import parse_qs, unquote_plus

from sandbox.ports import LOOPBACK, LoopbackHttpServer

TOKEN_PATH: Final = "/token"  # noqa: S105 -- a path
KEYS_PATH: Final = "/keys"


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer of the token endpoint. `hold` seconds pass before it is sent, `drip` between its bytes."""

    status: int
    body: bytes
    kind: str = "application/json"
    hold: float = 0.0
    drip: float = 0.0
    location: str | None = None

    @classmethod
    def of(cls, status: int, **fields: Any) -> Answer:
        """Return an answer with a JSON object."""
        return cls(status, json.dumps(fields).encode())


class SigningKey:
    """An RSA key in a file of its own, with the key id that tokens and JWKS name."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name: Final = name
        self._file = folder / f"{name}.pem"
        _openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", str(self._file))

    def sign(self, text: bytes) -> bytes:
        """Return the RS256 signature of a text."""
        return _openssl("dgst", "-sha256", "-sign", str(self._file), given=text)

    def public(self) -> dict[str, str]:
        """Return the public key as a JWK (RFC 7517)."""
        printed = _openssl("rsa", "-in", str(self._file), "-noout", "-modulus").decode()
        modulus = bytes.fromhex(printed.strip().removeprefix("Modulus="))
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.name, "n": _base64url(modulus), "e": "AQAB"}


class TokenIssuer:
    """`with TokenIssuer() as issuer:` serves `issuer.token_endpoint` and `issuer.keys_url`.

    It accepts the client `client_id` with `client_secret`. With a `certificate` (PEM with key) it speaks TLS.
    """

    issuer: Final = "https://issuer.test"
    audience: Final = "kafka"

    def __init__(self, client_id: str = "alice", client_secret: str = "", certificate: Path | None = None) -> None:
        self.client_id = client_id
        self.client_secret = client_secret
        self.lifetime = 300.0
        """Seconds that tokens live."""
        self.answer: Callable[[], Answer] | None = None
        """Makes every answer of the token endpoint instead of the issuer."""
        self.requests: list[dict[str, list[str]]] = []
        """The forms that the token endpoint has received."""
        self._folder = tempfile.TemporaryDirectory(prefix="lagwarden-issuer-")
        self._server = LoopbackHttpServer(0, self._handler())
        self._scheme, self._host = "http", LOOPBACK
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self._scheme, self._host = "https", "localhost"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._folder.cleanup()

    @functools.cached_property
    def key(self) -> SigningKey:
        """The key that signs tokens; made at first use."""
        return SigningKey(Path(self._folder.name), "first")

    @functools.cached_property
    def published(self) -> list[dict[str, str]]:
        """The public keys that brokers get."""
        return [self.key.public()]

    @property
    def token_endpoint(self) -> str:
        """The URL of the token endpoint."""
        return f"{self._scheme}://{self._host}:{self._server.server_port}{TOKEN_PATH}"

    @property
    def keys_url(self) -> str:
        """The URL of the public keys."""
        return f"{self._scheme}://{self._host}:{self._server.server_port}{KEYS_PATH}"

    def token(self, **claims: Any) -> str:
        """Return a signed token. `claims` replace the usual ones; None removes one."""
        now = time.time()
        usual = {
            "iss": self.issuer,
            "aud": self.audience,
            "sub": self.client_id,
            "iat": int(now),
            "exp": int(now + self.lifetime),
        }
        kept = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        header = {"alg": "RS256", "typ": "JWT", "kid": self.key.name}
        signed = ".".join(_base64url(json.dumps(part).encode()) for part in (header, kept))
        return f"{signed}.{_base64url(self.key.sign(signed.encode()))}"

    def _answer_to(self, authorization: str, form: dict[str, list[str]]) -> Answer:
        self.requests.append(form)
        if self.answer is not None:
            return self.answer()
        if form.get("grant_type") != ["client_credentials"]:
            return Answer.of(400, error="unsupported_grant_type")
        kind, _, credentials = authorization.partition(" ")
        with contextlib.suppress(ValueError):
            client, _, secret = base64.b64decode(credentials).decode().partition(":")
            expected = (self.client_id, self.client_secret)
            if kind == "Basic" and (unquote_plus(client), unquote_plus(secret)) == expected:
                return Answer.of(200, access_token=self.token(), token_type="Bearer", expires_in=int(self.lifetime))  # noqa: S106
        return Answer.of(401, error="invalid_client", error_description="unknown client or wrong secret")

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                keys = json.dumps({"keys": issuer.published}).encode()
                self._send(Answer(200, keys) if self.path == KEYS_PATH else Answer.of(404, error="not found"))

            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                self._send(issuer._answer_to(self.headers.get("Authorization", ""), form))

            def _send(self, answer: Answer) -> None:
                with contextlib.suppress(OSError):  # the client may have given up
                    time.sleep(answer.hold)
                    self.send_response(answer.status)
                    self.send_header("Content-Type", answer.kind)
                    self.send_header("Content-Length", str(len(answer.body)))
                    if answer.location is not None:
                        self.send_header("Location", answer.location)
                    self.end_headers()
                    for part in [answer.body] if not answer.drip else [bytes([byte]) for byte in answer.body]:
                        self.wfile.write(part)
                        time.sleep(answer.drip)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        return Handler


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _openssl(*arguments: str, given: bytes | None = None) -> bytes:
    return subprocess.run(["openssl", *arguments], input=given, check=True, capture_output=True).stdout
