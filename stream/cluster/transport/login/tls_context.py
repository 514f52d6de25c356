"""The TLS settings of new connections, read again when a certificate, key or CA file has changed."""

import ssl
from pathlib import Path
from typing import Final

from stream.cluster.transport.errors import TlsRefused
from stream.config.kafka_login import TlsFiles
from stream.config.secret_sources import SecretUnavailable
from stream.errors import ExitCode

_ADVICE: Final = "it must be a readable PEM file; the certificate must match its key, and the key its password"
_Version = tuple[int, int, int]


class TlsContext:
    """The SSL context of one login. Used on the I/O thread."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._versions: tuple[_Version, ...] = ()
        self._context: ssl.SSLContext | None = None

    def current(self) -> ssl.SSLContext:
        """Return a context with the current content of the files. Raises TlsRefused if one cannot be used.

        Files that are written one after the other do not match for a moment: then only this connection fails.
        """
        named = {
            "ssl_ca_file": self._files.authorities,
            "ssl_certificate_file": self._files.certificate,
            "ssl_key_file": self._files.key,
        }
        versions = tuple(_version(option, path) for option, path in named.items() if path is not None)
        if self._context is None or versions != self._versions:
            self._context = self._load()
            self._versions = versions
        return self._context

    def _load(self) -> ssl.SSLContext:
        files = self._files
        option, path = "ssl_ca_file", files.authorities
        try:
            context = ssl.create_default_context(cafile=files.authorities)
            context.check_hostname = files.verify_hostname
            if files.certificate is not None:
                option, path = "ssl_certificate_file", files.certificate
                # Without a password, OpenSSL would prompt for one on the terminal.
                password = files.key_password.reveal() if files.key_password else ""
                context.load_cert_chain(files.certificate, files.key, password)
        except SecretUnavailable as error:
            raise TlsRefused(f"kafka.ssl_key_password: {error.what}", error.advice, ExitCode.USAGE) from None
        except (ssl.SSLError, OSError) as error:
            raise _unusable(option, path, error) from error
        return context


def _version(option: str, path: Path) -> _Version:
    """Return what changes with the content of a file; links, as Kubernetes mounts them, are followed."""
    try:
        found = path.stat()
    except OSError as error:
        raise _unusable(option, path, error) from error
    return found.st_ino, found.st_mtime_ns, found.st_size


def _unusable(option: str, path: Path | None, error: OSError) -> TlsRefused:
    reason = error.strerror or str(error)
    return TlsRefused(f"kafka.{option} = {str(path)!r} cannot be used: {reason}", _ADVICE, ExitCode.USAGE)
