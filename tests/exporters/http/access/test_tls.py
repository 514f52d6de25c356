"""TLS on real sockets: encryption, certificates, refused clients, and limits on unfinished handshakes."""

import contextlib
import dataclasses
import http.client
import shutil
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporters.http.access import tls_handshake
from exporters.http.access.web_access import WebAccess
from exporters.http.access.web_config import WebConfigError
from exporters.http.admission import ConnectionLimits
from exporters.http.server import HttpServer
from exporters.text.exposition import PublishedSnapshot
from sandbox.certificates import Certificates
from tests.exporters.serving import many_groups, serving, wait_for

LIMITS = ConnectionLimits(total=40, per_address=20)


@dataclasses.dataclass
class TlsServer:
    """A server with its files in a folder, and connections to it."""

    folder: Path
    certificates: Certificates
    server: HttpServer
    now: list[float]

    def connect(self, *, source: str = "127.0.0.1", client: str | None = None, **changes: Any) -> ssl.SSLSocket:
        """Connect and check the certificate of the server; `client` is the name of a client certificate."""
        context = ssl.create_default_context(cafile=self.certificates.authority)
        for name, value in changes.items():
            setattr(context, name, value)
        if client is not None:
            context.load_cert_chain(self.certificates.certificate(client), self.certificates.key(client))
        return context.wrap_socket(self.plain(source), server_hostname="localhost")

    def plain(self, source: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.server.port), timeout=30, source_address=(source, 0))

    def get(self, *paths: str, connection: ssl.SSLSocket | None = None) -> tuple[int, bytes]:
        """Send requests on one connection; returns status and body of the last one."""
        with connection or self.connect() as line:
            client = http.client.HTTPConnection("localhost")
            client.sock = line
            for path in paths or ("/metrics",):
                client.request("GET", path)
                answer = client.getresponse()
                found = answer.status, answer.read()
            return found

    def refusals(self, reason: str) -> int:
        _, body = self.get("/metrics?name[]=lagwarden_http_refusals_total", connection=self.connect(source="127.0.0.9"))
        line = next(line for line in body.decode().splitlines() if f'reason="{reason}"' in line)
        return int(line.split()[-1])


@contextlib.contextmanager
def tls_server(
    folder: Path, certificates: Certificates, more: str = "", world: PublishedSnapshot | None = None
) -> Iterator[TlsServer]:
    shutil.copy(certificates.certificate("broker"), folder / "tls.crt")
    shutil.copy(certificates.key("broker"), folder / "tls.key")
    shutil.copy(certificates.authority, folder / "ca.crt")
    (folder / "web.yaml").write_text(f"tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.key\n{more}")
    now = [0.0]
    access = WebAccess(folder / "web.yaml", clock=lambda: now[0])
    with serving(world, limits=LIMITS, access=access) as server:
        yield TlsServer(folder, certificates, server, now)


def test_requests_are_answered(tmp_path: Path, certificates: Certificates) -> None:
    """One connection serves several requests, with the newest version of TLS; a large response arrives completely."""
    with tls_server(tmp_path, certificates, world=many_groups(20_000)) as served, served.connect() as line:
        assert line.version() == "TLSv1.3"
        code, body = served.get("/livez", "/metrics", connection=line)
    assert code == 200
    assert body.count(b"lagwarden_group_info{") == 20_000


