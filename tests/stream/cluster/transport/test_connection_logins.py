"""Tests of the logins of a connection: their times and credentials, and answers that no real broker gives."""

import io
import logging
from pathlib import Path

import pytest

from sandbox.kafka.token_issuer import Answer, TokenIssuer
from sandbox.waiting import wait_until
from stream import logs
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, LoginRefused, LoginUnavailable
from stream.config.kafka_login import ClientCredentialsLogin, KafkaLogin, PasswordLogin, TokenFileLogin
from stream.config.secret_sources import SecretFile, SecretValue
from tests.stream.cluster.transport.fake_broker import FakeBroker, Login

JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6OTAwMDAwMDAwMCwiaWF0IjoxfQ."


def accepting(_: bytes) -> Login:
    """Accept every login for two seconds."""
    return Login(session_ms=2000)


def refused(broker: FakeBroker, login: KafkaLogin) -> ClusterError:
    with Cluster([broker.address], login, request_timeout=5) as cluster, pytest.raises(ClusterError) as error:
        cluster.metadata()
    return error.value


@pytest.fixture
def password(tmp_path: Path) -> KafkaLogin:
    (tmp_path / "password").write_text("first")
    return KafkaLogin(PasswordLogin("PLAIN", "alice", SecretFile(tmp_path / "password")))


def test_a_session_is_renewed_with_the_current_password(password: KafkaLogin, tmp_path: Path) -> None:
    """The same connection logs in again before its session ends, with the current content of the file."""
    with FakeBroker(accepting) as broker, Cluster([broker.address], password) as cluster:
        cluster.metadata()
        cluster.metadata()
        connections, before = broker.connections, len(broker.messages)
        (tmp_path / "password").write_text("second")
        wait_until(lambda: broker.messages[-1] == b"\0alice\0second", "the second login", limit=20)
        cluster.metadata()
        assert broker.connections == connections
        assert len(broker.messages) > before


def test_wrong_scram_messages_end_the_login() -> None:
    """A broker that cannot prove that it knows the password receives only the first message."""
    with FakeBroker(lambda _: Login(b"v=bm8="), ("SCRAM-SHA-256",)) as broker:
        error = refused(broker, KafkaLogin(PasswordLogin("SCRAM-SHA-256", "alice", SecretValue("secret"))))
        assert len(broker.messages) == 1
    assert type(error) is LoginRefused
    assert "check that the address is that of your broker" in error.advice
    assert "secret" not in str(error)


def test_a_token_in_a_message_of_the_broker_is_not_shown(tmp_path: Path) -> None:
    """The message of another validator is shown without the token."""
    (tmp_path / "token").write_text(JWT)
    words = f"Token validation failed for {JWT} (ErrId: 4f1)"
    with FakeBroker(lambda _: Login(error=58, text=words)) as broker:
        error = refused(broker, KafkaLogin(TokenFileLogin(tmp_path / "token")))
    assert "(Token validation failed for ********** (ErrId: 4f1))" in error.what
    assert JWT not in str(error)


def test_slow_endpoint_is_named_as_the_cause() -> None:
    """A request that waits for the token ends in time with the name of the endpoint; the token is used afterwards."""
    with TokenIssuer("alice", "s") as issuer, FakeBroker(accepting) as broker:
        token = issuer.token()
        issuer.answer = lambda: Answer(200, f'{{"access_token": "{token}"}}'.encode(), hold=3.0)
        credentials = ClientCredentialsLogin(issuer.token_endpoint, "alice", SecretValue("s"), scope="slow")
        with Cluster([broker.address], KafkaLogin(credentials), request_timeout=1) as cluster:
            with pytest.raises(LoginUnavailable, match=f"waits for the token endpoint {issuer.token_endpoint}"):
                cluster.metadata()
            cluster.connect(20)
        assert len(issuer.requests) <= 3


def test_without_a_secret_no_connection_is_opened(password: KafkaLogin, tmp_path: Path) -> None:
    """The file is read before the connection is opened; the same client logs in when the file has the secret."""
    (tmp_path / "password").unlink()
    token = KafkaLogin(TokenFileLogin(tmp_path / "token"))
    rows = [(password, f"kafka.sasl_password: {tmp_path / 'password'} cannot be read", "first"), (token, "token", JWT)]
    for (login, text, secret), name in zip(rows, ("password", "token"), strict=True):
        with FakeBroker(accepting) as broker, Cluster([broker.address], login) as cluster:
            with pytest.raises(LoginUnavailable, match=text):
                cluster.metadata()
            assert broker.connections == 0
            (tmp_path / name).write_text(secret)
            cluster.connect(20)


def test_library_prints_no_login_at_level_debug(password: KafkaLogin, tmp_path: Path) -> None:
    """No line has a secret of an accepted or a refused login: the loggers that print requests write nothing."""
    (tmp_path / "token").write_text(JWT)
    written = io.StringIO()
    handlers = logging.getLogger().handlers[:]
    try:
        logs.configure("debug", "json", written)
        for login in (password, KafkaLogin(TokenFileLogin(tmp_path / "token"))):
            with FakeBroker(accepting) as broker, Cluster([broker.address], login) as cluster:
                cluster.metadata()
            with FakeBroker(lambda _: Login(error=58, text="Authentication failed")) as broker:
                assert isinstance(refused(broker, login), LoginRefused)
    finally:
        logs.configure("warning")
        logging.getLogger().handlers[:] = handlers
    assert "kafka.net" in written.getvalue()
    assert [secret for secret in ("first", JWT) if secret in written.getvalue()] == []


def test_the_error_of_a_disabled_mechanism_names_the_enabled_ones(password: KafkaLogin) -> None:
    """The error names the mechanisms that the broker offers."""
    with FakeBroker(accepting, ("SCRAM-SHA-512", "GSSAPI")) as broker:
        error = refused(broker, password)
    assert "does not offer the SASL mechanism PLAIN; it offers SCRAM-SHA-512, GSSAPI" in error.what
