"""Logins to a broker that checks tokens, passwords and certificates while they change."""

# ruff: noqa: S105 -- the secrets of test users
from __future__ import annotations

import contextlib
import dataclasses
import io
import logging
import pickle
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from sandbox.kafka.broker import Broker
from sandbox.kafka.jars import oauth_jars
from sandbox.kafka.token_issuer import Answer, TokenIssuer
from sandbox.kafka.topics import create_topics
from sandbox.ports import LOOPBACK, free_port_pair
from sandbox.waiting import wait_until
from stream import logs
from stream.cli import app as cli
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import (
    ClusterError,
    LoginRefused,
    LoginUnavailable,
    TlsRefused,
    TokenExpired,
)
from stream.config.kafka_login import (
    ClientCredentialsLogin,
    KafkaLogin,
    PasswordLogin,
    TlsFiles,
    TokenFileLogin,
)
from stream.config.secret_sources import SecretFile
from stream.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sandbox.certificates import Certificates

pytestmark = pytest.mark.kafka

SECRET = "hunter2"
SESSION_SECONDS = 4.0
"""The longest session of the listeners OAUTH and SCRAM: connections must log in again before its end (KIP-368)."""

_OAUTH = "org.apache.kafka.common.security.oauthbearer"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


@dataclasses.dataclass
class Secured:
    """A broker, its identity provider, and the folder with the secrets of the test."""

    ports: dict[str, int]
    issuer: TokenIssuer
    certificates: Certificates
    folder: Path

    def address(self, listener: str) -> str:
        """Return the address of a listener, under the host name of its certificate."""
        return f"{'localhost' if listener == 'MTLS' else LOOPBACK}:{self.ports[listener]}"

    def write(self, name: str, text: str) -> Path:
        """Write a file as Kubernetes does: at once, by a rename."""
        draft, path = self.folder / f"{name}.draft", self.folder / name
        draft.write_text(text)
        draft.replace(path)
        return path

    def client_credentials(self, **changes: Any) -> KafkaLogin:
        """Return the login with a token of the token endpoint."""
        secret = SecretFile(self.write("client-secret", SECRET))
        login = ClientCredentialsLogin(self.issuer.token_endpoint, "alice", secret, timeout=2.0)
        return KafkaLogin(dataclasses.replace(login, **changes))

    def token_file(self, token: str) -> KafkaLogin:
        """Return the login with the token in a file."""
        return KafkaLogin(TokenFileLogin(self.write("token", token)))

    def scram(self, password: str) -> KafkaLogin:
        """Return the login with the password in a file."""
        return KafkaLogin(PasswordLogin("SCRAM-SHA-256", "alice", SecretFile(self.write("password", password))))


@pytest.fixture(scope="module")
def broker(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """Run an identity provider, and a broker that checks its tokens with Kafka's own validator."""
    with TokenIssuer("alice", SECRET) as issuer:
        pairs = [free_port_pair() for _ in range(3)]
        names = ("PLAIN", "CONTROLLER", "OAUTH", "SCRAM", "MTLS")
        ports = dict(zip(names, (port for pair in pairs for port in pair), strict=False))
        made = Secured(ports, issuer, certificates, tmp_path_factory.mktemp("secrets"))
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={issuer.keys_url}"
        started = Broker(properties=_properties(made), jars=oauth_jars(), jvm=[allowed])
        started._ports = (ports["PLAIN"], ports["CONTROLLER"])  # its listeners are not the sandbox's
        with started:
            create_topics(started.bootstrap, {"__consumer_offsets": 1}, {"cleanup.policy": "compact"})
            set_password(made, SECRET)
            yield made


def _properties(secured: Secured) -> dict[str, str]:
    issuer, certificates = secured.issuer, secured.certificates
    protocols = {
        "PLAIN": "PLAINTEXT",
        "CONTROLLER": "PLAINTEXT",
        "OAUTH": "SASL_PLAINTEXT",
        "SCRAM": "SASL_PLAINTEXT",
        "MTLS": "SSL",
    }
    oauth, scram = "listener.name.oauth", "listener.name.scram"
    return {
        "listeners": ",".join(f"{name}://{secured.address(name)}" for name in protocols),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "inter.broker.listener.name": "PLAIN",
        f"{oauth}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{oauth}.oauthbearer.sasl.jaas.config": f"{_OAUTH}.OAuthBearerLoginModule required;",
        f"{oauth}.oauthbearer.sasl.server.callback.handler.class": f"{_OAUTH}.OAuthBearerValidatorCallbackHandler",
        f"{oauth}.sasl.oauthbearer.jwks.endpoint.url": issuer.keys_url,
        f"{oauth}.sasl.oauthbearer.expected.audience": issuer.audience,
        f"{oauth}.sasl.oauthbearer.expected.issuer": issuer.issuer,
        f"{oauth}.sasl.oauthbearer.clock.skew.seconds": "0",
        f"{oauth}.oauthbearer.connections.max.reauth.ms": str(int(SESSION_SECONDS * 1000)),
        f"{scram}.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        f"{scram}.scram-sha-256.sasl.jaas.config": _SCRAM,
        f"{scram}.scram-sha-256.connections.max.reauth.ms": str(int(SESSION_SECONDS * 1000)),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.both("broker")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority),
        "listener.name.mtls.ssl.client.auth": "required",
    }


