"""Tests of tokens: the form of a JWT, its claims, and texts without tokens."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.cluster.transport.login.jwt import LONGEST, as_seconds, is_bearer_token, parse_jwt, without_tokens


def part(value: Any) -> str:
    """Return a part of a JWT."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def jwt(claims: Any, header: Any = None) -> str:
    """Return a JWT with any signature."""
    return f"{part(header or {'alg': 'RS256', 'kid': 'k'})}.{part(claims)}.c2lnbmF0dXJl"


def test_claims_and_expiration_are_read() -> None:
    """`exp` is the expiration of the token; the repr of a token shows neither text nor claims."""
    token = parse_jwt(jwt({"exp": 1_900_000_000, "aud": ["kafka"], "sub": "alice"}))
    assert (token.expires_at, token.claims["aud"], token.header["kid"]) == (1_900_000_000.0, ["kafka"], "k")
    assert repr(token) == "Token(expires_at=1900000000.0)"


def test_unsecured_token_is_a_jwt() -> None:
    """A token without a signature, as Kafka's unsecured validator accepts it, has an empty last part."""
    assert parse_jwt(f"{part({'alg': 'none'})}.{part({'sub': 'a'})}.").expires_at is None


@pytest.mark.parametrize("value", [None, "1900000000", True, [], float("nan"), float("inf"), 10**400], ids=repr)
def test_time_that_is_no_number_is_unknown(value: Any) -> None:
    """An `exp` of another type, or one that is not finite or too large, is no expiration."""
    assert as_seconds(value) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty text"),
        pytest.param("hunter2", id="a password"),
        pytest.param("a.b.c", id="parts that are not base64 of JSON"),
        pytest.param(f"{part({})}.{part([1])}.x", id="claims that are a list"),
        pytest.param(f"{part({})}.{part({})}", id="two parts"),
        pytest.param(f"{part({})}.{part({})}.x.y", id="four parts"),
        pytest.param(jwt({}) + "\n", id="trailing line break"),
        pytest.param(jwt({"x": "a" * LONGEST}), id="too long"),
        pytest.param(f"{part({})}.{base64.urlsafe_b64encode(b'[' * 9000).decode().rstrip('=')}.x", id="deep nesting"),
        pytest.param("<html>", id="HTML page"),
    ],
)
def test_a_text_of_another_form_is_refused(text: str) -> None:
    """A text that is not a JWT is an error without the text, which may be a secret."""
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


@pytest.mark.parametrize(("text", "usable"), [("abc-._~+/=", True), ("", False), ("a b", False), ("a\x01", False)])
def test_characters_of_a_bearer_token(text: str, usable: bool) -> None:  # noqa: FBT001 -- a row
    """A token with a character that could end its field in the SASL message is not usable."""
    assert is_bearer_token(text) is usable


def test_tokens_in_a_text_are_masked() -> None:
    """A broker's message that contains a token is shown without the token."""
    token = jwt({"sub": "alice"})
    assert without_tokens(f"JsonWebSignature{{..}}->{token} rejected") == "JsonWebSignature{..}->********** rejected"
    assert without_tokens("keystore.p12 was not found") == "keystore.p12 was not found"
