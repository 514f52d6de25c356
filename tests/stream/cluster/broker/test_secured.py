"""A broker with logins, certificates and rights: every refusal has its own error."""

# ruff: noqa: S105 -- the passwords of test users
from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from confluent_kafka import Consumer, Producer, TopicPartition
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

from sandbox.kafka.broker import Broker
from sandbox.kafka.topics import create_topics
from sandbox.ports import LOOPBACK, free_port_pair
from sandbox.waiting import eventually, wait_until
from stream.cli import app as cli
from stream.cluster import offsets_topic
from stream.cluster.configs import read_broker_configs, read_topic_config
from stream.cluster.coordinators import Coordinators
from stream.cluster.describe_groups import DescribedGroup, describe_groups
from stream.cluster.log_dirs import read_replica_sizes, size_per_broker
from stream.cluster.log_tails import TailRequest, read_tails
from stream.cluster.offsets_topic import NAME
from stream.cluster.open_transactions import read_open_transactions
from stream.cluster.partition_offsets import read_ends
from stream.cluster.topology import read_topology
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError, LoginRefused, NotAuthorised, TlsRefused, WrongProtocol
from stream.cluster_facts.watch import ClusterWatch
from stream.config.kafka_login import login_from_options
from stream.config.loader import load
from stream.errors import ExitCode
from stream.groups.placement import partition_for
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.open_transactions import OpenTransactionLookup
from stream.tick.lookups.transaction_log import TransactionLogLookup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sandbox.certificates import Certificates

pytestmark = pytest.mark.kafka

PASSWORD = 'al"ice\\ secret'
"""The password has a quote, a backslash and a blank, which break a login that is built as text."""

_JAAS = "org.apache.kafka.common.security"
_USERS = (
    f"{_JAAS}.plain.PlainLoginModule required"
    ' user_alice="al\\\\"ice\\\\\\\\ secret" user_bob="bob-secret" user_eve="eve-secret";'
)
_SCRAM = f"{_JAAS}.scram.ScramLoginModule required;"


class Secured:
    """The broker's listeners by name, and what to configure to log in to each."""

    def __init__(self, ports: dict[str, int], certificates: Certificates) -> None:
        self.ports = ports
        self.certificates = certificates

    def flags(self, listener: str, **options: Any) -> dict[str, Any]:
        """Return the configuration of a client of this listener."""
        flags = {"bootstrap_servers": f"{_host(listener)}:{self.ports[listener]}", **options}
        return {f"kafka.{name}": value for name, value in flags.items()}

    def login(
        self, listener: str, user: str, password: str, mechanism: str = "PLAIN", **options: Any
    ) -> dict[str, Any]:
        """Return the configuration of a login."""
        tls = listener == "SASLTLS"
        return self.flags(
            listener,
            security_protocol="SASL_SSL" if tls else "SASL_PLAINTEXT",
            sasl_mechanism=mechanism,
            sasl_username=user,
            sasl_password=password,
            **({"ssl_ca_file": self.certificates.authority} if tls else {}),
            **options,
        )


def _host(listener: str) -> str:
    """Return the host name of a listener, which its certificate contains."""
    return "localhost" if "TLS" in listener else LOOPBACK


@pytest.fixture(scope="module")
def secured(certificates: Certificates) -> Iterator[Secured]:
    """Run a broker with the listeners PLAIN (set-up), SASL, SASLTLS and MTLS, with users, rights and two topics."""
    pairs = [free_port_pair() for _ in range(3)]
    names = ("PLAIN", "CONTROLLER", "SASL", "SASLTLS", "MTLS")
    ports = dict(zip(names, (port for pair in pairs for port in pair), strict=False))
    broker = Broker(properties=_properties(ports, certificates))
    broker._ports = (ports["PLAIN"], ports["CONTROLLER"])  # its listeners are not the sandbox's
    with broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        _add_users_and_rights(admin)
        create_topics(broker.bootstrap, {"open": 1, "closed": 1, "held": 1})
        create_topics(broker.bootstrap, {"__consumer_offsets": 4}, {"cleanup.policy": "compact"})
        yield Secured(ports, certificates)


