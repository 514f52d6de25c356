"""One request to a token endpoint: the form, the token, and one error message for each fault."""

import dataclasses
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.certificates import Certificates
from sandbox.kafka.token_issuer import Answer, TokenIssuer
from stream.cluster.transport.errors import LoginRefused, LoginUnavailable
from stream.cluster.transport.login.token_endpoint import fetch_token
from stream.config.kafka_login import ClientCredentialsLogin
from stream.config.secret_sources import SecretFile, SecretValue

CONTROL = "a\x01auth=x"
SECRET = "hunter2+/=: ü"  # noqa: S105 -- with characters that an encoding can break


@pytest.fixture
def issuer() -> Iterator[TokenIssuer]:
    with TokenIssuer("cli:ent", SECRET) as started:
        yield started


def login_at(issuer: TokenIssuer, **changes: Any) -> ClientCredentialsLogin:
    login = ClientCredentialsLogin(issuer.token_endpoint, issuer.client_id, SecretValue(SECRET), timeout=30.0)
    return dataclasses.replace(login, **changes)


def test_client_credentials_give_a_token(issuer: TokenIssuer) -> None:
    """Id and secret are encoded (RFC 6749, section 2.3.1); the claims and the end of the token are known."""
    token = fetch_token(login_at(issuer, scope="kafka read"))
    assert issuer.requests == [{"grant_type": ["client_credentials"], "scope": ["kafka read"]}]
    assert (token.claims["sub"], token.expires_at) == ("cli:ent", float(token.claims["exp"]))


def test_opaque_token(issuer: TokenIssuer) -> None:
    """A token that is not a JWT has the lifetime that the endpoint states, or an unknown one."""
    lifetimes: list[tuple[dict[str, Any], bool]] = [
        ({"expires_in": 60}, True),
        ({}, False),
        ({"expires_in": "x"}, False),
    ]
    for lifetime, expires in lifetimes:
        issuer.answer = lambda lifetime=lifetime: Answer.of(200, access_token="opaque", **lifetime)  # type: ignore[misc]  # noqa: S106
        token = fetch_token(login_at(issuer))
        assert (token.text, token.expires_at is not None, token.claims) == ("opaque", expires, {})


NO_CLIENT = Answer.of(401, error="invalid_client", error_description="no such client")
REDIRECT = Answer(302, b"", location="http://127.0.0.1:1/")
WRONG_ANSWERS: list[tuple[Answer, type[LoginRefused | LoginUnavailable], str]] = [
    (NO_CLIENT, LoginRefused, "answers 401: invalid_client no such client"),
    (Answer.of(400, error="invalid_scope"), LoginRefused, "answers 400: invalid_scope"),
    (Answer(403, b"<html>", "text/html"), LoginRefused, "answers 403"),
    (Answer(500, b"oops", "text/plain"), LoginUnavailable, "answers 500"),
    (Answer(429, b""), LoginUnavailable, "answers 429"),
    (Answer(404, b""), LoginUnavailable, "answers 404"),
    (REDIRECT, LoginUnavailable, "answers 302"),
    (Answer(200, b"<html>hello</html>", "text/html"), LoginUnavailable, "text/html that is not a JSON"),
    (Answer(200, b"[1]"), LoginUnavailable, "is not a JSON object"),
    (Answer(200, b"[" * 100_000), LoginUnavailable, "is not a JSON object"),
    (Answer.of(200), LoginUnavailable, "without a usable access_token"),
    (Answer.of(200, access_token=17), LoginUnavailable, "without a usable"),
    (Answer.of(200, access_token=CONTROL), LoginUnavailable, "usable"),
    (Answer(200, b" " * 5_000_000), LoginUnavailable, "more than 200000 bytes"),
]


def test_each_wrong_answer_has_its_error(issuer: TokenIssuer) -> None:
    """The error has the URL and the fault on one line, and its advice names an option or a wait."""
    for answer, kind, text in WRONG_ANSWERS:
        issuer.answer = lambda answer=answer: answer  # type: ignore[misc]
        with pytest.raises(kind) as refused:
            fetch_token(login_at(issuer))
        assert (type(refused.value), text in refused.value.what) == (kind, True), refused.value
        assert refused.value.what.startswith(f"the token endpoint {issuer.token_endpoint}")
        assert "\n" not in str(refused.value)
        assert refused.value.advice


