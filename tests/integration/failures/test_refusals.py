"""Refused starts of `run`: one line has the remedy, the exit code is specific, and nothing on disk changes."""

import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

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

from sandbox.ports import LOOPBACK
from stream.cli import app as cli
from stream.errors import ExitCode
from tests.integration.failures.refused import assert_refused
from tests.integration.failures.secured_broker import SecuredBroker, login
from tests.integration.traffic import OFFSETS_TOPIC, commit, make_topic
from tests.support.in_process_job import InProcessJob, Jvm
from tests.support.processes import LIMIT, patience

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(400))]

NOWHERE: Final = f"{LOOPBACK}:9"
"""An address without a broker, for refusals that need none."""


def test_port_in_use_is_refused_at_once(tmp_path: Path) -> None:
    """The line has the port and the option for another one. No checkpoint is created."""
    with socket.socket() as other:
        other.bind((LOOPBACK, 0))
        other.listen()
        port = other.getsockname()[1]
        job = InProcessJob(NOWHERE, tmp_path, None).start("--http-port", str(port))
        assert_refused(job, ExitCode.PORT_IN_USE, str(port), "--http-port")
        assert not job.checkpoint.exists()


@pytest.fixture(scope="module")
def secured() -> Iterator[SecuredBroker]:
    """Start a broker: alice and carol may read the offsets topic and describe `t`, bob may describe that topic."""
    with SecuredBroker({user: f"{user}-secret" for user in ("alice", "bob", "carol")}) as broker:
        make_topic(broker.bootstrap, "t", 1)
        commit(broker.bootstrap, "g", "t", {0: 2})
        rights = [(user, OFFSETS_TOPIC, AclOperation.READ) for user in ("alice", "carol")]
        rights += [(user, "t", AclOperation.DESCRIBE) for user in ("alice", "carol")]
        rights += [(user, OFFSETS_TOPIC, AclOperation.DESCRIBE) for user in ("bob", "carol")]
        grant(broker.bootstrap, *rights)
        yield broker


def grant(bootstrap: str, *rights: tuple[str, str, AclOperation]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for done in admin.create_acls([_allow(*right) for right in rights]).values():
        done.result(LIMIT)


def _allow(user: str, name: str, operation: AclOperation) -> AclBinding:
    literal = ResourcePatternType.LITERAL
    return AclBinding(ResourceType.TOPIC, name, literal, f"User:{user}", "*", operation, AclPermissionType.ALLOW)


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
    secured: SecuredBroker,
    tmp_path: Path,
    options: Mapping[str, str],
    code: ExitCode,
    words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The job does not retry: it ends with the cause and the remedy, and never prints the password.

    `check-config --connect` has the same exit code, cause and remedy.
    """
    with InProcessJob(secured.sasl, tmp_path, None, options) as job:
        assert_refused(job, code, *words)
        assert "wrong" not in job.output
        assert "bob-secret" not in job.output
    settings = {"http.port": "0", "checkpoint.dir": str(tmp_path / "checked"), **options}
    if password := settings.pop("kafka.sasl_password", None):
        monkeypatch.setenv("LAGWARDEN_KAFKA_SASL_PASSWORD", password)
    given = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    assert cli.main(["check-config", "--connect", "--bootstrap-servers", secured.sasl, *given]) == code
    printed = "".join(capsys.readouterr())
    assert [word for word in words if word not in printed] == []


@pytest.mark.long
@pytest.mark.parametrize("lost", [(AclOperation.READ,), (AclOperation.READ, AclOperation.DESCRIBE)])
def test_a_revoked_right_ends_the_job(
    secured: SecuredBroker, jvm: Jvm, tmp_path: Path, lost: tuple[AclOperation, ...]
) -> None:
    """A revoked right to fetch or to read end offsets gives one line and the exit code of the cause."""
    rights = [("carol", OFFSETS_TOPIC, operation) for operation in lost]
    with InProcessJob(secured.sasl, tmp_path, jvm, login("carol", "carol-secret")) as job:
        job.wait_ready()
        admin = AdminClient({"bootstrap.servers": secured.bootstrap})
        filters = [AclBindingFilter(*_fields(_allow(*right))) for right in rights]
        for done in admin.delete_acls(filters).values():
            done.result(LIMIT)
        try:
            commit(secured.bootstrap, "g", "t", {0: 3})
            assert_refused(job, ExitCode.NOT_AUTHORISED, f"no right to Read topic {OFFSETS_TOPIC}", "lagwarden acls")
        finally:
            grant(secured.bootstrap, *rights)


def _fields(acl: AclBinding) -> tuple[Any, ...]:
    place = (acl.restype, acl.name, acl.resource_pattern_type)
    return (*place, acl.principal, acl.host, acl.operation, acl.permission_type)
