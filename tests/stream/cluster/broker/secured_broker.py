"""A broker with logins, certificates and rights, and the identity provider that signs its tokens."""

# ruff: noqa: S105 -- the secrets of test users

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Final

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from sandbox.certificates import Certificates
from sandbox.kafka.broker import Broker, create_topics
from sandbox.kafka.jars import oauth_jars
from sandbox.kafka.token_issuer import TokenIssuer
from sandbox.ports import LOOPBACK, free_port_pair
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.config.kafka_login import login_from_options
from stream.config.loader import load

PASSWORD: Final = 'al"ice\\ secret'
"""The password has a quote, a backslash and a blank, which break a login that is built as text."""
SESSION_SECONDS: Final = 4.0
"""The longest session of the listeners OAUTH and SCRAM: connections must log in again before its end (KIP-368)."""
PROTOCOLS: Final = {
    "PLAIN": "PLAINTEXT",
    "CONTROLLER": "PLAINTEXT",
    "SASL": "SASL_PLAINTEXT",
    "SASLTLS": "SASL_SSL",
    "MTLS": "SSL",
    "OAUTH": "SASL_PLAINTEXT",
    "SCRAM": "SASL_PLAINTEXT",
}
"""The protocol of each listener. PLAIN and CONTROLLER have no login and all rights, for the set-up."""

_SECURITY: Final = "org.apache.kafka.common.security"
_USERS: Final = (
    f"{_SECURITY}.plain.PlainLoginModule required"
    ' user_alice="al\\\\"ice\\\\\\\\ secret" user_bob="bob-secret" user_eve="eve-secret";'
)
_SCRAM: Final = f"{_SECURITY}.scram.ScramLoginModule required;"
_OAUTH: Final = f"{_SECURITY}.oauthbearer.OAuthBearer"
_RIGHTS: Final = [
    ("alice", "__consumer_offsets", AclOperation.READ),
    ("alice", "open", AclOperation.DESCRIBE),
    ("alice", "held", AclOperation.DESCRIBE),
    ("alice", "__transaction_state", AclOperation.READ),
    ("client", "__consumer_offsets", AclOperation.READ),
    ("bob", "__consumer_offsets", AclOperation.DESCRIBE),
]