@pytest.fixture
def secured(broker: Secured) -> Iterator[Secured]:
    """Return the broker; the identity provider is reset after the test."""
    issuer, key = broker.issuer, broker.issuer.key
    yield broker
    issuer.key, issuer.answer, issuer.claims, issuer.lifetime = key, None, {}, 300.0
    issuer.client_secret = SECRET


def set_password(secured: Secured, password: str) -> None:
    """Change alice's SCRAM password on the broker, and wait until it applies."""
    admin = AdminClient({"bootstrap.servers": secured.address("PLAIN")})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    admin.alter_user_scram_credentials([UserScramCredentialUpsertion("alice", info, password.encode())])[
        "alice"
    ].result(30)
    # Brokers apply a password later than they answer.
    secret = SecretFile(secured.write("applied-password", password))
    login = KafkaLogin(PasswordLogin("SCRAM-SHA-256", "alice", secret))

    def is_applied() -> bool:
        with Cluster([secured.address("SCRAM")], login) as cluster:
            return error_of(cluster) is None

    wait_until(is_applied, "the password on the broker", limit=20)


@contextlib.contextmanager
def connected(secured: Secured, listener: str, login: KafkaLogin) -> Iterator[Cluster]:
    """Connect to a listener."""
    with Cluster([secured.address(listener)], login) as cluster:
        cluster.connect(20)
        yield cluster


def refusal(secured: Secured, listener: str, login: KafkaLogin) -> ClusterError:
    """Return the error of a login; it is one line without secrets."""
    with Cluster([secured.address(listener)], login) as cluster, pytest.raises(ClusterError) as refused:
        cluster.metadata()
    error = refused.value
    assert "\n" not in str(error)
    assert SECRET not in str(error)
    assert "eyJ" not in str(error)
    return error


def reconnect(cluster: Cluster) -> None:
    """Close the connections of a client, as a broker that restarts does."""
    cluster._net.run(_close_all, cluster._connections)


async def _close_all(connections: Any) -> None:
    for connection in list(connections._conns.values()):
        connection.close()


def error_of(cluster: Cluster) -> ClusterError | None:
    """Return the error of the next request, or None."""
    try:
        cluster.metadata()
    except ClusterError as error:
        return error
    return None


