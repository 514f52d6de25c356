"""Certificates of brokers that are not accepted: each fault is named before anything is sent."""

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.certificates import Certificates
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import TlsRefused
from stream.config.kafka_login import KafkaLogin, TlsFiles


@contextlib.contextmanager
def tls_server(certificate: Path, key: Path) -> Iterator[int]:
    """Listen with a certificate, close each connection after its handshake, and yield the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True):
                    pass
                connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def refusal(address: str, tls: TlsFiles) -> TlsRefused:
    with Cluster([address], KafkaLogin(tls=tls), request_timeout=10) as cluster, pytest.raises(TlsRefused) as refused:
        cluster.metadata()
    return refused.value


@pytest.fixture(scope="module")
def expired(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("expired") / "broker.crt"
    arguments = "x509 -req -in broker.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 0 -extfile names -out"
    subprocess.run(["openssl", *arguments.split(), str(path)], cwd=certificates.folder, check=True, capture_output=True)
    time.sleep(1.1)
    return path


def test_each_certificate_that_is_not_accepted_has_its_advice(certificates: Certificates, expired: Path) -> None:
    """The advice is to renew the certificate, to name its authority, or to use a host name of the certificate."""
    known, valid = TlsFiles(certificates.authority), certificates.certificate("broker")
    rows = [
        (expired, "localhost", known, "certificate has expired", "renew the certificate"),
        (valid, "localhost", TlsFiles(), "unable to get local issuer certificate", "set kafka.ssl_ca_file"),
        (valid, "127.0.0.1", known, "IP address mismatch", "kafka.bootstrap_servers"),
    ]
    for certificate, host, trusted, reason, advice in rows:
        with tls_server(certificate, certificates.key("broker")) as port:
            error = refusal(f"{host}:{port}", trusted)
        assert (reason in error.what, advice in error.advice) == (True, True), error


def test_replaced_authority_is_used_without_a_new_client(certificates: Certificates, tmp_path: Path) -> None:
    """A CA file that gets the right authority while the client runs ends the TLS errors."""
    path = tmp_path / "ca.crt"
    shutil.copy(certificates.certificate("client"), path)
    with (
        tls_server(certificates.certificate("broker"), certificates.key("broker")) as port,
        Cluster([f"localhost:{port}"], KafkaLogin(tls=TlsFiles(path)), request_timeout=10) as cluster,
    ):
        with pytest.raises(TlsRefused):
            cluster.metadata()
        shutil.copy(certificates.authority, tmp_path / "next")
        (tmp_path / "next").replace(path)
        time.sleep(0.2)  # the pause between two connections
        with pytest.raises(Exception, match=r"does not speak TLS|not reachable") as ended:
            cluster.metadata()
        assert not isinstance(ended.value, TlsRefused)
