"""Logins: which requests are answered, and what a client without valid credentials learns."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

import bcrypt
import pytest

from exporters.http.access import require_login
from exporters.http.access.require_login import RequireLogin
from exporters.http.access.web_access import Credentials

if TYPE_CHECKING:
    from collections.abc import Iterable

USERS = {
    "alice": bcrypt.hashpw(b"wonder:land", bcrypt.gensalt(4)),
    "zo\u00eb": bcrypt.hashpw(b"\xc3\xa9", bcrypt.gensalt(4)),
}
BOTH = Credentials(USERS, b"token-1")


def basic(name: str, password: str) -> str:
    """Return the header of a user and a password."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


class Server:
    """The middleware in front of an application that answers 200; counts refusals and checks of hashes."""

    def __init__(self, credentials: Credentials, monkeypatch: pytest.MonkeyPatch) -> None:
        self.credentials = credentials
        self.refused = self.checks = 0
        check = require_login._check

        def counted(password: str, digest: bytes | None) -> bool:
            self.checks += 1
            return check(password, digest)

        monkeypatch.setattr(require_login, "_check", counted)
        self._app = RequireLogin(self._answer, lambda: self.credentials, self._refuse)

    def _refuse(self) -> None:
        self.refused += 1

    async def _answer(self, _scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def get(self, header: str | None, path: str = "/metrics") -> tuple[int, str]:
        """Send a request; returns the status and the challenge."""
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [] if header is None else [(b"authorization", header.encode())]
        await self._app({"type": "http", "path": path, "method": "GET", "headers": headers}, None, send)  # type: ignore[arg-type]
        start = dict(sent[0]["headers"])
        return sent[0]["status"], start.get(b"www-authenticate", b"").decode()

    def run(self, headers: Iterable[str | None], path: str = "/metrics") -> list[int]:
        """Send requests one after the other; returns the status of each."""

        async def every() -> list[int]:
            return [(await self.get(header, path))[0] for header in headers]

        return asyncio.run(every())


@pytest.mark.parametrize(
    ("header", "status"),
    [
        pytest.param(basic("alice", "wonder:land"), 200, id="user and password"),
        pytest.param(basic("zo\u00eb", "\u00e9"), 200, id="user and password in UTF-8"),
        pytest.param("basic " + basic("alice", "wonder:land").split()[1], 200, id="scheme in lower case"),
        pytest.param("Bearer token-1", 200, id="token"),
        pytest.param("bearer  token-1 ", 200, id="token with blanks around it"),
        pytest.param(None, 401, id="no header"),
        pytest.param(basic("alice", "wonderland"), 401, id="wrong password"),
        pytest.param(basic("bob", "wonder:land"), 401, id="unknown user"),
        pytest.param(basic("alice", "x" * 73), 401, id="password of more than 72 bytes"),
        pytest.param("Basic YWxpY2U=", 401, id="user without a password"),
        pytest.param("Basic !!!", 401, id="not base64"),
        pytest.param("Basic /w==", 401, id="not UTF-8"),
        pytest.param("Basic \u00e9", 401, id="not ASCII"),
        pytest.param("Bearer \u00e9", 401, id="token that is not ASCII"),
        pytest.param("Bearer token-2", 401, id="wrong token"),
        pytest.param("Bearer ", 401, id="empty token"),
        pytest.param("Digest token-1", 401, id="another scheme"),
    ],
)
def test_only_valid_credentials_are_accepted(header: str | None, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request with valid credentials gets 200, any other request gets 401, and refusals are counted."""
    server = Server(BOTH, monkeypatch)
    assert server.run([header]) == [status]
    assert server.refused == (status != 200)


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_probes_need_no_login(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The paths of the probes need no login, because a kubelet sends no credentials."""
    assert Server(BOTH, monkeypatch).run([None], path) == [200]


@pytest.mark.parametrize("path", ["/livez/", "/readyz/x", "/", "/api/v1/groups", "/groups/a", "/page.css"])
def test_all_other_paths_need_a_login(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other path needs a login, even a path that only begins like that of a probe."""
    assert Server(BOTH, monkeypatch).run([None], path) == [401]


def test_a_server_without_credentials_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request is answered if neither users nor a token are configured."""
    assert Server(Credentials(), monkeypatch).run([None, "Bearer x", basic("a", "b")]) == [200, 200, 200]


@pytest.mark.parametrize(
    ("credentials", "challenge"),
    [
        pytest.param(Credentials(USERS), 'Basic realm="lagwarden", charset="UTF-8"', id="users"),
        pytest.param(Credentials(token=b"t"), 'Bearer realm="lagwarden"', id="token"),
        pytest.param(BOTH, 'Basic realm="lagwarden", charset="UTF-8", Bearer realm="lagwarden"', id="both"),
    ],
)
def test_challenge_names_what_is_accepted(
    credentials: Credentials, challenge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The challenge names the accepted schemes: a browser asks for a password only if there are users."""
    assert asyncio.run(Server(credentials, monkeypatch).get(None)) == (401, challenge)


def test_right_password_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A right password is hashed once: a hash takes 50 ms on purpose, and a scraper sends it every few seconds."""
    server = Server(BOTH, monkeypatch)
    assert server.run([basic("alice", "wonder:land")] * 5) == [200] * 5
    assert server.checks == 1


def test_wrong_password_is_checked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wrong password is hashed, so that a user who does not exist takes the same time as one who does."""
    server = Server(BOTH, monkeypatch)
    assert server.run([basic("alice", "no"), basic("alice", "no"), basic("bob", "no")]) == [401] * 3
    assert server.checks == 3


def test_changed_credentials_apply_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A removed user is refused although the password was right before."""
    server = Server(BOTH, monkeypatch)

    async def requests() -> list[int]:
        first, _ = await server.get(basic("alice", "wonder:land"))
        server.credentials = Credentials({}, b"token-1")
        second, _ = await server.get(basic("alice", "wonder:land"))
        return [first, second]

    assert asyncio.run(requests()) == [200, 401]


def test_flood_of_wrong_passwords_does_not_delay_a_known_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks of wrong passwords wait for each other, more than eight get 503, and a known client does not wait."""
    server = Server(BOTH, monkeypatch)
    good = basic("alice", "wonder:land")

    async def requests() -> tuple[int, list[int]]:
        await server.get(good)
        flood = [asyncio.create_task(server.get(basic("alice", str(at)))) for at in range(20)]
        await asyncio.sleep(0)
        known, _ = await server.get(good)
        assert not any(task.done() and task.result()[0] == 401 for task in flood)
        return known, [(await task)[0] for task in flood]

    known, flood = asyncio.run(requests())
    assert known == 200
    assert sorted(flood) == [401] * 8 + [503] * 12