class TestTokens:
    """OAUTHBEARER with Kafka's own validator."""

    def test_client_credentials(self, secured: Secured) -> None:
        """A token of the endpoint is accepted; a second client of the process uses the same token."""
        asked = len(secured.issuer.requests)
        login = secured.client_credentials(scope="first-test")
        for _ in range(2):
            with connected(secured, "OAUTH", login) as cluster:
                assert cluster.cluster_id
        assert secured.issuer.requests[asked:] == [{"grant_type": ["client_credentials"], "scope": ["first-test"]}]

    def test_token_file(self, secured: Secured) -> None:
        """The token of a file is accepted."""
        with connected(secured, "OAUTH", secured.token_file(secured.issuer.token() + "\n")) as cluster:
            assert cluster.cluster_id

    def test_login_in_another_process_reads_the_secret_itself(self, secured: Secured) -> None:
        """A pickled login has no secret and works after a rotation of the secret."""
        pickled = pickle.dumps(secured.client_credentials(scope="pickled"))
        assert SECRET.encode() not in pickled
        secured.issuer.client_secret = "rotated"
        secured.write("client-secret", "rotated")
        with connected(secured, "OAUTH", pickle.loads(pickled)) as cluster:  # noqa: S301 -- pickled above
            assert cluster.cluster_id

    @pytest.mark.parametrize(
        ("claims", "key", "kind", "text"),
        [
            pytest.param({"exp": 1_700_000_000}, None, TokenExpired, "it expired", id="expired"),
            pytest.param({"aud": "other"}, None, LoginRefused, "audience 'other'", id="wrong audience"),
            pytest.param({"iss": "https://x"}, None, LoginRefused, "issuer 'https://x'", id="wrong issuer"),
            pytest.param({}, "unknown", LoginRefused, "signature key 'unknown'", id="wrong key"),
            pytest.param({"sub": None}, None, LoginRefused, "no claim sub", id="no subject"),
        ],
    )
    def test_refused_token(
        self, secured: Secured, claims: dict[str, Any], key: str | None, kind: type[LoginRefused], text: str
    ) -> None:
        """The broker reports only `invalid_token`; the error names the claim that does not match, and the file."""
        if key is not None:
            secured.issuer.new_key(key, publish=False)
        login = secured.token_file(secured.issuer.token(**claims))
        error = refusal(secured, "OAUTH", login)
        assert type(error) is kind
        assert text in error.what
        assert str(secured.folder / "token") in error.what
        assert error.code is ExitCode.LOGIN_REFUSED

    @pytest.mark.parametrize(
        ("content", "text"), [(None, "cannot be read"), ("", "is empty"), ("hunter2", "is not a JWT")], ids=str
    )
    def test_unusable_token_file(self, secured: Secured, content: str | None, text: str) -> None:
        """The error has the fault of the file, and is LoginUnavailable, not a refusal of the broker.

        The same client logs in when the file has a token.
        """
        login = secured.token_file(content or "")
        if content is None:
            (secured.folder / "token").unlink()
        error = refusal(secured, "OAUTH", login)
        assert type(error) is LoginUnavailable
        assert text in error.what
        with Cluster([secured.address("OAUTH")], login) as cluster:
            assert type(error_of(cluster)) is LoginUnavailable
            secured.write("token", secured.issuer.token())
            cluster.connect(20)

    @pytest.mark.parametrize(
        ("answer", "kind", "text"),
        [
            pytest.param(Answer.of(401, error="invalid_client"), LoginRefused, "401: invalid_client", id="401"),
            pytest.param(Answer(500, b""), LoginUnavailable, "answers 500", id="500"),
            pytest.param(Answer(200, b"<html>", "text/html"), LoginUnavailable, "text/html", id="HTML"),
            pytest.param(Answer(200, b"{", hold=3.0), LoginUnavailable, "token endpoint", id="no answer in time"),
            pytest.param(Answer(200, b" " * 999_999), LoginUnavailable, "more than", id="too large"),
        ],
    )
    def test_endpoint_without_a_token(
        self, secured: Secured, answer: Answer, kind: type[ClusterError], text: str
    ) -> None:
        """Each fault of the token endpoint has its own error, which names the endpoint."""
        secured.issuer.answer = lambda: answer
        error = refusal(secured, "OAUTH", secured.client_credentials(scope=f"{answer.status}{answer.body[:9]!r}"))
        assert type(error) is kind
        assert text in error.what
        assert secured.issuer.token_endpoint in error.what

    @pytest.mark.long
    def test_a_client_recovers_from_each_fault(self, secured: Secured) -> None:
        """One client has a wrong audience, a wrong key, an unavailable endpoint and an expired secret, in turn.

        Each fault has its error message, and after the end of a fault the same client works again.
        """
        issuer = secured.issuer
        first = issuer.key
        issuer.lifetime = 1.0

        def wrong_audience() -> None:
            issuer.claims = {"aud": "other"}

        def wrong_key() -> None:
            issuer.new_key("unpublished", publish=False)

        def away() -> None:
            issuer.answer = lambda: Answer(503, b"")

        def wrong_secret() -> None:
            issuer.client_secret = "rotated"

        faults = {
            wrong_audience: "audience is now 'other', not 'kafka' as before",
            wrong_key: "signature key is now 'unpublished', not 'first' as before",
            away: "answers 503",
            wrong_secret: "answers 401: invalid_client",
        }
        with connected(secured, "OAUTH", secured.client_credentials(scope="recovers")) as cluster:
            for fault, words in faults.items():
                fault()
                wait_until(lambda words=words: _says(cluster, words), f"the error {words}", limit=20)  # type: ignore[misc]
                issuer.key, issuer.claims, issuer.answer = first, {}, None
                secured.write("client-secret", issuer.client_secret)
                wait_until(lambda: _works(cluster), "the recovery", limit=20)

    def test_new_signing_key_that_the_broker_knows(self, secured: Secured) -> None:
        """The broker fetches a published key; the client needs no change."""
        secured.issuer.lifetime = 1.0
        with connected(secured, "OAUTH", secured.client_credentials(scope="keys")) as cluster:
            secured.issuer.new_key("second")
            wait_until(lambda: _works(cluster), "a login with the new key", limit=30)


