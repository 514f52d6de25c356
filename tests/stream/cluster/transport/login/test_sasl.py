"""The messages of each login, compared with the RFCs and the library's own implementation."""

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.cluster.transport.errors import LoginRefused
from stream.cluster.transport.login.sasl import TokenOutcome, aws_iam, bearer, plain, scram
from stream.cluster.transport.login.tokens import Token, parse_jwt

JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6MTkwMDAwMDAwMCwiaWF0IjoxfQ."


class ScramServer:
    """A SCRAM server (RFC 5802) that knows a password."""

    def __init__(self, password: str, mechanism: str) -> None:
        self.hash = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
        self.password = password.encode()
        self.log = b""
        self.name = ""

    def first(self, message: bytes) -> bytes:
        """Return the answer to the first message."""
        bare = message.removeprefix(b"n,,")
        fields = dict(field.split(b"=", 1) for field in bare.split(b","))
        self.name = fields[b"n"].decode().replace("=2C", ",").replace("=3D", "=")
        answer = b"r=" + fields[b"r"] + b"xyz,s=" + base64.b64encode(b"salt") + b",i=4096"
        self.log = bare + b"," + answer
        return answer

    def final(self, message: bytes) -> bytes | None:
        """Return the server's proof, or None if the client's proof is wrong."""
        without_proof, _, proof = message.partition(b",p=")
        salted = hashlib.pbkdf2_hmac(self.hash, self.password, b"salt", 4096)
        log = self.log + b"," + without_proof
        key = hmac.digest(salted, b"Client Key", self.hash)
        signature = hmac.digest(hashlib.new(self.hash, key).digest(), log, self.hash)
        if base64.b64decode(proof) != bytes(a ^ b for a, b in zip(key, signature, strict=True)):
            return None
        return b"v=" + base64.b64encode(hmac.digest(hmac.digest(salted, b"Server Key", self.hash), log, self.hash))


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@given(name=st.text(st.characters(codec="utf-8"), min_size=1), password=st.text(st.characters(codec="utf-8")))
def test_scram_proves_the_password_both_ways(mechanism: str, name: str, password: str) -> None:
    """Any user name is sent to the server, also with a comma or an equals sign, and the proofs agree."""
    exchange, server = scram(mechanism, name, password, "file /pw"), ScramServer(password, mechanism)
    final = exchange.reply(server.first(exchange.first))
    assert final is not None
    proof = server.final(final)
    assert proof is not None
    assert exchange.reply(proof) is None
    assert server.name == name


def test_wrong_scram_messages_are_value_errors() -> None:
    """A challenge that is not SCRAM, or that answers another client, raises an error without the password.

    A signature of the server that does not match the password raises an error, too.
    """
    for challenge in (b"", b"e=no", b"r=x,s=c2FsdA==,i=4096", b"r=", b"hello", b"\xff", b"s=c2FsdA==,i=4096"):
        exchange = scram("SCRAM-SHA-256", "alice", "secret", "file /pw")
        with pytest.raises(ValueError, match=r".") as refused:
            exchange.reply(challenge)
        assert "secret" not in str(refused.value)
    exchange = scram("SCRAM-SHA-256", "alice", "secret", "file /pw")
    exchange.reply(ScramServer("other", "SCRAM-SHA-256").first(exchange.first))
    with pytest.raises(ValueError, match="wrong signature"):
        exchange.reply(b"v=" + base64.b64encode(b"made up"))


def test_refused_password_names_its_place() -> None:
    """The error has the broker's message, the option and the file, but not the password."""
    user = ("alice", "hunter2", "file /run/pw")
    for exchange in (plain(*user), scram("SCRAM-SHA-256", *user)):
        error = exchange.refusal("broker:1", "Authentication failed: Invalid username or password")
        assert type(error) is LoginRefused
        assert error.what == "broker:1 refuses the login: Authentication failed: Invalid username or password"
        assert "kafka.sasl_password (file /run/pw)" in error.advice
        assert "hunter2" not in f"{error} {exchange!r}"


def test_token_message() -> None:
    """The message has the form of RFC 7628 with Kafka's extensions (KIP-342).

    An empty challenge ends the login, and the token is the last accepted one.
    """
    token, outcome = parse_jwt(JWT), TokenOutcome()
    exchange = bearer(token, [("logicalCluster", "lkc-1")], "the token file /t", outcome)
    assert exchange.first == f"n,,\x01auth=Bearer {JWT}\x01logicalCluster=lkc-1\x01\x01".encode()
    assert exchange.reply(b"") is None
    assert outcome.accepted is token


def test_refused_token_is_answered_and_explained() -> None:
    """The error challenge is answered (RFC 7628, section 3.2.3), and the error has the reason, but not the token."""
    token, refused = parse_jwt(JWT), list[Token]()
    exchange = bearer(token, (), "the token file /t", TokenOutcome(refuse=refused.append))
    assert exchange.reply(b'{"status":"invalid_token"}') == b"\x01"
    error = exchange.refusal("broker:1", "other words")
    assert refused == [token]
    assert error.what.startswith("broker:1 refuses the token of the token file /t (invalid_token): ")
    assert JWT not in f"{error} {exchange!r}"


def test_aws_answer_is_checked() -> None:
    """The broker answers with a JSON object; any other answer is an error."""
    exchange = aws_iam(b"{}")
    assert exchange.first == b"{}"
    assert exchange.reply(b'{"version":"2020_10_22","request-id":"1"}') is None
    for wrong in (b"", b"[]", b"hello"):
        with pytest.raises(ValueError, match=r"."):
            exchange.reply(wrong)
    assert "kafka-cluster:Connect" in exchange.refusal("b:1", "Access denied").advice
