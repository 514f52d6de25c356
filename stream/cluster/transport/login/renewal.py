"""A token that is used until four fifths of its lifetime are over, then renewed, one request at a time."""

import threading
import time
from collections.abc import Callable
from typing import Final

import structlog

from stream.cluster.transport.errors import ClusterError
from stream.cluster.transport.login.jwt import Token

_log = structlog.get_logger(__name__)
_RENEWED_AFTER: Final = 0.8
"""The part of its lifetime that a token is used. A connection logs in again after 85 % of its session (KIP-368), which
is never longer than its token lives: it then gets a new token."""
_PAUSE_SECONDS: Final = 3.0
"""The minimum interval between two requests after a failure or a refused token, for all connections together."""


class RenewedToken:
    """The current token of one login, shared by all connections of the process. Any thread may call it; `get` blocks.

    `fetch` returns a new token or raises ClusterError.
    """

    def __init__(self, fetch: Callable[[], Token], clock: Callable[[], float] = time.time) -> None:
        self._fetch = fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._token: Token | None = None
        self._renew_at = 0.0
        self._is_refused = False
        self._tried_at = 0.0
        self._error: ClusterError | None = None

    def get(self) -> Token:
        """Return a token that has not expired, renewed if its time has come. Raises ClusterError if there is none.

        If the request for a new token fails, the old one is used as long as it is valid.
        """
        with self._lock:
            now = self._clock()
            if (self._token is None or now >= self._renew_at) and not self._is_pausing(now):
                self._renew(now)
            is_valid = self._token is not None and (self._token.expires_at is None or now < self._token.expires_at)
            if self._error is not None and (self._is_refused or not is_valid):
                raise self._error
            assert self._token is not None  # noqa: S101 -- without a token there is an error
            return self._token

    def refuse(self, token: Token) -> None:
        """Record that a broker refuses the token: the next login gets another one."""
        with self._lock:
            if token is self._token:
                self._is_refused = True
                self._renew_at = 0.0

    def _is_pausing(self, now: float) -> bool:
        failed = self._error is not None or self._is_refused
        return failed and 0 <= now - self._tried_at < _PAUSE_SECONDS

    def _renew(self, now: float) -> None:
        self._tried_at = now
        try:
            token = self._fetch()
        except ClusterError as error:
            if self._token is not None and self._error is None:
                _log.warning("token not renewed", cause=str(error), valid_until=self._token.expires_at)
            self._error = error
            return
        lifetime = 0.0 if token.expires_at is None else token.expires_at - now
        self._token, self._error, self._is_refused = token, None, False
        self._renew_at = now + _RENEWED_AFTER * lifetime