def _says(cluster: Cluster, words: str) -> bool:
    reconnect(cluster)
    error = error_of(cluster)
    return error is not None and words in str(error)


def _works(cluster: Cluster) -> bool:
    reconnect(cluster)
    return error_of(cluster) is None


class TestSessions:
    """Connections log in again before their session ends (KIP-368)."""

    @pytest.mark.parametrize("kind", ["endpoint", "file", "scram"])
    def test_one_connection_outlives_many_sessions(self, secured: Secured, kind: str) -> None:
        """Requests continue over one connection for three sessions, with fresh tokens and the current password."""
        secured.issuer.lifetime = SESSION_SECONDS
        asked = len(secured.issuer.requests)
        listener, login = {
            "endpoint": lambda: ("OAUTH", secured.client_credentials(scope="sessions")),
            "file": lambda: ("OAUTH", secured.token_file(secured.issuer.token())),
            "scram": lambda: ("SCRAM", secured.scram(SECRET)),
        }[kind]()
        with connected(secured, listener, login) as cluster:
            cluster.metadata()
            opened = dict(cluster._connections._conns)
            end = time.monotonic() + 3 * SESSION_SECONDS
            while time.monotonic() < end:
                if kind == "file":
                    secured.write("token", secured.issuer.token())
                cluster.metadata()
                time.sleep(0.1)
            assert opened.items() <= dict(cluster._connections._conns).items()
            assert any(connection._reauth.session_lifetime_ms for connection in opened.values())
        if kind == "endpoint":
            assert len(secured.issuer.requests) - asked >= 3

    def test_failed_renewal_is_raised_by_the_next_requests(self, secured: Secured) -> None:
        """If a connection cannot log in again, it is closed, and a later request raises the cause.

        A valid token ends the failure.
        """
        secured.issuer.lifetime = SESSION_SECONDS
        with connected(secured, "OAUTH", secured.token_file(secured.issuer.token())) as cluster:
            cluster.metadata()
            opened = list(cluster._connections._conns.values())
            assert [connection.closed for connection in opened] == [False] * len(opened) != []
            secured.issuer.lifetime = 60.0  # the new token must not expire before the connection logs in again
            secured.write("token", secured.issuer.token(aud="other"))
            found: list[str] = []
            wait_until(lambda: found.append(str(error_of(cluster))) or "audience" in found[-1], "the error", limit=20)
            assert "its audience is now 'other', not 'kafka' as before" in found[-1]
            assert all(connection.closed for connection in opened)
            secured.write("token", secured.issuer.token())
            wait_until(lambda: error_of(cluster) is None, "the recovery", limit=20)


class TestPasswords:
    """Passwords that change while the client runs."""

    def test_rotated_password(self, secured: Secured) -> None:
        """The old password is refused and the error names the file; the new password is used without a restart."""
        try:
            with connected(secured, "SCRAM", secured.scram(SECRET)) as cluster:
                set_password(secured, "second-password")
                wait_until(lambda: _says(cluster, "refuses the login"), "the refusal", limit=20)
                assert str(secured.folder / "password") in str(error_of(cluster))
                secured.write("password", "second-password\n")
                wait_until(lambda: _works(cluster), "the recovery", limit=20)
        finally:
            set_password(secured, SECRET)

    def test_password_file_that_is_gone(self, secured: Secured) -> None:
        """The error names the option and the file."""
        login = secured.scram(SECRET)
        (secured.folder / "password").unlink()
        error = refusal(secured, "SCRAM", login)
        assert type(error) is LoginUnavailable
        assert f"kafka.sasl_password: {secured.folder / 'password'} cannot be read" in error.what


