"""Certificates of a test authority, made with openssl: for brokers and servers that are to be reached by TLS."""

import dataclasses
import subprocess
from pathlib import Path


@dataclasses.dataclass(frozen=True, slots=True)
class Certificates:
    """A directory with the certificates of an authority, a broker and a client, issued for localhost."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The certificate of the authority."""
        return self.folder / "ca.crt"

    def certificate(self, name: str) -> Path:
        """Return the certificate of `broker` or `client`."""
        return self.folder / f"{name}.crt"

    def key(self, name: str) -> Path:
        """Return a private key (PKCS#8). `client-locked` is that of the client with the password `key-secret`."""
        return self.folder / f"{name}.key"

    def both(self, name: str) -> Path:
        """Return a file with key and certificate, as brokers need it."""
        return self.folder / f"{name}.pem"


def make_certificates(folder: Path) -> Certificates:
    """Create the certificates in an empty folder, which takes less than a second."""
    _openssl(folder, "req -x509 -newkey rsa:2048 -nodes -days 30 -keyout ca.key -out ca.crt -subj /CN=test-ca")
    (folder / "names").write_text("subjectAltName=DNS:localhost")
    for name in ("broker", "client"):
        _openssl(folder, f"req -newkey rsa:2048 -nodes -keyout {name}.key -out {name}.csr -subj /CN={name}")
        _openssl(
            folder,
            f"x509 -req -in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 9 -out {name}.crt -extfile names",
        )
        (folder / f"{name}.pem").write_bytes(
            (folder / f"{name}.key").read_bytes() + (folder / f"{name}.crt").read_bytes()
        )
    locked = "pkcs8 -topk8 -in client.key -passout pass:key-secret"
    _openssl(folder, f"{locked} -out client-locked.key -v1 PBE-SHA1-3DES")
    _openssl(folder, f"{locked} -out client-modern.key -v2 aes-256-cbc")
    _openssl(folder, "rsa -traditional -in client.key -out client-old.key")
    return Certificates(folder)


def _openssl(folder: Path, arguments: str) -> None:
    subprocess.run(["openssl", *arguments.split()], cwd=folder, check=True, capture_output=True)
