"""The web configuration file: TLS and users, in the format that Prometheus and its exporters share.

Source: https://prometheus.io/docs/prometheus/latest/configuration/https/ and prometheus/exporter-toolkit. What this
server cannot do is refused, so that no setting of the file is silently without effect.
"""

import dataclasses
import re
import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

_TLS: Final = "tls_server_config"
_USERS: Final = "basic_auth_users"
_BCRYPT: Final = re.compile(r"\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}")
_VERSIONS: Final = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH: Final = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
"""The values of Go's `tls.ClientAuthType` that Python's ssl module can apply."""


class WebConfigError(ValueError):
    """The file, or a file that it names, cannot be used; the text is one line without secrets."""


@dataclasses.dataclass(frozen=True, slots=True)
class TlsSettings:
    """The section `tls_server_config`, with absolute paths."""

    cert_file: Path
    key_file: Path
    client_ca_file: Path | None = None
    client_auth: ssl.VerifyMode = ssl.CERT_NONE
    min_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    max_version: ssl.TLSVersion | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the section names."""
        return tuple(file for file in (self.cert_file, self.key_file, self.client_ca_file) if file is not None)

    def context(self) -> ssl.SSLContext:
        """Return a context with the certificates as the files have them now. Raises WebConfigError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self.min_version
        if self.max_version is not None:
            context.maximum_version = self.max_version
        for key, file in (("cert_file", self.cert_file), ("key_file", self.key_file)):
            _check_readable(f"{_TLS}.{key}", file)
        try:
            context.load_cert_chain(self.cert_file, self.key_file, _no_password)
        except (OSError, _PasswordNeededError) as error:  # ssl.SSLError is among them; or a file was just replaced
            what = getattr(error, "reason", None) or getattr(error, "strerror", None) or "the key is encrypted"
            raise WebConfigError(
                f"{_TLS}: {self.cert_file} and {self.key_file} are not a certificate and its key: {what}"
            ) from error
        if self.client_ca_file is not None:
            _check_readable(f"{_TLS}.client_ca_file", self.client_ca_file)
            try:
                context.load_verify_locations(self.client_ca_file)
            except OSError as error:  # ssl.SSLError is among them
                raise WebConfigError(f"{_TLS}.client_ca_file: {self.client_ca_file} has no certificate") from error
        context.verify_mode = self.client_auth
        return context


@dataclasses.dataclass(frozen=True, slots=True)
class WebConfig:
    """The content of a web configuration file."""

    tls: TlsSettings | None = None
    users: Mapping[str, bytes] = dataclasses.field(default_factory=dict, repr=False)
    """The bcrypt hash of the password of each user; without users, no login is needed."""


def read_web_config(file: Path) -> WebConfig:
    """Return the content of a file; paths in it are relative to its folder. Raises WebConfigError."""
    _check_readable("the web configuration", file)
    try:
        content = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        # The text of a YAML error quotes the file, which has hashes.
        raise WebConfigError(f"{file} is not YAML") from error
    sections = _section(str(file), {} if content is None else content, {_TLS, _USERS, "http_server_config"})
    if sections.get("http_server_config"):
        raise WebConfigError(f"{file}: http_server_config is not supported")
    tls = sections.get(_TLS)
    users = sections.get(_USERS)
    return WebConfig(None if tls is None else _tls(tls, file.absolute().parent), {} if users is None else _users(users))


def _tls(content: object, folder: Path) -> TlsSettings:
    names = {"cert_file", "key_file", "client_ca_file", "client_auth_type", "min_version", "max_version"}
    section = _section(_TLS, content, names)
    for name in ("cert_file", "key_file"):
        if not section.get(name):
            raise WebConfigError(f"{_TLS}.{name} is missing")
    client_ca = section.get("client_ca_file")
    client_auth = _choice("client_auth_type", section.get("client_auth_type") or "NoClientCert", _CLIENT_AUTH)
    if client_auth is not ssl.CERT_NONE and not client_ca:
        raise WebConfigError(f"{_TLS}.client_ca_file is missing: client_auth_type needs it")
    max_version = section.get("max_version")
    return TlsSettings(
        folder / str(section["cert_file"]),
        folder / str(section["key_file"]),
        folder / str(client_ca) if client_ca else None,
        client_auth,
        _choice("min_version", section.get("min_version") or "TLS12", _VERSIONS),
        None if max_version is None else _choice("max_version", max_version, _VERSIONS),
    )


def _users(content: object) -> dict[str, bytes]:
    if not isinstance(content, dict):
        raise WebConfigError(f"{_USERS} must map names of users to bcrypt hashes")
    for name, digest in content.items():
        if not isinstance(name, str) or ":" in name:
            raise WebConfigError(f"{_USERS}: {name!r} is not a user name")
        if not isinstance(digest, str) or not _BCRYPT.fullmatch(digest):
            raise WebConfigError(
                f"{_USERS}: the value of {name} is not a bcrypt hash; `htpasswd -nB {name}` prints one"
            )
    return {name: digest.encode() for name, digest in content.items()}


def _section(where: str, content: object, names: Iterable[str]) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise WebConfigError(f"{where} must have named settings")
    for name in content:
        if name not in names:
            raise WebConfigError(f"{where}: {name} is not supported")
    return content


def _choice(name: str, value: object, choices: Mapping[str, Any]) -> Any:
    if not isinstance(value, str) or value not in choices:
        raise WebConfigError(f"{_TLS}.{name}: {value} is not supported; one of {', '.join(choices)}")
    return choices[value]


def _check_readable(what: str, file: Path) -> None:
    try:
        with file.open("rb"):
            pass
    except OSError as error:
        raise WebConfigError(f"{what}: {file} cannot be read: {error.strerror}") from error


class _PasswordNeededError(Exception):
    """The private key is encrypted, and its password is not known."""


def _no_password() -> str:
    """Stop `load_cert_chain` from asking on the terminal."""
    raise _PasswordNeededError
