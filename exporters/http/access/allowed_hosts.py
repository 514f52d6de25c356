"""Requests for another host get 421: a page of a name that resolves to 127.0.0.1 would read an instance on loopback.

A browser sends the name of the page as `Host` (DNS rebinding). Addresses and `localhost` cannot be such names. Without
configured names, only requests that arrive on a loopback address and need no login are checked, so that names of
Services, of an Ingress and of hosts work. Probes are never refused, as they need no login.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import anyio
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from exporters.http.access.web_access import Credentials
from exporters.http.admission import PROBES

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


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
