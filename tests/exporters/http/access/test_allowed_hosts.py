"""Hosts: which names a request may have, by where it arrives."""

import asyncio
from typing import Any

import pytest

from exporters.http.access.require_login import AllowedHosts
from exporters.http.access.web_access import Credentials
from tests.stream.health.tables import wrong

LOOPBACK, POD = "127.0.0.1", "10.1.2.3"
LOGIN = Credentials(token=b"token-1")
CONFIGURED = ("monitor.example.com.", "*.kafka.svc")
STORIES: dict[str, tuple[Any, ...]] = {
    # Address of the server, the header, configured names, credentials, perhaps the path, and the status.
    "a page of another name (DNS rebinding)": (LOOPBACK, "rebound.example:10848", (), Credentials(), 421),
    "the same by IPv6": ("::1", "rebound.example", (), Credentials(), 421),
    "the same by IPv4 in IPv6": ("::ffff:127.0.0.1", "rebound.example", (), Credentials(), 421),
    "a name that only begins like localhost": (LOOPBACK, "localhost.example", (), Credentials(), 421),
    "localhost, as by kubectl port-forward": (LOOPBACK, "localhost:8080", (), Credentials(), 200),
    "a name below localhost": (LOOPBACK, "lagwarden.LOCALHOST.", (), Credentials(), 200),
    "the name of the machine": (LOOPBACK, "Node-7:10848", (), Credentials(), 200),
    "its whole name": (LOOPBACK, "node-7.lan", (), Credentials(), 200),
    "its name in the hosts file": ("127.0.1.1", "node-7.example.com", (), Credentials(), 200),
    "an address": (LOOPBACK, "127.0.0.1:10848", (), Credentials(), 200),
    "an IPv6 address": ("::1", "[::1]:10848", (), Credentials(), 200),
    "no header, as in HTTP/1.0": (LOOPBACK, None, (), Credentials(), 200),
    "an instance with a login, which pages cannot have": (LOOPBACK, "proxy.example", (), LOGIN, 200),
    "a Service": (POD, "lagwarden.kafka.svc:10848", (), Credentials(), 200),
    "an Ingress": (POD, "monitor.example.com", (), Credentials(), 200),
    "the address of a pod": (POD, "10.1.2.3:10848", CONFIGURED, Credentials(), 200),
    "a configured name": (LOOPBACK, "monitor.example.com", CONFIGURED, Credentials(), 200),
    "a configured pattern": (POD, "lagwarden.kafka.svc:10848", CONFIGURED, LOGIN, 200),
    "another name than those configured": (POD, "rebound.example", CONFIGURED, LOGIN, 421),
    "a probe with a header of its own": (POD, "probe.example", CONFIGURED, Credentials(), "/readyz", 200),
    "a server without an address": (None, "rebound.example", (), Credentials(), 200),
}


def test_only_hosts_of_the_server_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused request is counted and gets an error that names the option."""
    monkeypatch.setattr("socket.gethostname", lambda: "node-7.lan")
    monkeypatch.setattr("socket.getfqdn", lambda: "Node-7.example.com")

    def status(
        server: str | None, host: str | None, names: tuple[str, ...], valid: Credentials, path: str = "/"
    ) -> int:
        sent: list[Any] = []
        refused: list[None] = []

        async def answer(_scope: Any, _receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})

        async def send(message: Any) -> None:
            sent.append(message)

        app = AllowedHosts(answer, names, lambda: valid, lambda: refused.append(None))
        headers = [] if host is None else [(b"host", host.encode())]
        scope = {"type": "http", "path": path, "headers": headers, "server": server and (server, 10848)}
        asyncio.run(app(scope, None, send))  # type: ignore[arg-type]
        assert len(refused) == (sent[0]["status"] == 421)
        assert not refused or b"http.allowed_hosts" in sent[1]["body"]
        return int(sent[0]["status"])

    assert wrong(STORIES, status) == []
