"""Tests of the reasons why a broker refuses a token, from its claims, the clock and the last accepted token."""

from __future__ import annotations

from typing import Any

import pytest

from stream.cluster.transport.errors import LoginRefused, TokenExpired
from stream.cluster.transport.login.jwt import Token
from stream.cluster.transport.login.refused_token import token_refusal

NOW = 1_800_000_000.0
CLAIMS = {"sub": "alice", "aud": "kafka", "iss": "https://issuer.test", "iat": NOW - 10, "exp": NOW + 300}


def token(kid: str = "first", **claims: Any) -> Token:
    """Return a token with these claims beside the usual ones; None removes one."""
    kept = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not None}
    return Token("a.b.c", kept.get("exp"), {"kid": kid}, kept)


def explained(refused: Token, text: str = '{"status":"invalid_token"}', accepted: Token | None = None) -> LoginRefused:
    """Return the error for a refused token."""
    return token_refusal("broker:1", text, refused, "the token file /t", accepted=accepted, now=NOW)


@pytest.mark.parametrize(
    ("refused", "kind", "cause"),
    [
        pytest.param(token(exp=NOW - 30), TokenExpired, "expired 30 s ago", id="just expired"),
        pytest.param(token(exp=NOW - 7200), TokenExpired, "expired 2 h ago", id="expired long ago"),
        pytest.param(token(nbf=NOW + 60), TokenExpired, "not valid before 60 s from now", id="too early"),
        pytest.param(token(sub=None), LoginRefused, "(invalid_token): it has no claim sub", id="no subject"),
        pytest.param(token(sub=None, iat=None), LoginRefused, "no claim sub and no claim iat", id="two claims missing"),
        pytest.param(
            token(),
            LoginRefused,
            "(invalid_token): audience 'kafka', issuer 'https://issuer.test', signature key 'first'",
            id="no certain cause: compared claims",
        ),
        pytest.param(
            token(aud=["a", "b"], iss=None), LoginRefused, "audience 'a, b', issuer none", id="list of audiences"
        ),
        pytest.param(Token("opaque", None), LoginRefused, "(invalid_token): not a JWT", id="opaque"),
    ],
)
def test_first_login(refused: Token, kind: type[LoginRefused], cause: str) -> None:
    """A certain cause is named; otherwise the claims are listed beside the broker's options."""
    error = explained(refused)
    assert type(error) is kind
    assert cause in error.what
    assert error.advice


@pytest.mark.parametrize(
    ("refused", "cause", "option"),
    [
        pytest.param(
            token(aud="other"), "its audience is now 'other', not 'kafka' as before", "expected.audience", id="audience"
        ),
        pytest.param(token(iss="x"), "issuer is now 'x', not 'https://issuer.test'", "expected.issuer", id="issuer"),
        pytest.param(token("second"), "its signature key is now 'second', not 'first'", "jwks.endpoint.url", id="key"),
        pytest.param(
            token("second", aud=None),
            "its audience is now none, not 'kafka' and its signature key is now 'second', not 'first'",
            "expected.audience, sasl.oauthbearer.jwks",
            id="both",
        ),
    ],
)
def test_change_since_the_last_accepted_token_is_the_cause(refused: Token, cause: str, option: str) -> None:
    """The error names the difference from the last accepted token, with the broker's option."""
    error = explained(refused, accepted=token())
    assert cause in error.what
    assert option in error.advice
    assert "broker's log" in error.advice


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"status":"insufficient_scope","scope":"x"}', "(insufficient_scope)"),
        ("Token validation failed: Audience is wrong", "(Token validation failed: Audience is wrong)"),
        ("", "(no reason given)"),
        ("[1]", "([1])"),
        ("a\nb\x1b[31m", "(a b [31m)"),
        ("got eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.xyz", "(got **********)"),
        ("x" * 1000, f"({'x' * 200})"),
    ],
)
def test_reason_of_the_broker_is_one_short_line(text: str, shown: str) -> None:
    """The error has the status or the text of the broker, on one short line without tokens."""
    error = explained(token(), text)
    assert shown in error.what
    assert error.what.isprintable()


def test_claims_are_shortened() -> None:
    """An error about a claim of a megabyte has less than 800 characters."""
    assert len(str(explained(token(aud="x" * 1_000_000)))) < 800


def test_only_an_expired_token_is_retriable() -> None:
    """An expired token is retriable, because the next one may be valid; a token for another audience is not."""
    assert explained(token(exp=NOW - 1)).passes
    assert not explained(token(aud="other")).passes
