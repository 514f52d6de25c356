"""Requests for another host get 421: a page of a name that resolves to 127.0.0.1 would read an instance on loopback.

A browser sends the name of the page as `Host` (DNS rebinding). Addresses and `localhost` cannot be such names. Without
configured names, only requests that arrive on a loopback address and need no login are checked, so that names of
Services, of an Ingress and of hosts work.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import socket
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

    from exporters.http.access.web_access import Credentials


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
        self._names = [name.lower() for name in names]
        self._credentials = credentials
        self._on_refusal = on_refusal
        machine = socket.gethostname().lower()
        self._always = {"localhost", "*.localhost", machine, machine.partition(".")[0], *self._names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it."""
        host = Headers(scope=scope).get("host", "") if scope["type"] == "http" else ""
        name = host_name(host)
        if not host or not self._is_checked(scope) or _is_address(name) or self._is_known(name):
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

    def _is_known(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, known) for known in self._always)


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
