"""Refused starts of `run`: one line has the remedy, the exit code is specific, and nothing on disk changes."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
from typing import TYPE_CHECKING, Any, Final

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from sandbox.kafka.broker import Broker
from sandbox.ports import LOOPBACK, free_port_pair
from sandbox.waiting import LIMIT
from stream.cli import app as cli
from stream.errors import ExitCode
from tests.integration.failures.refused import assert_refused
from tests.integration.traffic import OFFSETS_TOPIC, commit, make_topic
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(400)]

NOWHERE: Final = f"{LOOPBACK}:9"
"""An address without a broker, for refusals that need none."""
_USERS: Final = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required"
    ' user_alice="alice-secret" user_bob="bob-secret" user_carol="carol-secret";'
)


# --- refusals that need no broker ---


def test_unknown_option_is_named_with_the_nearest_valid_one(tmp_path: Path) -> None:
    """All errors are listed at once, each with the nearest valid name, before any process starts."""
    with Monitor(NOWHERE, tmp_path, {"job.tick_intervall": "5s", "http.port": "zero"}) as monitor:
        assert monitor.ending(60).code == ExitCode.USAGE
        assert "error: the configuration has 2 errors" in monitor.output
        assert "did you mean job.tick_interval?" in monitor.output
        assert "http.port = 'zero'" in monitor.output
        assert monitor.events("http server started") == []
        assert not monitor.checkpoint.exists()


def test_port_in_use_is_refused_at_once(tmp_path: Path) -> None:
    """The line has the port and the option for another one. No checkpoint is created."""
    with socket.socket() as other:
        other.bind((LOOPBACK, 0))
        other.listen()
        port = other.getsockname()[1]
        with contextlib.closing(Monitor(NOWHERE, tmp_path).start("--http-port", str(port))) as monitor:
            assert_refused(monitor, ExitCode.PORT_IN_USE, str(port), "--http-port")
            assert not monitor.checkpoint.exists()


# --- login and rights ---


@dataclasses.dataclass(frozen=True)
class Secured:
    """A broker: alice and carol may read the offsets topic and describe `t`, bob may describe the offsets topic."""

    sasl: str
    """The address that requires a login."""
    admin: str
    """The address where everything is allowed."""


@pytest.fixture(scope="module")
def secured() -> Iterator[Secured]:
    """Start the broker."""
    (port, controller), (sasl, _) = free_port_pair(), free_port_pair()
    broker = Broker(
        properties={
            "listeners": ",".join(
                f"{name}://{LOOPBACK}:{number}"
                for name, number in {"PLAIN": port, "CONTROLLER": controller, "SASL": sasl}.items()
            ),
            "listener.security.protocol.map": "PLAIN:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
            "inter.broker.listener.name": "PLAIN",
            "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl.plain.sasl.jaas.config": _USERS,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
    )
    broker._ports = (port, controller)  # its listeners are not the sandbox's
    with broker:
        make_topic(broker.bootstrap, "t", 1)
        commit(broker.bootstrap, "g", "t", {0: 2})
        rights = [(user, OFFSETS_TOPIC, AclOperation.READ) for user in ("alice", "carol")]
        rights += [(user, "t", AclOperation.DESCRIBE) for user in ("alice", "carol")]
        rights += [(user, OFFSETS_TOPIC, AclOperation.DESCRIBE) for user in ("bob", "carol")]
        grant(broker.bootstrap, *rights)
        yield Secured(f"{LOOPBACK}:{sasl}", broker.bootstrap)


def grant(bootstrap: str, *rights: tuple[str, str, AclOperation]) -> None:
    """Allow users operations on topics."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for done in admin.create_acls([_allow(*right) for right in rights]).values():
        done.result(LIMIT)


def _allow(user: str, name: str, operation: AclOperation) -> AclBinding:
    literal = ResourcePatternType.LITERAL
    return AclBinding(ResourceType.TOPIC, name, literal, f"User:{user}", "*", operation, AclPermissionType.ALLOW)


def login(user: str, password: str) -> dict[str, str]:
    """Return the options of a login."""
    return {
        "kafka.security_protocol": "SASL_PLAINTEXT",
        "kafka.sasl_mechanism": "PLAIN",
        "kafka.sasl_username": user,
        "kafka.sasl_password": password,
    }


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        pytest.param(
            login("alice", "wrong"), ExitCode.LOGIN_REFUSED, ("refuses the login", "sasl_password"), id="wrong password"
        ),
        pytest.param(
            login("bob", "bob-secret"),
            ExitCode.NOT_AUTHORISED,
            ("no right to Read topic __consumer_offsets", "lagwarden acls"),
            id="missing right to read the topic",
        ),
        pytest.param({}, ExitCode.WRONG_PROTOCOL, ("SASL_PLAINTEXT",), id="no login on a SASL listener"),
    ],
)
def test_refusal_of_the_cluster_is_one_line(  # noqa: PLR0917 -- pytest passes them by name
    secured: Secured,
    tmp_path: Path,
    options: Mapping[str, str],
    code: ExitCode,
    words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The process does not retry: it ends with the cause and the remedy, and never prints the password.

    `check-config --connect` has the same exit code, cause and remedy.
    """
    with Monitor(secured.sasl, tmp_path, options) as monitor:
        assert_refused(monitor, code, *words)
        assert "wrong" not in monitor.output
        assert "bob-secret" not in monitor.output
    settings = {"http.port": "0", "checkpoint.dir": str(tmp_path / "checked"), **options}
    if password := settings.pop("kafka.sasl_password", None):
        monkeypatch.setenv("LAGWARDEN_KAFKA_SASL_PASSWORD", password)
    given = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    assert cli.main(["check-config", "--connect", "--bootstrap-servers", secured.sasl, *given]) == code
    printed = "".join(capsys.readouterr())
    assert [word for word in words if word not in printed] == []


@pytest.mark.long
@pytest.mark.parametrize("lost", [(AclOperation.READ,), (AclOperation.READ, AclOperation.DESCRIBE)])
def test_a_revoked_right_ends_the_process(secured: Secured, tmp_path: Path, lost: tuple[AclOperation, ...]) -> None:
    """A revoked right to fetch or to read end offsets gives one line and the exit code of the cause."""
    rights = [("carol", OFFSETS_TOPIC, operation) for operation in lost]
    with Monitor(secured.sasl, tmp_path, login("carol", "carol-secret")) as monitor:
        monitor.wait_ready()
        admin = AdminClient({"bootstrap.servers": secured.admin})
        filters = [AclBindingFilter(*_fields(_allow(*right))) for right in rights]
        for done in admin.delete_acls(filters).values():
            done.result(LIMIT)
        try:
            commit(secured.admin, "g", "t", {0: 3})
            assert_refused(
                monitor, ExitCode.NOT_AUTHORISED, f"no right to Read topic {OFFSETS_TOPIC}", "lagwarden acls"
            )
        finally:
            grant(secured.admin, *rights)


def _fields(acl: AclBinding) -> tuple[Any, ...]:
    return (
        acl.restype,
        acl.name,
        acl.resource_pattern_type,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission_type,
    )
