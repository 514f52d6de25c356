"""A broker with logins, certificates and rights: every refusal has its own error."""

import time
from typing import Any

import pytest
import structlog
from confluent_kafka import Consumer, Producer, TopicPartition

from sandbox.ports import LOOPBACK
from sandbox.waiting import eventually, wait_until
from stream.cluster import offsets_topic
from stream.cluster.configs import read_broker_configs, read_replica_sizes, read_topic_configs, size_per_broker
from stream.cluster.describe_groups import Coordinators, DescribedGroup, describe_groups
from stream.cluster.log_tails import TailRequest, read_tails
from stream.cluster.offsets_topic import NAME
from stream.cluster.open_transactions import read_open_transactions
from stream.cluster.partition_offsets import read_ends
from stream.cluster.topology import read_topology
from stream.cluster.transport.errors import (
    ClusterError,
    ErrorReason,
    LoginRefused,
    LoginUnavailable,
    NotAuthorised,
    TlsRefused,
    WrongProtocol,
)
from stream.cluster_facts.watch import ClusterWatch
from stream.config.loader import load
from stream.errors import ExitCode
from stream.groups.placement import partition_for
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.open_transactions import OpenTransactionLookup, TransactionLogLookup
from tests.stream.cluster.broker.secured_broker import PASSWORD, SecuredBroker, cluster_of, connected

pytestmark = pytest.mark.kafka

Row = tuple[dict[str, Any], type[ClusterError], str]
"""The configuration of a client, and its error with a part of the text."""


def logins(secured: SecuredBroker) -> dict[str, dict[str, Any]]:
    """Return a login of each mechanism."""
    files = secured.certificates
    certificate = {"ssl_certificate_file": files.certificate("client"), "ssl_key_file": files.key("client-locked")}
    mutual = {"security_protocol": "SSL", "ssl_ca_file": files.authority, "ssl_key_password": "key-secret"}
    return {
        "PLAIN": secured.login("SASL", "alice", PASSWORD),
        "SCRAM-SHA-256": secured.login("SASL", "alice", PASSWORD, "SCRAM-SHA-256"),
        "SCRAM-SHA-512": secured.login("SASLTLS", "alice", PASSWORD, "SCRAM-SHA-512"),
        "mutual TLS with a locked key": secured.flags("MTLS", **mutual, **certificate),
        "OAUTHBEARER with an endpoint": secured.client_credentials("logs-in"),
        "OAUTHBEARER with an endpoint, again": secured.client_credentials("logs-in"),
        "OAUTHBEARER with a file": secured.token_file(secured.issuer.token()),
    }


def test_each_mechanism_logs_in(secured: SecuredBroker) -> None:
    """Each login describes the offsets topic; a second client of the process uses the same token of the endpoint."""
    asked = len(secured.issuer.requests)
    partitions = {}
    for name, flags in logins(secured).items():
        with connected(flags) as cluster:
            topic = offsets_topic.describe(cluster)
            partitions[name] = None if topic is None else topic.partitions
    assert partitions == dict.fromkeys(partitions, (0, 1, 2, 3))
    assert secured.issuer.requests[asked:] == [{"grant_type": ["client_credentials"], "scope": ["logs-in"]}]


def refused_logins(secured: SecuredBroker) -> dict[str, Row]:
    """Return credentials that are not accepted; the broker's own message is quoted, but not the password."""
    wrong, quoted = "wrong-secret", "Authentication failed"
    plain = secured.login("SASL", "alice", wrong), secured.login("SASL", "unknown", wrong)
    scram = tuple(secured.login("SASL", user, wrong, "SCRAM-SHA-256") for user in ("alice", "unknown"))
    not_enabled = secured.login("SASLTLS", "alice", PASSWORD, "SCRAM-SHA-256")
    return {
        "PLAIN, wrong password": (plain[0], LoginRefused, quoted),
        "PLAIN, unknown user": (plain[1], LoginRefused, quoted),
        "SCRAM, wrong password": (scram[0], LoginRefused, quoted),
        "SCRAM, unknown user": (scram[1], LoginRefused, quoted),
        "mechanism not enabled": (not_enabled, LoginRefused, "mechanism"),
        "no token in the file": (secured.token_file(""), LoginUnavailable, "is empty"),
    }


