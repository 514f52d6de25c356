"""Logins to a broker that checks tokens, passwords and certificates while they change."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from sandbox.certificates import Certificates
from sandbox.waiting import wait_until
from stream.cluster.transport.errors import TlsRefused
from tests.stream.cluster.broker.secured_broker import (
    PASSWORD,
    SESSION_SECONDS,
    SecuredBroker,
    cluster_of,
    connected,
    error_of,
)

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("kind", ["endpoint", "password"])
def test_one_connection_outlives_many_sessions(secured: SecuredBroker, kind: str) -> None:
    """Requests continue over one connection for three sessions (KIP-368), with fresh tokens or the current password."""
    secured.issuer.lifetime = SESSION_SECONDS
    asked = len(secured.issuer.requests)
    flags = secured.client_credentials("sessions") if kind == "endpoint" else secured.password_file(PASSWORD)
    with connected(flags) as cluster:
        cluster.metadata()
        opened = dict(cluster._connections._conns)
        end = time.monotonic() + 3 * SESSION_SECONDS
        while time.monotonic() < end:
            cluster.metadata()
            time.sleep(0.1)
        assert opened.items() <= dict(cluster._connections._conns).items()
        assert any(connection._reauth.session_lifetime_ms for connection in opened.values())
    if kind == "endpoint":
        assert len(secured.issuer.requests) - asked >= 3


def test_failed_renewal_is_raised_by_the_next_requests(secured: SecuredBroker) -> None:
    """If a connection cannot log in again, it is closed, and a later request raises the cause.

    A valid token ends the failure.
    """
    secured.issuer.lifetime = SESSION_SECONDS
    with connected(secured.token_file(secured.issuer.token() + "\n")) as cluster:
        cluster.metadata()
        opened = list(cluster._connections._conns.values())
        assert [connection.closed for connection in opened] == [False] * len(opened) != []
        secured.issuer.lifetime = 60.0  # the new token must not expire before the connection logs in again
        secured.write("token", secured.issuer.token(aud="other"))
        found: list[str] = []
        wait_until(lambda: found.append(str(error_of(cluster))) or "audience" in found[-1], "the error", limit=20)
        assert "its audience is now 'other', not 'kafka' as before" in found[-1]
        assert str(secured.folder / "token") in found[-1]
        assert all(connection.closed for connection in opened)
        secured.write("token", secured.issuer.token())
        wait_until(lambda: error_of(cluster) is None, "the recovery", limit=20)


def test_rotated_client_certificate(secured: SecuredBroker, tmp_path: Path) -> None:
    """The broker refuses an expired certificate; the next connection uses the new certificate."""
    files = secured.certificates
    _expired_certificate(files, tmp_path)
    own = {"ssl_certificate_file": tmp_path / "client.crt", "ssl_key_file": tmp_path / "client.key"}
    with cluster_of(secured.flags("MTLS", security_protocol="SSL", ssl_ca_file=files.authority, **own)) as cluster:
        error = error_of(cluster)
        assert type(error) is TlsRefused
        assert "does not accept the client certificate" in error.what
        assert "has not expired" in error.advice
        for name in ("client.crt", "client.key"):
            shutil.copy(files.folder / name, tmp_path / f"{name}.new")
            (tmp_path / f"{name}.new").replace(tmp_path / name)
        wait_until(lambda: error_of(cluster) is None, "a connection with the new certificate", limit=10)


def _expired_certificate(files: Certificates, folder: Path) -> None:
    shutil.copy(files.key("client"), folder / "client.key")
    arguments = "x509 -req -in client.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 0 -out"
    command = ["openssl", *arguments.split(), str(folder / "client.crt")]
    subprocess.run(command, cwd=files.folder, check=True, capture_output=True)
    time.sleep(1.1)