def test_a_request_sent_with_the_end_of_the_handshake_is_answered(tmp_path: Path, certificates: Certificates) -> None:
    """A request that a client sends together with the end of the handshake is not lost."""
    with tls_server(tmp_path, certificates) as served:
        for _ in range(20):
            context = ssl.create_default_context(cafile=certificates.authority)
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            client = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
            with served.plain() as line:
                while True:
                    try:
                        client.do_handshake()
                        break
                    except ssl.SSLWantReadError:
                        line.sendall(outgoing.read())
                        incoming.write(line.recv(65536))
                client.write(b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
                line.sendall(outgoing.read())
                received = b""
                while b"alive" not in received:
                    incoming.write(line.recv(65536))
                    with contextlib.suppress(ssl.SSLWantReadError):
                        while record := client.read(65536):
                            received += record


def test_plain_text_is_not_answered(tmp_path: Path, certificates: Certificates) -> None:
    """A plain HTTP request gets no response, not even a redirect, because the network could read the request."""
    with tls_server(tmp_path, certificates) as served:
        with served.plain() as line:
            line.sendall(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert b"HTTP" not in line.recv(100)
        wait_for(lambda: served.refusals("tls") == 1, "a counted refusal")


def test_client_certificate_is_required(tmp_path: Path, certificates: Certificates) -> None:
    """A client needs a certificate of the configured authority; a changed file does not end that without a restart."""
    more = "  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n"
    with tls_server(tmp_path, certificates, more) as served:
        assert served.get("/livez", connection=served.connect(client="client"))[0] == 200
        config = tmp_path / "web.yaml"
        for text in (config.read_text(), config.read_text().replace(more, "")):
            config.write_text(text)
            served.now[0] += 1.0
            with pytest.raises((ssl.SSLError, OSError, http.client.HTTPException)):
                served.get("/livez")


def test_renewed_certificate_is_used_without_a_restart(tmp_path: Path, certificates: Certificates) -> None:
    """New connections use the renewed certificate; an open connection continues with the old one."""
    with tls_server(tmp_path, certificates) as served:
        before = served.connect()
        shutil.copy(certificates.certificate("client"), tmp_path / "tls.crt")
        shutil.copy(certificates.key("client"), tmp_path / "tls.key")
        served.now[0] += 1.0
        with before, served.connect() as after:
            assert before.getpeercert() != after.getpeercert()
            assert served.get("/livez", connection=before)[0] == 200


@pytest.mark.parametrize(
    ("file", "key", "says"),
    [
        ("tls.key", "client", "are not a certificate and its key"),
        ("tls.key", "client-modern", "the key is encrypted"),
        ("tls.crt", None, "cannot be read"),
    ],
)
def test_unusable_certificate_is_refused(
    tmp_path: Path, certificates: Certificates, file: str, key: str | None, says: str
) -> None:
    """An unusable certificate is refused at the start; a running server keeps its previous certificate."""
    with tls_server(tmp_path, certificates) as served:
        (tmp_path / file).unlink()
        if key is not None:
            shutil.copy(certificates.key(key), tmp_path / file)
        served.now[0] += 1.0
        assert served.get("/livez")[0] == 200
        with pytest.raises(WebConfigError, match=says):
            WebAccess(tmp_path / "web.yaml")
        # TLS is not switched off while running: clients would send passwords in clear text.
        (tmp_path / "web.yaml").write_text("")
        served.now[0] += 1.0
        assert served.get("/livez")[0] == 200


def test_unfinished_handshakes_are_bounded(tmp_path: Path, certificates: Certificates) -> None:
    """Unfinished handshakes count as connections: a newer one closes the oldest, and other addresses are served."""
    with tls_server(tmp_path, certificates) as served, contextlib.ExitStack() as stack:
        lines = [stack.enter_context(served.plain()) for _ in range(3 * LIMITS.per_address)]
        wait_for(lambda: served.refusals("idle") == 2 * LIMITS.per_address, "a counted refusal")
        lines[0].settimeout(30)
        with contextlib.suppress(ConnectionResetError):
            assert lines[0].recv(1) == b""


def test_handshake_has_a_time_limit(
    tmp_path: Path, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection of a client that sends nothing is closed and counted."""
    monkeypatch.setattr(tls_handshake, "HANDSHAKE_SECONDS", 0.2)
    with tls_server(tmp_path, certificates) as served, served.plain() as line:
        line.settimeout(30)
        with contextlib.suppress(ConnectionResetError):
            assert line.recv(1) == b""
        wait_for(lambda: served.refusals("tls") == 1, "a counted refusal")