def wrong_listeners(secured: SecuredBroker) -> dict[str, Row]:
    """Return clients of listeners that speak another protocol."""
    authority = {"security_protocol": "SSL", "ssl_ca_file": secured.certificates.authority}
    tls, login = {"security_protocol": "SSL"}, secured.login("PLAIN", "alice", PASSWORD)
    other_host = secured.login("SASLTLS", "alice", PASSWORD, "SCRAM-SHA-512")
    other_host["kafka.bootstrap_servers"] = f"{LOOPBACK}:{secured.ports['SASLTLS']}"  # the certificate says localhost
    return {
        "no login on a SASL listener": (secured.flags("SASL"), WrongProtocol, "requires a login"),
        "login to a listener without one": (login, WrongProtocol, "does not accept a login"),
        "plaintext to a TLS listener": (secured.flags("SASLTLS"), WrongProtocol, "speaks TLS, not PLAINTEXT"),
        "KRaft controller": (secured.flags("CONTROLLER"), WrongProtocol, "KRaft controller"),
        "TLS to a plaintext listener": (secured.flags("PLAIN", **tls), WrongProtocol, "does not speak TLS"),
        "TLS without login": (secured.flags("SASLTLS", **authority), WrongProtocol, "requires a login"),
        "unknown authority": (secured.flags("SASLTLS", **tls), TlsRefused, "is not accepted"),
        "no client certificate": (secured.flags("MTLS", **authority), TlsRefused, "client certificate"),
        "certificate of another host": (other_host, TlsRefused, "IP address mismatch"),
    }


def test_each_refusal_has_its_own_error(secured: SecuredBroker) -> None:
    """Each refused login and each wrong listener has its own message, on one line without the password."""
    faults = []
    for name, (flags, kind, text) in (refused_logins(secured) | wrong_listeners(secured)).items():
        with cluster_of(flags) as cluster, pytest.raises(ClusterError) as refused:
            cluster.metadata()
        error = refused.value
        if type(error) is not kind or text not in error.what or "\n" in str(error) or "wrong-secret" in str(error):
            faults.append(f"{name}: {error!r}")
    assert faults == []


def test_a_refused_token_is_named_with_its_cause(secured: SecuredBroker) -> None:
    """The broker reports only `invalid_token`; the error names the claim that does not match, and the file."""
    flags = secured.token_file(secured.issuer.token(aud="other"))
    with cluster_of(flags) as cluster, pytest.raises(LoginRefused, match="audience 'other'") as refused:
        cluster.metadata()
    assert str(secured.folder / "token") in refused.value.what
    assert refused.value.code is ExitCode.LOGIN_REFUSED


def test_the_check_of_the_host_name_can_be_disabled(secured: SecuredBroker) -> None:
    """With `kafka.ssl_verify_hostname=false` the certificate of another host is accepted."""
    login = secured.login("SASLTLS", "alice", PASSWORD, "SCRAM-SHA-512")
    login |= {"kafka.bootstrap_servers": f"{LOOPBACK}:{secured.ports['SASLTLS']}", "kafka.ssl_verify_hostname": "false"}
    with connected(login) as cluster:
        assert cluster.cluster_id


class TestRights:
    """Missing rights are reported by topic."""

    @pytest.mark.parametrize("user", ["bob", "eve"])
    def test_offsets_topic_that_may_not_be_read(self, secured: SecuredBroker, user: str) -> None:
        """A topic that may not be described or may not be read is refused before Spark starts."""
        with connected(secured.login("SASL", user, f"{user}-secret")) as cluster, pytest.raises(NotAuthorised) as error:
            offsets_topic.describe(cluster)
        assert "__consumer_offsets" in error.value.what
        assert "lagwarden acls" in error.value.advice

    def test_denied_topic_does_not_affect_a_permitted_one(self, secured: SecuredBroker) -> None:
        """The permitted topic has its offsets; without rights, denied and absent topics have the same error."""
        with connected(secured.login("SASL", "alice", PASSWORD)) as cluster:
            found = read_ends(cluster, ["open", "closed", "absent"]).to_pylist()
        assert [(row["topic"], row["partition"], row["high_watermark"], row["error"]) for row in found] == [
            ("absent", -1, None, "not_authorized"),
            ("closed", -1, None, "not_authorized"),
            ("open", 0, 0, None),
        ]

    def test_each_denied_request_has_its_reason(self, secured: SecuredBroker) -> None:
        """No request raises, and each denied request is reported as denied; bob may describe the offsets topic only."""
        with connected(secured.login("SASL", "bob", "bob-secret")) as cluster:
            layout = read_topology(cluster)
            named = read_topology(cluster, ["open", NAME])
            described = describe_groups(cluster, Coordinators(cluster), ["g"])
            of_topics = read_topic_configs(cluster, [NAME, "open"], ["cleanup.policy"])
            settings = [*of_topics[NAME].values(), *of_topics["open"].values()]
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

    def test_the_watch_of_a_user_without_rights(self, secured: SecuredBroker) -> None:
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

    def test_a_transactional_id_that_may_not_be_described(self, secured: SecuredBroker) -> None:
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