def _properties(ports: dict[str, int], certificates: Certificates) -> dict[str, str]:
    protocols = {
        "PLAIN": "PLAINTEXT",
        "CONTROLLER": "PLAINTEXT",
        "SASL": "SASL_PLAINTEXT",
        "SASLTLS": "SASL_SSL",
        "MTLS": "SSL",
    }
    return {
        "listeners": ",".join(f"{name}://{_host(name)}:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "inter.broker.listener.name": "PLAIN",
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "listener.name.sasl.plain.sasl.jaas.config": _USERS,
        "listener.name.sasl.scram-sha-256.sasl.jaas.config": _SCRAM,
        "listener.name.sasltls.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.sasltls.scram-sha-512.sasl.jaas.config": _SCRAM,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.both("broker")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority),
        "listener.name.mtls.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/,DEFAULT",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        # The listeners PLAIN and CONTROLLER, for the set-up.
        "super.users": "User:ANONYMOUS",
    }  # fmt: skip


def _add_users_and_rights(admin: AdminClient) -> None:
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        upsert = UserScramCredentialUpsertion("alice", ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
        admin.alter_user_scram_credentials([upsert])["alice"].result(30)
    rights = [
        ("alice", "__consumer_offsets", AclOperation.READ),
        ("alice", "open", AclOperation.DESCRIBE),
        ("alice", "held", AclOperation.DESCRIBE),
        ("alice", "__transaction_state", AclOperation.READ),
        ("client", "__consumer_offsets", AclOperation.READ),
        ("bob", "__consumer_offsets", AclOperation.DESCRIBE),
    ]
    bindings = [
        AclBinding(
            ResourceType.TOPIC,
            topic,
            ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        for user, topic, operation in rights
    ]
    for done in admin.create_acls(bindings).values():
        done.result(30)


@contextlib.contextmanager
def connected(flags: dict[str, Any], seconds: float = 10.0) -> Iterator[Cluster]:
    """Connect as lagwarden would with this configuration."""
    kafka = load(flags=flags).kafka
    with Cluster(kafka.bootstrap_servers, login_from_options(kafka), request_timeout=seconds) as cluster:
        cluster.metadata()
        yield cluster


def refused(flags: dict[str, Any]) -> ClusterError:
    """Try to connect, and return the error."""
    with pytest.raises(ClusterError) as error, connected(flags):
        pass
    return error.value


@pytest.mark.parametrize(
    ("listener", "mechanism"), [("SASL", "PLAIN"), ("SASL", "SCRAM-SHA-256"), ("SASLTLS", "SCRAM-SHA-512")]
)
def test_a_password_logs_in(secured: Secured, listener: str, mechanism: str) -> None:
    """A password logs in with and without TLS, and the topic is described."""
    flags = secured.login(listener, "alice", PASSWORD, mechanism)
    with connected(flags) as cluster:
        topic = offsets_topic.describe(cluster)
        assert topic is not None
        assert topic.partitions == (0, 1, 2, 3)


@pytest.mark.parametrize("key", ["client", "client-locked"])
def test_the_client_shows_its_certificate(secured: Secured, key: str) -> None:
    """Mutual TLS works with a plain and with an encrypted key from PEM files."""
    files = secured.certificates
    flags = secured.flags(
        "MTLS",
        security_protocol="SSL",
        ssl_ca_file=files.authority,
        ssl_certificate_file=files.certificate("client"),
        ssl_key_file=files.key(key),
        **({"ssl_key_password": "key-secret"} if key == "client-locked" else {}),
    )
    with connected(flags) as cluster:
        assert offsets_topic.describe(cluster) is not None


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
@pytest.mark.parametrize("user", ["alice", "unknown-user"])
def test_wrong_password_is_refused_with_the_message_of_the_broker(secured: Secured, mechanism: str, user: str) -> None:
    """The error has the broker's own message, although the broker closes the connection, but not the password."""
    error = refused(secured.login("SASL", user, "wrong-secret", mechanism))
    assert type(error) is LoginRefused
    assert "Authentication failed" in error.what
    assert "wrong-secret" not in str(error)
    assert not error.passes


@pytest.mark.parametrize(
    ("listener", "options", "kind", "text"),
    [
        pytest.param("SASL", {}, WrongProtocol, "requires a login", id="no login on a SASL listener"),
        pytest.param("SASLTLS", {}, WrongProtocol, "speaks TLS, not PLAINTEXT", id="plaintext to a TLS listener"),
        pytest.param("CONTROLLER", {}, WrongProtocol, "KRaft controller", id="KRaft controller"),
        pytest.param(
            "PLAIN", {"security_protocol": "SSL"}, WrongProtocol, "does not speak TLS", id="TLS to a plaintext listener"
        ),
        pytest.param(
            "SASLTLS",
            {"security_protocol": "SSL", "ssl_ca_file": "CA"},
            WrongProtocol,
            "requires a login",
            id="TLS without login",
        ),
        pytest.param("SASLTLS", {"security_protocol": "SSL"}, TlsRefused, "is not accepted", id="unknown authority"),
        pytest.param(
            "MTLS",
            {"security_protocol": "SSL", "ssl_ca_file": "CA"},
            TlsRefused,
            "client certificate",
            id="no client certificate",
        ),
    ],
)
def test_wrong_listener_is_named(
    secured: Secured, listener: str, options: dict[str, Any], kind: type[ClusterError], text: str
) -> None:
    """Each kind of wrong listener has its own message, and the error is permanent."""
    options = {name: secured.certificates.authority if value == "CA" else value for name, value in options.items()}
    error = refused(secured.flags(listener, **options))
    assert type(error) is kind
    assert text in error.what
    assert not error.passes


def test_login_to_a_listener_without_one(secured: Secured) -> None:
    """A login to a listener without authentication is a wrong protocol, not a wrong password."""
    error = refused(secured.login("PLAIN", "alice", PASSWORD))
    assert type(error) is WrongProtocol
    assert "does not accept a login" in error.what


def test_mechanism_that_is_not_offered(secured: Secured) -> None:
    """The error names the mechanism as the cause."""
    error = refused(secured.login("SASLTLS", "alice", PASSWORD, "SCRAM-SHA-256"))
    assert type(error) is LoginRefused
    assert "mechanism" in error.what


def test_certificate_of_another_host(secured: Secured) -> None:
    """The host name is checked, unless `kafka.ssl_verify_hostname` is false."""
    login = secured.login("SASLTLS", "alice", PASSWORD, "SCRAM-SHA-512")
    login |= {"kafka.bootstrap_servers": f"{LOOPBACK}:{secured.ports['SASLTLS']}"}  # the certificate says localhost
    error = refused(login)
    assert type(error) is TlsRefused
    assert "IP address mismatch" in error.what
    with connected(login | {"kafka.ssl_verify_hostname": "false"}) as cluster:
        assert cluster.cluster_id


class TestRights:
    """Missing rights are reported by topic."""

    @pytest.mark.parametrize("user", ["bob", "eve"])
    def test_offsets_topic_that_may_not_be_read(self, secured: Secured, user: str) -> None:
        """A topic that may not be described or may not be read is refused before Spark starts."""
        with connected(secured.login("SASL", user, f"{user}-secret")) as cluster, pytest.raises(NotAuthorised) as error:
            offsets_topic.describe(cluster)
        assert "__consumer_offsets" in error.value.what
        assert "lagwarden acls" in error.value.advice

    def test_denied_topic_does_not_affect_a_permitted_one(self, secured: Secured) -> None:
        """The permitted topic has its offsets; without rights, denied and absent topics have the same error."""
        with connected(secured.login("SASL", "alice", PASSWORD)) as cluster:
            found = read_ends(cluster, ["open", "closed", "absent"]).to_pylist()
        assert [(row["topic"], row["partition"], row["high_watermark"], row["error"]) for row in found] == [
            ("absent", -1, None, "not_authorized"),
            ("closed", -1, None, "not_authorized"),
            ("open", 0, 0, None),
        ]

    def test_each_denied_request_has_its_reason(self, secured: Secured) -> None:
        """No request raises, and each denied request is reported as denied; bob may describe the offsets topic only."""
        with connected(secured.login("SASL", "bob", "bob-secret")) as cluster:
            layout = read_topology(cluster)
            named = read_topology(cluster, ["open", NAME])
            described = describe_groups(cluster, Coordinators(cluster), ["g"])
            settings = [*read_topic_config(cluster, NAME).values(), *read_topic_config(cluster, "open").values()]
            settings += read_broker_configs(cluster, [1], ["offsets.retention.minutes"])[1].values()
            transactions = read_open_transactions(cluster, NAME, [0])
            sizes = read_replica_sizes(cluster, {NAME: [0]})
            tails = read_tails(cluster, [TailRequest("open", 0, 0, 1), TailRequest(NAME, 0, 0, 1)])
        assert layout.topics["topic"].to_pylist() == [NAME]
        assert (layout.controller, layout.controller_error) == (None, ErrorReason.NOT_AUTHORIZED)
        assert named.topics["error"].to_pylist() == [None, "not_authorized"]
        assert named.absent() == []
        assert described == {"g": DescribedGroup("g", reason=ErrorReason.NOT_AUTHORIZED)}
        assert {setting.reason for setting in settings} == {ErrorReason.NOT_AUTHORIZED}
        for table in (transactions, sizes):
            assert table["error"].to_pylist() == ["not_authorized"]
        assert size_per_broker(sizes) == {1: None}
        assert [(tail.data_end, tail.reason) for tail in tails] == [(None, ErrorReason.NOT_AUTHORIZED)] * 2

    def test_the_watch_of_a_user_without_rights(self, secured: Secured) -> None:
        """Denied facts are counted and have no series; the missing rights are logged once; other facts are known."""
        flags = {**secured.login("SASL", "bob", "bob-secret"), "metrics.preset": "full"}
        watch = ClusterWatch.from_config(load(flags=flags), lambda: None)
        with structlog.testing.capture_logs() as lines, watch:
            wait_until(lambda: bool(lines), "the line")
        published = watch.current()
        assert published is not None
        assert [line["grant"] for line in lines] == [
            ["Describe on the cluster", "DescribeConfigs on the cluster", "DescribeConfigs on topic *"]
        ]
        unknown = {(row["fact"], row["reason"]) for row in published.facts.unknown_facts.to_pylist()}
        refused = {"controller", "offsets topic size", "broker setting", "topic setting", "reassignments", "quotas"}
        assert unknown == {(fact, "not_authorized") for fact in refused}
        shown = {family.metric.name for family in published.exposition.families}
        assert "lagwarden_topic_partition_leader" in shown
        assert not shown & {"lagwarden_controller", "lagwarden_offsets_topic_bytes", "lagwarden_config_info"}
        assert "lagwarden_offsets_topic_cleaner_suspect" not in shown

    def test_a_transactional_id_that_may_not_be_described(self, secured: Secured) -> None:
        """The transaction log has the transactional id that the leader of the offsets topic does not report.

        Alice may read the offsets topic, and its leader reports the producer of the open transaction. She may not
        describe the transactional id, and she may not read the topic `held`. The transaction log has the transactional
        id and the transaction of both topics, and shows that the coordinator will end the transaction.
        """
        bootstrap = f"{LOOPBACK}:{secured.ports['PLAIN']}"
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "secret-id"})
        eventually(lambda: producer.init_transactions(30))
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "held"})
        producer.begin_transaction()
        offsets, group = [TopicPartition("open", 0, 1)], consumer.consumer_group_metadata()
        eventually(lambda: producer.send_offsets_to_transaction(offsets, group, 30))
        producer.produce("held", b"x")
        producer.flush(30)
        with connected(secured.login("SASL", "alice", PASSWORD)) as cluster:
            (row,) = read_open_transactions(cluster, NAME, range(4)).to_pylist()
            log = TransactionLogLookup(cluster, LookupLimits(), time.monotonic)
            lookup = OpenTransactionLookup(cluster, LookupLimits(), time.monotonic, log)
            held = {(NAME, row["partition"]): row["start_offset"], ("held", 0): 0}
            transactions = lookup.update(held, int(time.time() * 1000))
        producer.abort_transaction(30)
        consumer.close()
        assert row["partition"] == partition_for("held", 4)
        assert row["producer_id"] >= 0
        assert (row["transactional_id"], row["hanging"], row["error"]) == (None, None, "not_found")
        for topic, start in ((NAME, row["start_offset"]), ("held", 0)):
            (named,) = transactions[topic].to_pylist()
            assert (named["producer_id"], named["start_offset"]) == (row["producer_id"], start)
            assert (named["transactional_id"], named["state"]) == ("secret-id", "Ongoing")
            assert (named["hanging"], named["error"]) == (False, None)


@pytest.mark.parametrize(
    ("login", "code", "says"),
    [
        (("alice", PASSWORD), ExitCode.OK, "__consumer_offsets has 4 partitions and is readable"),
        (("alice", "wrong-secret"), ExitCode.LOGIN_REFUSED, "refuses the login"),
        (("eve", "eve-secret"), ExitCode.NOT_AUTHORISED, "no right to Read topic __consumer_offsets"),
    ],
)
def test_check_config_reports_login_and_rights(  # noqa: PLR0917 -- pytest passes them by name
    secured: Secured,
    login: tuple[str, str],
    code: ExitCode,
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Login and rights are checked on the cluster; each outcome has its own exit code; no secret is printed."""
    flags = secured.login("SASL", *login)
    flags |= {"http.port": 0, "checkpoint.dir": tmp_path / "checkpoint"}
    monkeypatch.setenv("LAGWARDEN_KAFKA_SASL_PASSWORD", flags.pop("kafka.sasl_password"))
    settings = [word for key, value in flags.items() for word in ("--set", f"{key}={value}")]
    assert cli.main(["check-config", "--connect", *settings]) == code
    printed = "".join(capsys.readouterr())
    assert says in printed
    assert login[1] not in printed
