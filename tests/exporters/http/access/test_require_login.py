"""Logins: which requests are answered, and what a client without valid credentials learns."""

import asyncio
import base64
from collections.abc import Iterable
from typing import Any

import bcrypt
import pytest

from exporters.http.access import require_login
from exporters.http.access.require_login import RequireLogin
from exporters.http.access.web_access import Credentials

USERS = {
    "alice": bcrypt.hashpw(b"wonder:land", bcrypt.gensalt(4)),
    "zo\u00eb": bcrypt.hashpw(b"\xc3\xa9", bcrypt.gensalt(4)),
}
BOTH = Credentials(USERS, b"token-1")


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


class Server:
    """The middleware in front of an application that answers 200; counts refusals and checks of hashes."""

    def __init__(self, credentials: Credentials, monkeypatch: pytest.MonkeyPatch) -> None:
        self.credentials = credentials
        self.refused = self.checks = 0
        check = require_login._check

        def counted(*login: Any) -> bool:
            self.checks += 1
            return check(*login)

        monkeypatch.setattr(require_login, "_check", counted)
        self._app = RequireLogin(self._answer, lambda: self.credentials, self._refuse)

    def _refuse(self) -> None:
        self.refused += 1

    async def _answer(self, _scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def get(self, header: str | None, path: str = "/metrics", client: str = "10.0.0.1") -> tuple[int, str]:
        """Send a request; returns the status and the challenge."""
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [] if header is None else [(b"authorization", header.encode())]
        scope = {"type": "http", "path": path, "method": "GET", "headers": headers, "client": (client, 1)}
        await self._app(scope, None, send)  # type: ignore[arg-type]
        start = dict(sent[0]["headers"])
        return sent[0]["status"], start.get(b"www-authenticate", b"").decode()

    def run(self, headers: Iterable[str | None], path: str = "/metrics") -> list[int]:
        """Send requests one after the other; returns the status of each."""

        async def every() -> list[int]:
            return [(await self.get(header, path))[0] for header in headers]

        return asyncio.run(every())


VALID = {
    "user and password": basic("alice", "wonder:land"),
    "user and password in UTF-8": basic("zo\u00eb", "\u00e9"),
    "scheme in lower case": "basic " + basic("alice", "wonder:land").split()[1],
    "token": "Bearer token-1",
    "token with blanks around it": "bearer  token-1 ",
}
INVALID = {
    "no header": None,
    "wrong password": basic("alice", "wonderland"),
    "unknown user": basic("bob", "wonder:land"),
    "password of more than 72 bytes": basic("alice", "x" * 73),
    "user without a password": "Basic YWxpY2U=",
    "not base64": "Basic !!!",
    "not UTF-8": "Basic /w==",
    "not ASCII": "Basic \u00e9",
    "token that is not ASCII": "Bearer \u00e9",
    "wrong token": "Bearer token-2",
    "empty token": "Bearer ",
    "another scheme": "Digest token-1",
}


def test_only_valid_credentials_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request with valid credentials gets 200, any other request gets 401, and refusals are counted."""
    server = Server(BOTH, monkeypatch)
    assert [story for story, header in VALID.items() if server.run([header]) != [200]] == []
    assert server.refused == 0
    assert [story for story, header in INVALID.items() if server.run([header]) != [401]] == []
    assert server.refused == len(INVALID)


def test_only_probes_need_no_login(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kubelet sends no credentials. Every other path needs a login, unless neither users nor a token exist."""
    server = Server(BOTH, monkeypatch)
    assert [server.run([None], path) for path in ("/livez", "/readyz")] == [[200]] * 2
    paths = ("/livez/", "/readyz/x", "/", "/api/v1/groups", "/groups/a", "/page.css")
    assert [server.run([None], path) for path in paths] == [[401]] * 6
    assert Server(Credentials(), monkeypatch).run([None, "Bearer x", basic("a", "b")]) == [200, 200, 200]


def test_a_right_password_is_checked_once_and_a_wrong_one_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hash takes 50 ms on purpose, and a scraper sends its password every few seconds.

    Each wrong password is hashed, so that a user who does not exist takes the same time as one who does.
    """
    server = Server(BOTH, monkeypatch)
    assert server.run([basic("alice", "wonder:land")] * 5) == [200] * 5
    assert server.checks == 1
    assert server.run([basic("alice", "no"), basic("alice", "no"), basic("bob", "no")]) == [401] * 3
    assert server.checks == 4


def test_every_login_checks_a_hash_of_each_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who exists does not show in the time: users of any cost, and those who do not exist, need the same checks."""
    users = {**USERS, "carol": bcrypt.hashpw(b"c", bcrypt.gensalt(5))}
    check, costs = bcrypt.checkpw, list[bytes]()

    def recorded(password: bytes, digest: bytes) -> bool:
        costs.append(digest[4:6])
        return check(password, digest)

    monkeypatch.setattr(bcrypt, "checkpw", recorded)
    for name, password, status in (("alice", "no", 401), ("carol", "no", 401), ("bob", "no", 401), ("carol", "c", 200)):
        assert Server(Credentials(users), monkeypatch).run([basic(name, password)]) == [status]
        assert sorted(costs) == [b"04", b"05"]
        costs.clear()


def test_changed_credentials_apply_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A removed user is refused although the password was right before."""
    server = Server(BOTH, monkeypatch)

    async def requests() -> list[int]:
        first, _ = await server.get(basic("alice", "wonder:land"))
        server.credentials = Credentials({}, b"token-1")
        second, _ = await server.get(basic("alice", "wonder:land"))
        return [first, second]

    assert asyncio.run(requests()) == [200, 401]


def test_flood_of_wrong_passwords_leaves_places_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks of wrong passwords wait for each other, and more than four of an address get 503.

    A known client does not wait, and a new one at another address has a place.
    """
    server = Server(BOTH, monkeypatch)
    good, new = basic("alice", "wonder:land"), basic("zo\u00eb", "\u00e9")

    async def requests() -> tuple[int, int, list[int]]:
        await server.get(good)
        guessers = ("10.0.0.2", "10.0.0.3", "10.0.0.4")
        flood = [asyncio.create_task(server.get(basic("alice", str(at)), client=guessers[at % 3])) for at in range(30)]
        await asyncio.sleep(0)
        known, _ = await server.get(good)
        assert not any(task.done() and task.result()[0] == 401 for task in flood)
        newcomer, _ = await server.get(new, client="10.0.0.5")
        return known, newcomer, [(await task)[0] for task in flood]

    known, newcomer, flood = asyncio.run(requests())
    assert (known, newcomer) == (200, 200)
    assert sorted(flood) == [401] * 8 + [503] * 22