@dataclasses.dataclass
class SecuredBroker:
    """The ports by listener, the identity provider, and the folder with the secrets of the tests."""

    client_secret: ClassVar = "hunter2"

    ports: dict[str, int]
    issuer: TokenIssuer
    certificates: Certificates
    folder: Path

    def address(self, listener: str) -> str:
        """Return the address of a listener, under the host name of its certificate."""
        return f"{'localhost' if 'TLS' in listener else LOOPBACK}:{self.ports[listener]}"

    def write(self, name: str, text: str) -> Path:
        """Write a file as Kubernetes does: at once, by a rename."""
        draft, path = self.folder / f"{name}.draft", self.folder / name
        draft.write_text(text)
        draft.replace(path)
        return path

    def flags(self, listener: str, **options: Any) -> dict[str, Any]:
        return {
            f"kafka.{name}": value for name, value in {"bootstrap_servers": self.address(listener), **options}.items()
        }

    def login(self, listener: str, user: str, password: str, mechanism: str = "PLAIN") -> dict[str, Any]:
        authority = {"ssl_ca_file": self.certificates.authority} if listener == "SASLTLS" else {}
        protocol = "SASL_SSL" if authority else "SASL_PLAINTEXT"
        user_options = {"sasl_mechanism": mechanism, "sasl_username": user, "sasl_password": password}
        return self.flags(listener, security_protocol=protocol, **user_options, **authority)

    def password_file(self, password: str) -> dict[str, Any]:
        """Return the configuration of alice's login to the listener SCRAM with the password in a file."""
        login = self.login("SCRAM", "alice", "", "SCRAM-SHA-256")
        del login["kafka.sasl_password"]
        return login | {"kafka.sasl_password_file": self.write("password", password)}

    def token_file(self, token: str) -> dict[str, Any]:
        return self._oauth(oauth_token_file=self.write("token", token))

    def client_credentials(self, scope: str) -> dict[str, Any]:
        """Return the configuration of a login with tokens of the endpoint; logins of one scope share a token."""
        endpoint = {"oauth_token_endpoint": self.issuer.token_endpoint, "oauth_client_id": "alice"}
        secret = self.write("client-secret", self.client_secret)
        return self._oauth(**endpoint, oauth_client_secret_file=secret, oauth_scope=scope)

    def _oauth(self, **options: Any) -> dict[str, Any]:
        return self.flags("OAUTH", security_protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER", **options)


def cluster_of(flags: dict[str, Any]) -> Cluster:
    """Return the client that lagwarden has with this configuration."""
    kafka = load(flags=flags).kafka
    return Cluster(kafka.bootstrap_servers, login_from_options(kafka), request_timeout=10.0)


@contextlib.contextmanager
def connected(flags: dict[str, Any]) -> Iterator[Cluster]:
    """Connect as lagwarden would with this configuration."""
    with cluster_of(flags) as cluster:
        cluster.connect(20)
        yield cluster


def error_of(cluster: Cluster) -> ClusterError | None:
    try:
        cluster.metadata()
    except ClusterError as error:
        return error
    return None


@contextlib.contextmanager
def secured_broker(certificates: Certificates, folder: Path) -> Iterator[SecuredBroker]:
    """Run the identity provider, and a broker that checks its tokens with Kafka's own validator, with users and topics.

    `folder` gets the secrets of the tests.
    """
    with TokenIssuer("alice", SecuredBroker.client_secret) as issuer:
        pairs = [free_port_pair() for _ in range(4)]
        ports = dict(zip(PROTOCOLS, (port for pair in pairs for port in pair), strict=False))
        made = SecuredBroker(ports, issuer, certificates, folder)
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={issuer.keys_url}"
        broker = Broker(properties=_properties(made), jars=oauth_jars(), jvm=[allowed])
        broker._ports = (ports["PLAIN"], ports["CONTROLLER"])  # its listeners are not the sandbox's
        with broker:
            _add_users_and_rights(AdminClient({"bootstrap.servers": broker.bootstrap}))
            create_topics(broker.bootstrap, {"open": 1, "closed": 1, "held": 1})
            create_topics(broker.bootstrap, {"__consumer_offsets": 4}, {"cleanup.policy": "compact"})
            yield made


def _properties(secured: SecuredBroker) -> dict[str, str]:
    issuer, certificates = secured.issuer, secured.certificates
    oauth, scram = "listener.name.oauth", "listener.name.scram"
    session = str(int(SESSION_SECONDS * 1000))
    return {
        "listeners": ",".join(f"{name}://{secured.address(name)}" for name in PROTOCOLS),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()),
        "inter.broker.listener.name": "PLAIN",
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "listener.name.sasl.plain.sasl.jaas.config": _USERS,
        "listener.name.sasl.scram-sha-256.sasl.jaas.config": _SCRAM,
        "listener.name.sasltls.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.sasltls.scram-sha-512.sasl.jaas.config": _SCRAM,
        f"{scram}.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        f"{scram}.scram-sha-256.sasl.jaas.config": _SCRAM,
        f"{scram}.scram-sha-256.connections.max.reauth.ms": session,
        f"{oauth}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{oauth}.oauthbearer.sasl.jaas.config": f"{_OAUTH}LoginModule required;",
        f"{oauth}.oauthbearer.sasl.server.callback.handler.class": f"{_OAUTH}ValidatorCallbackHandler",
        f"{oauth}.sasl.oauthbearer.jwks.endpoint.url": issuer.keys_url,
        f"{oauth}.sasl.oauthbearer.expected.audience": issuer.audience,
        f"{oauth}.sasl.oauthbearer.expected.issuer": issuer.issuer,
        f"{oauth}.sasl.oauthbearer.clock.skew.seconds": "0",
        f"{oauth}.oauthbearer.connections.max.reauth.ms": session,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.both("broker")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority),
        "listener.name.mtls.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/,DEFAULT",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }  # fmt: skip


def _add_users_and_rights(admin: AdminClient) -> None:
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        upsert = UserScramCredentialUpsertion("alice", ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
        admin.alter_user_scram_credentials([upsert])["alice"].result(30)
    kind, literal, allow = ResourceType.TOPIC, ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    rights = [AclBinding(kind, topic, literal, f"User:{user}", "*", right, allow) for user, topic, right in _RIGHTS]
    for done in admin.create_acls(rights).values():
        done.result(30)
