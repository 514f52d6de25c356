"""A token is renewed before it expires, once for all connections, and is used while the endpoint is unavailable."""

import threading

import pytest
from structlog.testing import capture_logs

from stream.cluster.transport.errors import LoginUnavailable
from stream.cluster.transport.login.tokens import RenewedToken, Token

AWAY = LoginUnavailable("the endpoint is away", "wait")


class Endpoint:
    """A token endpoint with a clock; `answer` is the next token's lifetime in seconds, or an error."""

    def __init__(self, lifetime: float | None = 100.0) -> None:
        self.now = 1000.0
        self.requests = 0
        self.answer: float | LoginUnavailable | None = lifetime
        self.token = RenewedToken(self.fetch, lambda: self.now)

    def fetch(self) -> Token:
        self.requests += 1
        if isinstance(self.answer, LoginUnavailable):
            raise self.answer
        return Token(f"token-{self.requests}", None if self.answer is None else self.now + self.answer)

    def got(self, after: float = 0.0) -> str:
        """Return the token that a login gets after some seconds."""
        self.now += after
        return self.token.get().text


def test_a_token_is_used_for_four_fifths_of_its_lifetime() -> None:
    """The first login at 80 % of the lifetime gets a new token; KIP-368 repeats a login later, at 85 %."""
    endpoint = Endpoint()
    assert [endpoint.got(), endpoint.got(79), endpoint.got(1), endpoint.got(79)] == [
        *("token-1", "token-1"),
        *("token-2", "token-2"),
    ]


def test_a_valid_token_is_used_while_the_endpoint_is_away() -> None:
    """The old token is used until it expires; the failure is logged once, with the time of expiration."""
    endpoint = Endpoint()
    endpoint.got()
    endpoint.answer = AWAY
    with capture_logs() as lines:
        assert endpoint.got(85) == "token-1"
        assert endpoint.got(10) == "token-1"
    assert [(line["event"], line["valid_until"]) for line in lines] == [("token not renewed", 1100.0)]
    with pytest.raises(LoginUnavailable, match="away"):
        endpoint.got(5)
    endpoint.answer = 100.0
    assert endpoint.got(3) == "token-5"


def test_failed_requests_are_not_repeated_at_once() -> None:
    """Fifty connections without a token send one request in three seconds and get the same error."""
    endpoint = Endpoint()
    endpoint.answer = AWAY
    for _ in range(50):
        with pytest.raises(LoginUnavailable, match="away"):
            endpoint.got(0.05)
    assert endpoint.requests == 1
    endpoint.answer = 100.0
    assert endpoint.got(3) == "token-2"


def test_a_refused_token_is_replaced() -> None:
    """A new token is requested three seconds after the last request; a late refusal of the old token is ignored.

    Without a new token, the error names the endpoint as the cause, not the refused token.
    """
    endpoint = Endpoint()
    refused = endpoint.token.get()
    endpoint.token.refuse(refused)
    assert endpoint.got(1) == "token-1"
    assert endpoint.got(2) == "token-2"
    endpoint.token.refuse(refused)
    assert endpoint.got(10) == "token-2"
    endpoint.token.refuse(endpoint.token.get())
    endpoint.answer = AWAY
    with pytest.raises(LoginUnavailable, match="away"):
        endpoint.got(3)


def test_a_token_without_a_lifetime_is_used_once() -> None:
    """An opaque token without `expires_in`, or one of half a second, is not kept for the next login."""
    for endpoint in (Endpoint(None), Endpoint(0.5)):
        assert [endpoint.got(), endpoint.got(1)] == ["token-1", "token-2"]


def test_one_request_at_a_time() -> None:
    """Connections that log in at the same moment share one request."""
    endpoint = Endpoint()
    barrier = threading.Barrier(8)
    got: list[str] = []

    def log_in() -> None:
        barrier.wait()
        got.append(endpoint.got())

    threads = [threading.Thread(target=log_in) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (got, endpoint.requests) == (["token-1"] * 8, 1)
