"""TLS files are read again when they change; unusable files are named."""

import dataclasses
import os
import shutil
import ssl
from pathlib import Path
from typing import Any

import pytest

from sandbox.certificates import Certificates
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import TlsRefused
from stream.cluster.transport.login.tls_context import TlsContext
from stream.config.kafka_login import KafkaLogin, TlsFiles
from stream.config.secret_sources import SecretFile, SecretValue
from stream.errors import ExitCode


def subjects(context: ssl.SSLContext) -> list[Any]:
    """Return the names of the authorities that a context trusts."""
    return [authority["subject"] for authority in context.get_ca_certs()]


@pytest.fixture
def mounted(certificates: Certificates, tmp_path: Path) -> TlsFiles:
    """Return copies of the client's files, mounted as Kubernetes does: through a link to a folder of one version."""
    folder = tmp_path / "1"
    folder.mkdir()
    for name in ("ca.crt", "client.crt", "client.key"):
        shutil.copy(certificates.folder / name, folder)
    (tmp_path / "data").symlink_to(folder)
    data = tmp_path / "data"
    return TlsFiles(data / "ca.crt", data / "client.crt", data / "client.key")


def locked_files(certificates: Certificates) -> TlsFiles:
    own = certificates.certificate("client"), certificates.key("client-locked")
    return TlsFiles(certificates.authority, *own, SecretValue("key-secret"))


def test_authorities_and_host_name(certificates: Certificates) -> None:
    """Only the given authority is trusted, and the host name is checked unless the option disables that."""
    context = TlsContext(TlsFiles(authorities=certificates.authority)).current()
    assert subjects(context) == [((("commonName", "test-ca"),),)]
    assert context.check_hostname
    lax = TlsContext(TlsFiles(authorities=certificates.authority, verify_hostname=False)).current()
    assert (lax.check_hostname, lax.verify_mode) == (False, ssl.CERT_REQUIRED)


def test_unchanged_files_keep_the_context(mounted: TlsFiles) -> None:
    """Connections share one context while the files do not change; only the first connection reads the files.

    A key with another content but the same inode, time and size counts as unchanged.
    """
    assert mounted.key is not None
    context = TlsContext(mounted)
    first, status = context.current(), mounted.key.stat()
    mounted.key.write_bytes(bytes(status.st_size))
    os.utime(mounted.key, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert context.current() is first


def test_rotated_files_are_used_by_the_next_connection(mounted: TlsFiles, certificates: Certificates) -> None:
    """The link moves to a folder with new files, as in a mounted Secret, and the next connection has a new context."""
    assert mounted.authorities is not None
    data = mounted.authorities.parent
    context = TlsContext(mounted)
    before = context.current()
    second = data.parent / "2"
    shutil.copytree(data.parent / "1", second)
    shutil.copy(certificates.certificate("broker"), second / "ca.crt")
    (data.parent / "next").symlink_to(second)
    (data.parent / "next").replace(data)
    assert context.current() is not before
    assert context.current() is context.current()


def test_half_rotated_files_fail_until_they_match(mounted: TlsFiles, certificates: Certificates) -> None:
    """A new certificate with the old key is an error until the key is replaced too."""
    assert mounted.certificate is not None
    assert mounted.key is not None
    context = TlsContext(mounted)
    context.current()
    shutil.copy(certificates.certificate("broker"), mounted.certificate)
    for _ in range(2):
        with pytest.raises(TlsRefused, match=r"kafka\.ssl_certificate_file"):
            context.current()
    shutil.copy(certificates.key("broker"), mounted.key)
    assert context.current()


def test_unusable_files_are_named_before_a_connection(certificates: Certificates, tmp_path: Path) -> None:
    """The creation of the client raises a usage error that names the option."""
    wrong, missing = SecretValue("wrong"), SecretFile(tmp_path / "none")
    changes: list[tuple[dict[str, Any], str]] = [
        ({"authorities": Path(__file__)}, "ssl_ca_file"),
        ({"key_password": wrong}, "ssl_certificate_file"),
        ({"key_password": None}, "ssl_certificate_file"),
        ({"key": certificates.key("broker")}, "ssl_certificate_file"),
        ({"key_password": missing}, "ssl_key_password"),
    ]
    for change, option in changes:
        files = dataclasses.replace(locked_files(certificates), **change)
        with pytest.raises(TlsRefused, match=rf"kafka\.{option}") as refused:
            Cluster(["localhost:1"], KafkaLogin(tls=files))
        assert refused.value.code is ExitCode.USAGE


def test_removed_file_is_named(mounted: TlsFiles) -> None:
    """The error has the option, the path and the reason."""
    assert mounted.key is not None
    context = TlsContext(mounted)
    context.current()
    mounted.key.unlink()
    with pytest.raises(TlsRefused, match=r"kafka\.ssl_key_file = '.*client\.key' cannot be used: No such file"):
        context.current()