class TestCertificates:
    """Client certificates that change while the client runs."""

    def test_rotated_client_certificate(self, secured: Secured, tmp_path: Path) -> None:
        """The broker refuses an expired certificate; the next connection uses the new certificate."""
        files = secured.certificates
        _expired_certificate(files, tmp_path)
        tls = TlsFiles(files.authority, tmp_path / "client.crt", tmp_path / "client.key")
        with Cluster([secured.address("MTLS")], KafkaLogin(tls=tls)) as cluster:
            error = error_of(cluster)
            assert type(error) is TlsRefused
            assert "does not accept the client certificate" in error.what
            assert "has not expired" in error.advice
            for name in ("client.crt", "client.key"):
                shutil.copy(files.folder / name, tmp_path / f"{name}.new")
                (tmp_path / f"{name}.new").replace(tmp_path / name)
            wait_until(lambda: error_of(cluster) is None, "a connection with the new certificate", limit=10)


def _expired_certificate(files: Certificates, folder: Path) -> None:
    """Write an expired client certificate of the known authority, and its key."""
    shutil.copy(files.key("client"), folder / "client.key")
    arguments = "x509 -req -in client.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 0 -out"
    command = ["openssl", *arguments.split(), str(folder / "client.crt")]
    subprocess.run(command, cwd=files.folder, check=True, capture_output=True)
    time.sleep(1.1)


def test_no_log_line_has_a_secret(secured: Secured) -> None:
    """At level debug, no line of lagwarden or the library has a secret, for accepted and refused logins."""
    written = io.StringIO()
    token = secured.issuer.token()
    bad_token = secured.issuer.token(aud="other")
    try:
        logs.configure("debug", "json", written)
        for login, listener in (
            (secured.client_credentials(scope="logged"), "OAUTH"),
            (secured.token_file(token), "OAUTH"),
            (secured.scram(SECRET), "SCRAM"),
        ):
            with connected(secured, listener, login) as cluster:
                cluster.metadata()
        refusal(secured, "OAUTH", secured.token_file(bad_token))
        refusal(secured, "SCRAM", secured.scram(f"wrong-{SECRET}"))
        plain = KafkaLogin(PasswordLogin("PLAIN", "alice", SecretFile(secured.write("password", SECRET))))
        refusal(secured, "SCRAM", plain)
    finally:
        logs.configure("warning")
        logging.getLogger().handlers[:] = []
    lines = written.getvalue()
    assert "kafka.net" in lines
    assert [line for line in lines.splitlines() if SECRET in line or "eyJ" in line] == []


def test_check_config_shows_the_cause(
    secured: Secured, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`check-config --connect` prints the error and exits with its code; with a valid secret it names the client."""
    secret = secured.write("client-secret", "wrong-secret")
    monkeypatch.setenv("LAGWARDEN_KAFKA_OAUTH_CLIENT_SECRET_FILE", str(secret))
    flags = {
        "kafka.bootstrap_servers": secured.address("OAUTH"),
        "kafka.security_protocol": "SASL_PLAINTEXT",
        "kafka.sasl_mechanism": "OAUTHBEARER",
        "kafka.oauth_token_endpoint": secured.issuer.token_endpoint,
        "kafka.oauth_client_id": "alice",
        "kafka.oauth_scope": "check",
        "http.port": 0,
        "checkpoint.dir": tmp_path / "checkpoint",
    }
    command = ["check-config", "--connect", *(word for k, v in flags.items() for word in ("--set", f"{k}={v}"))]
    assert cli.main(command) == ExitCode.LOGIN_REFUSED
    printed = "".join(capsys.readouterr())
    assert "answers 401: invalid_client" in printed
    assert "wrong-secret" not in printed
    secured.write("client-secret", SECRET)
    time.sleep(3)  # the endpoint is not asked again at once
    assert cli.main(command) == ExitCode.OK
    assert "logged in as alice" in "".join(capsys.readouterr())
