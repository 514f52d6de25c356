"""The web configuration in force, which follows its files while the server runs."""

import dataclasses
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from exporters.http.access.web_config import WebConfig, WebConfigError, read_web_config

_CHECK_SECONDS: Final = 1.0
_MOST_READS: Final = 3
_Version = tuple[int, int, int] | None


@dataclasses.dataclass(frozen=True, slots=True)
class Credentials:
    """What a client may send to prove that it may read. Empty: everybody may read."""

    users: Mapping[str, bytes] = dataclasses.field(default_factory=dict, repr=False)
    """The bcrypt hash of the password of each user."""
    token: bytes | None = dataclasses.field(default=None, repr=False)
    """A bearer token."""

    @property
    def needed(self) -> bool:
        """True if a client must send some."""
        return bool(self.users) or self.token is not None


class WebAccess:
    """The certificates, users and token of the files, read again when a file changes. Thread-safe.

    A changed file that cannot be used leaves the previous content in force. TLS is not switched on or off while the
    server runs: a client that expects it would send its password in clear text. Nor does a server that has users or
    needs a client certificate go on without: a file that is written in part may be valid.
    """

    def __init__(
        self,
        config_file: Path | None = None,
        token_file: Path | None = None,
        *,
        on_fault: Callable[[str], None] = lambda _: None,
        on_reload: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the files. `on_fault` receives why a changed file cannot be used. Raises WebConfigError."""
        self._config_file = config_file
        self._token_file = token_file
        self._on_fault = on_fault
        self._on_reload = on_reload
        self._clock = clock
        self._lock = threading.Lock()
        self._checked_at = clock()
        self._config = WebConfig()
        self._versions: tuple[_Version, ...] = ()
        self._context: ssl.SSLContext | None
        self._credentials: Credentials
        self._load_current()

    @property
    def has_tls(self) -> bool:
        """True if the server speaks TLS."""
        return self._config.tls is not None

    def tls_context(self) -> ssl.SSLContext | None:
        """Return the context for a new connection; None without TLS."""
        self._follow_files()
        return self._context

    def credentials(self) -> Credentials:
        """Return the credentials that are valid now."""
        self._follow_files()
        return self._credentials

    def _follow_files(self) -> None:
        with self._lock:
            now = self._clock()
            if now - self._checked_at < _CHECK_SECONDS:
                return
            self._checked_at = now
            if self._current_versions() == self._versions:
                return
            try:
                self._load_current()
            except WebConfigError as error:
                self._on_fault(str(error))
                return
            self._on_reload()

    def _load_current(self) -> None:
        """Read the files, and again if one has changed meanwhile. Raises WebConfigError.

        The new content may name other files, whose versions are not known before it was read.
        """
        for _ in range(_MOST_READS):
            # Before the reading: what changes later has another version, and the next check reads it.
            self._versions = self._current_versions()
            self._load()
            if self._current_versions() == self._versions:
                return

    def _load(self) -> None:
        """Read the files into this object. Raises WebConfigError, and then nothing has changed."""
        config = WebConfig() if self._config_file is None else read_web_config(self._config_file)
        is_first = not hasattr(self, "_context")
        if not is_first and (config.tls is None) != (self._config.tls is None):
            raise WebConfigError("TLS can be switched on or off by a restart only")
        context = None if config.tls is None else config.tls.context()
        credentials = Credentials(config.users, None if self._token_file is None else _read_token(self._token_file))
        if not is_first:
            if self._credentials.users and not credentials.users:
                raise WebConfigError("there are no users any more: their logins can be switched off by a restart only")
            if _needs_certificate(self._context) and not _needs_certificate(context):
                raise WebConfigError("client certificates can be switched off by a restart only")
        self._config, self._context, self._credentials = config, context, credentials

    def _current_versions(self) -> tuple[_Version, ...]:
        files = [self._config_file, self._token_file, *(self._config.tls.files if self._config.tls else ())]
        return tuple(file_version(file) for file in files if file is not None)


def _needs_certificate(context: ssl.SSLContext | None) -> bool:
    return context is not None and context.verify_mode is ssl.CERT_REQUIRED


def _read_token(file: Path) -> bytes:
    try:
        token = file.read_bytes().strip()
    except OSError as error:
        raise WebConfigError(f"the token: {file} cannot be read: {error.strerror}") from error
    if not token or len(token.split()) > 1:
        raise WebConfigError(f"the token: {file} must have one word")
    return token


def file_version(file: Path) -> _Version:
    """Return what changes when a file is written or replaced; None if it cannot be read."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