def test_wrong_secret_is_refused(issuer: TokenIssuer) -> None:
    """The error names the option, but not the secret."""
    with pytest.raises(LoginRefused, match="invalid_client") as refused:
        fetch_token(login_at(issuer, client_secret=SecretValue("wrong-hunter2")))
    assert "kafka.oauth_client_secret" in refused.value.advice
    assert "hunter2" not in str(refused.value)


def test_an_endpoint_that_repeats_the_secret_is_not_quoted(issuer: TokenIssuer) -> None:
    """Descriptions are shortened to one line without the secret and without tokens."""
    for form in (SECRET, "hunter2%2B%2F%3D%3A+%C3%BC", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0."):
        answer = Answer.of(401, error="bad\nclient", error_description=f"got {form} \x1b[31m {'x' * 999}")
        issuer.answer = lambda answer=answer: answer  # type: ignore[misc]
        with pytest.raises(LoginRefused) as refused:
            fetch_token(login_at(issuer))
        assert form not in str(refused.value)
        assert "bad client got **********" in refused.value.what
        assert len(refused.value.what) < 400
        assert refused.value.what.isprintable()


def test_an_expired_token_of_the_endpoint_is_refused(issuer: TokenIssuer) -> None:
    """A token that is expired on arrival is not sent to a broker; the advice names the clocks."""
    issuer.lifetime = -90.0
    with pytest.raises(LoginUnavailable, match=r"expired 9\d s ago") as refused:
        fetch_token(login_at(issuer))
    assert "clocks" in refused.value.advice


def test_endpoint_that_is_away(issuer: TokenIssuer) -> None:
    """A closed port, an unknown host name and a server without TLS have different, retriable errors."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/token"
        with pytest.raises(LoginUnavailable, match=r"is not reachable .Connection refused"):
            fetch_token(login_at(issuer, endpoint=url))
    with pytest.raises(LoginUnavailable, match="host name that cannot be resolved"):
        fetch_token(login_at(issuer, endpoint="https://no-such-host.invalid/token"))
    with pytest.raises(LoginUnavailable, match="does not speak TLS"):
        fetch_token(login_at(issuer, endpoint=issuer.token_endpoint.replace("http:", "https:")))


def test_the_certificate_of_the_endpoint_is_verified(certificates: Certificates) -> None:
    """With `ca_file` the endpoint's own authority is trusted; without it, the advice names the option to set.

    A certificate for another host is refused.
    """
    with TokenIssuer("c", SECRET, certificates.both("broker")) as issuer:
        trusted = login_at(issuer, ca_file=certificates.authority)
        assert fetch_token(trusted).claims["sub"] == "c"
        with pytest.raises(LoginUnavailable, match=r"certificate .* is not accepted: unable to get") as refused:
            fetch_token(login_at(issuer))
        assert "set kafka.oauth_ca_file" in refused.value.advice
        other = issuer.token_endpoint.replace("localhost", "127.0.0.1")
        with pytest.raises(LoginUnavailable, match="IP address mismatch"):
            fetch_token(dataclasses.replace(trusted, endpoint=other))


def test_secret_file_that_is_gone(issuer: TokenIssuer, tmp_path: Path) -> None:
    """The error names the option and the file, and nothing is sent."""
    with pytest.raises(LoginUnavailable, match=r"kafka\.oauth_client_secret: .*/secret cannot be read"):
        fetch_token(login_at(issuer, client_secret=SecretFile(tmp_path / "secret")))
    assert issuer.requests == []


def test_slow_endpoint_times_out(issuer: TokenIssuer) -> None:
    """The whole request has one time limit, also if bytes continue to arrive."""
    for answer in (Answer(200, b"{}", hold=3.0), Answer(200, b" " * 1000, drip=0.05)):
        issuer.answer = lambda answer=answer: answer  # type: ignore[misc]
        with pytest.raises(LoginUnavailable, match=r"does not answer within 0\.4 s"):
            fetch_token(login_at(issuer, timeout=0.4))
