"""Requests without valid credentials get 401. Liveness and readiness need none: kubelets send none.

Requests for another host get 421: a page of a name that resolves to 127.0.0.1 would read an instance on loopback. A
browser sends the name of the page as `Host` (DNS rebinding). Addresses and `localhost` cannot be such names. Without
configured names, only requests that arrive on a loopback address and need no login are checked, so that names of
Services, of an Ingress and of hosts work. Probes are never refused, as they need no login.
"""

import base64
import fnmatch
import hashlib
import hmac
import ipaddress
import secrets
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import anyio
import bcrypt
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from exporters.http.access.web_access import Credentials
from exporters.http.admission import PROBES, RequestLimits, RunningRequests

_KEPT_LOGINS: Final = 256
_WAITING: Final = RequestLimits(total=8, per_address=4, reserve=8)
"""Passwords that wait for their check."""
_REST_PER_CHECK: Final = 4.0
"""After a wrong password no other one is checked for this many times the duration of the check."""
_COST: Final = slice(4, 6)
"""Where a bcrypt hash has the logarithm of its cost."""
_NO_PASSWORD: Final = b"." * 53
"""Salt and digest of a hash that no password has."""


class RequireLogin:
    """ASGI middleware that answers 401 to requests without a valid user and password, or token.

    Checking a bcrypt hash takes some 50 ms of CPU on purpose. Passwords that were right are therefore remembered as a
    keyed hash until the credentials change, wrong ones are checked one at a time with rests, and a request that would
    have to wait behind too many others, above all of its own address, gets 503. A scraper that is known never waits.
    """

    def __init__(
        self, app: ASGIApp, credentials: Callable[[], Credentials], on_refusal: Callable[[], None] = lambda: None
    ) -> None:
        """`credentials` returns the valid ones. `on_refusal` is called for each refused request."""
        self._app = app
        self._credentials = credentials
        self._on_refusal = on_refusal
        self._key = secrets.token_bytes(32)
        self._known: dict[bytes, None] = {}
        self._known_for: Credentials | None = None
        self._one_check = anyio.Semaphore(1)
        self._waiting = RunningRequests(_WAITING)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it."""
        valid = self._credentials()
        if scope["type"] != "http" or not valid.needed or scope["path"] in PROBES:
            await self._app(scope, receive, send)
            return
        scheme, _, sent = Headers(scope=scope).get("authorization", "").partition(" ")
        accepted: bool | None = False
        if scheme.lower() == "bearer" and valid.token is not None:
            accepted = hmac.compare_digest(sent.strip().encode(), valid.token)
        elif scheme.lower() == "basic" and valid.users:
            accepted = await self._is_user(sent.strip(), valid, scope)
        if accepted:
            await self._app(scope, receive, send)
            return
        self._on_refusal()
        if accepted is None:
            refusal = JSONResponse({"error": "too many logins at once"}, 503, {"retry-after": "1"})
        else:
            basic = ['Basic realm="lagwarden", charset="UTF-8"'] if valid.users else []
            bearer = ['Bearer realm="lagwarden"'] if valid.token is not None else []
            refusal = JSONResponse({"error": "login required"}, 401, {"www-authenticate": ", ".join(basic + bearer)})
        await refusal(scope, receive, send)

    async def _is_user(self, encoded: str, valid: Credentials, scope: Scope) -> bool | None:
        """Return whether these are a user and the password; None if too many others are being checked."""
        if self._known_for != valid:
            self._known_for = valid
            self._known.clear()
        try:
            name, colon, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except ValueError:  # not base64, not ASCII, or not UTF-8
            return False
        if not colon:
            return False
        digest = hmac.digest(self._key, encoded.encode(), hashlib.sha256)
        if digest in self._known:
            return True
        with self._waiting.admitted(scope) as is_admitted:
            if not is_admitted:
                return None
            async with self._one_check:
                began = time.monotonic()
                right = await anyio.to_thread.run_sync(_check, password, name, valid.users)
                if not right:
                    await anyio.sleep((time.monotonic() - began) * _REST_PER_CHECK)
        if right and self._known_for == valid:
            if len(self._known) >= _KEPT_LOGINS:
                self._known.pop(next(iter(self._known)))
            self._known[digest] = None
        return right


def _check(password: str, name: str, users: Mapping[str, bytes]) -> bool:
    """Return whether a user exists and has this password. A password longer than 72 bytes is never right.

    A hash of each cost among the users is checked, so that the time does not tell who exists.
    """
    digest = users.get(name, b"")
    hashes = {known[_COST]: b"$2b$%b$%b" % (known[_COST], _NO_PASSWORD) for known in users.values()}
    if digest:
        hashes[digest[_COST]] = digest
    try:
        return digest in [each for each in hashes.values() if bcrypt.checkpw(password.encode(), each)]
    except ValueError:
        return False


class AllowedHosts:
    """ASGI middleware that answers 421 to requests with a `Host` that is not one of this server."""

    def __init__(
        self,
        app: ASGIApp,
        names: Sequence[str],
        credentials: Callable[[], Credentials],
        on_refusal: Callable[[], None] = lambda: None,
    ) -> None:
        """`names` are configured; `*` in them stands for any text. `on_refusal` is called for each refused request."""
        self._app = app
        self._names = [name.lower().removesuffix(".") for name in names]
        self._credentials = credentials
        self._on_refusal = on_refusal
        self._domain_name: str | None = None
        machine = socket.gethostname().lower()
        self._always = {"localhost", "*.localhost", machine, machine.partition(".")[0], *self._names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it."""
        is_covered = scope["type"] == "http" and scope["path"] not in PROBES
        host = Headers(scope=scope).get("host", "") if is_covered else ""
        name = host_name(host)
        if not host or not self._is_checked(scope) or _is_address(name) or await self._is_known(name):
            await self._app(scope, receive, send)
            return
        self._on_refusal()
        error = f"the host {name} is not one of this server; http.allowed_hosts (docs/http.md) adds it"
        await JSONResponse({"error": error}, 421)(scope, receive, send)

    def _is_checked(self, scope: Scope) -> bool:
        server = scope.get("server")
        return bool(self._names) or (
            not self._credentials().needed and server is not None and _is_address(server[0], loopback=True)
        )

    async def _is_known(self, name: str) -> bool:
        if any(fnmatch.fnmatchcase(name, known) for known in self._always):
            return True
        if self._domain_name is None:  # of a loopback address in the hosts file of Debian; may need a name server
            self._domain_name = (await anyio.to_thread.run_sync(socket.getfqdn)).lower()
        return name == self._domain_name


def host_name(host: str) -> str:
    """Return the name or address in a `Host` header, in lower case, without port, brackets and final dot."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return name.lower().removesuffix(".")


def _is_address(name: str, *, loopback: bool = False) -> bool:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return not loopback or mapped.is_loopback
