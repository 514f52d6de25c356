"""Tests of the reasons why a broker refuses a token, from its claims, the clock and the last accepted token."""

from typing import Any

from stream.cluster.transport.errors import LoginRefused, TokenExpired
from stream.cluster.transport.login.tokens import Token, token_refusal

NOW = 1_800_000_000.0
CLAIMS = {"sub": "alice", "aud": "kafka", "iss": "https://issuer.test", "iat": NOW - 10, "exp": NOW + 300}


def token(kid: str = "first", **claims: Any) -> Token:
    """Return a token with these claims beside the usual ones; None removes one."""
    kept = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not None}
    return Token("a.b.c", kept.get("exp"), {"kid": kid}, kept)


def explained(refused: Token, text: str = '{"status":"invalid_token"}', accepted: Token | None = None) -> LoginRefused:
    return token_refusal("broker:1", text, refused, "the token file /t", accepted=accepted, now=NOW)


FIRST_LOGINS: list[tuple[Token, type[LoginRefused], str]] = [
    (token(exp=NOW - 30), TokenExpired, "expired 30 s ago"),
    (token(exp=NOW - 7200), TokenExpired, "expired 2 h ago"),
    (token(nbf=NOW + 60), TokenExpired, "not valid before 60 s from now"),
    (token(sub=None), LoginRefused, "(invalid_token): it has no claim sub"),
    (token(sub=None, iat=None), LoginRefused, "no claim sub and no claim iat"),
    (token(), LoginRefused, "(invalid_token): audience 'kafka', issuer 'https://issuer.test', signature key 'first'"),
    (token(aud=["a", "b"], iss=None), LoginRefused, "audience 'a, b', issuer none"),
    (Token("opaque", None), LoginRefused, "(invalid_token): not a JWT"),
]
CHANGES: list[tuple[Token, str, str]] = [
    (token(aud="other"), "its audience is now 'other', not 'kafka' as before", "expected.audience"),
    (token(iss="x"), "issuer is now 'x', not 'https://issuer.test'", "expected.issuer"),
    (token("second"), "its signature key is now 'second', not 'first'", "jwks.endpoint.url"),
    (
        token("second", aud=None),
        "its audience is now none, not 'kafka' and its signature key is now 'second', not 'first'",
        "expected.audience, sasl.oauthbearer.jwks",
    ),
]
REASONS = {
    '{"status":"insufficient_scope","scope":"x"}': "(insufficient_scope)",
    "Token validation failed: Audience is wrong": "(Token validation failed: Audience is wrong)",
    "": "(no reason given)",
    "[1]": "([1])",
    "a\nb\x1b[31m": "(a b [31m)",
    "got eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.xyz": "(got **********)",
    "x" * 1000: f"({'x' * 200})",
}


def test_first_login() -> None:
    """A certain cause is named; otherwise the claims are listed beside the broker's options.

    Only an expired or early token is retriable, because the next one may be valid.
    """
    found = [explained(refused) for refused, _, _ in FIRST_LOGINS]
    assert [type(error) for error in found] == [kind for _, kind, _ in FIRST_LOGINS]
    assert [error for error, (_, _, cause) in zip(found, FIRST_LOGINS, strict=True) if cause not in error.what] == []
    assert all(error.advice for error in found)
    assert [error.passes for error in found] == [True] * 3 + [False] * 5


def test_change_since_the_last_accepted_token_is_the_cause() -> None:
    """The error names the difference from the last accepted token, with the broker's option."""
    for refused, cause, option in CHANGES:
        error = explained(refused, accepted=token())
        assert cause in error.what
        assert option in error.advice
        assert "broker's log" in error.advice


def test_reason_of_the_broker_is_one_short_line() -> None:
    """The error has the status or the text of the broker, on one short line without tokens and with short claims."""
    found = {shown: explained(token(), text).what for text, shown in REASONS.items()}
    assert [what for shown, what in found.items() if shown not in what or not what.isprintable()] == []
    assert len(str(explained(token(aud="x" * 1_000_000)))) < 800
