"""Tests of tokens: the form of a JWT, its claims, and texts without tokens."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.cluster.transport.login.tokens import LONGEST, parse_jwt, without_tokens


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def jwt(claims: Any) -> str:
    return f"{part({'alg': 'RS256', 'kid': 'k'})}.{part(claims)}.c2lnbmF0dXJl"


def test_claims_and_expiration_are_read() -> None:
    """`exp` is the expiration of the token; the repr of a token shows neither text nor claims.

    A token without a signature, as Kafka's unsecured validator accepts it, has an empty last part.
    """
    token = parse_jwt(jwt({"exp": 1_900_000_000, "aud": ["kafka"], "sub": "alice"}))
    assert (token.expires_at, token.claims["aud"], token.header["kid"]) == (1_900_000_000.0, ["kafka"], "k")
    assert repr(token) == "Token(expires_at=1900000000.0)"
    assert parse_jwt(f"{part({'alg': 'none'})}.{part({'sub': 'a'})}.").expires_at is None


NO_TOKENS = {
    "empty text": "",
    "a password": "hunter2",
    "parts that are not base64 of JSON": "a.b.c",
    "claims that are a list": f"{part({})}.{part([1])}.x",
    "two parts": f"{part({})}.{part({})}",
    "four parts": f"{part({})}.{part({})}.x.y",
    "trailing line break": jwt({}) + "\n",
    "too long": jwt({"x": "a" * LONGEST}),
    "deep nesting": f"{part({})}.{base64.urlsafe_b64encode(b'[' * 9000).decode().rstrip('=')}.x",
    "HTML page": "<html>",
}


def test_a_text_of_another_form_is_refused() -> None:
    """A text that is not a JWT is an error without the text, which may be a secret."""
    for text in NO_TOKENS.values():
        with pytest.raises(ValueError, match=r"^not a JWT$") as refused:
            parse_jwt(text)
        assert refused.value.__cause__ is None


@given(st.text())
def test_parsing_has_no_other_error(text: str) -> None:
    """Any text is a token or a ValueError."""
    try:
        parse_jwt(text)
    except ValueError as error:
        assert str(error) == "not a JWT"  # noqa: PT017 -- either outcome is right


def test_tokens_in_a_text_are_masked() -> None:
    """A broker's message that contains a token is shown without the token."""
    token = jwt({"sub": "alice"})
    assert without_tokens(f"JsonWebSignature{{..}}->{token} rejected") == "JsonWebSignature{..}->********** rejected"
    assert without_tokens("keystore.p12 was not found") == "keystore.p12 was not found"
