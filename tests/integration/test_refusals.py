"""What `run` refuses: one clear line that says what to do, a code of its own, and nothing lost."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
from typing import TYPE_CHECKING, Any, Final

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from sandbox.broker import Broker
from sandbox.patience import LIMIT
from sandbox.ports import LOOPBACK, free_port_pair
from stream.exits import ExitCode
from tests.integration.traffic import commit, make_topic, offsets_ends
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.conftest import MakeBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(400)]

NOWHERE: Final = f"{LOOPBACK}:9"
"""Where no broker is: for what is refused before one is asked."""
READERS_GROUPS: Final = "spark-kafka-source-"
"""How the names of the groups begin that Spark's source gives to its consumers, which never join one."""
_USERS: Final = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required"
    ' user_alice="alice-secret" user_bob="bob-secret" user_carol="carol-secret";'
)


def assert_refused(monitor: Monitor, code: ExitCode, *words: str) -> None:
    """See the process end with the code and one line of error that holds these words."""
    ending = monitor.ending(90)
    assert (ending.code, ending.left_behind) == (code, ()), monitor.said
    said = monitor.said
    assert "Traceback" not in said
    (line,) = (line for line in said.splitlines() if line.startswith("error: "))
    assert [word for word in words if word not in line] == [], line


# --- what is refused before a broker is asked ---


def test_wrong_option_is_named_with_the_one_that_was_meant(tmp_path: Path) -> None:
    """All faults at once, each with its nearest name, and no JVM is started for it."""
    with Monitor(NOWHERE, tmp_path, {"job.tick_intervall": "5s", "http.port": "zero"}) as monitor:
        assert monitor.ending(60).code == ExitCode.USAGE
        assert "error: the configuration has 2 faults" in monitor.said
        assert "did you mean job.tick_interval?" in monitor.said
        assert "http.port = 'zero'" in monitor.said
        assert not monitor.checkpoint.exists()


def test_port_in_use_is_told_at_once(tmp_path: Path) -> None:
    """Before a JVM is started: the port, and how to choose another."""
    with socket.socket() as other:
        other.bind((LOOPBACK, 0))
        other.listen()
        port = other.getsockname()[1]
        with contextlib.closing(Monitor(NOWHERE, tmp_path).start("--http-port", str(port))) as monitor:
            assert_refused(monitor, ExitCode.PORT_IN_USE, str(port), "--http-port")


# --- login and rights ---


@pytest.fixture(scope="module")
def secured() -> Iterator[str]:
    """Give the address of a listener: alice has all rights, bob only sees the offsets topic, carol lacks the groups."""
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
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        rights = [("alice", "__consumer_offsets", AclOperation.READ), ("alice", "t", AclOperation.DESCRIBE)]
        rights += [("carol", "__consumer_offsets", AclOperation.READ), ("carol", "t", AclOperation.DESCRIBE)]
        rights += [("bob", "__consumer_offsets", AclOperation.DESCRIBE)]
        bindings = [_allow(*right) for right in rights]
        bindings.append(_allow("alice", READERS_GROUPS, AclOperation.READ, ResourceType.GROUP))
        for done in admin.create_acls(bindings).values():
            done.result(LIMIT)
        yield f"{LOOPBACK}:{sasl}"


def _allow(user: str, name: str, operation: AclOperation, kind: ResourceType = ResourceType.TOPIC) -> AclBinding:
    pattern = ResourcePatternType.PREFIXED if kind == ResourceType.GROUP else ResourcePatternType.LITERAL
    return AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)


def login(user: str, password: str) -> dict[str, str]:
    """Give the options of a login."""
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
            login("alice", "wrong"), ExitCode.LOGIN_REFUSED, ("refuses the login", "sasl_password"), id="password"
        ),
        pytest.param(
            login("bob", "bob-secret"),
            ExitCode.NOT_AUTHORISED,
            ("no right to Read topic __consumer_offsets", "lagwarden acls"),
            id="topic one may not read",
        ),
        pytest.param({}, ExitCode.WRONG_PROTOCOL, ("SASL_PLAINTEXT",), id="no login where one is wanted"),
    ],
)
def test_what_the_cluster_refuses_is_told_in_one_line(
    secured: str, tmp_path: Path, options: Mapping[str, str], code: ExitCode, words: tuple[str, ...]
) -> None:
    """Waiting does not help here: it ends with the cause and what to do, and never with the password."""
    with Monitor(secured, tmp_path, options) as monitor:
        assert_refused(monitor, code, *words)
        assert "wrong" not in monitor.said
        assert "bob-secret" not in monitor.said


def test_good_login_is_used_by_both_clients(secured: str, tmp_path: Path) -> None:
    """With a user that may read the offsets topic and see the topics, it becomes ready and shows lag."""
    with Monitor(secured, tmp_path, login("alice", "alice-secret")) as monitor:
        assert monitor.wait_ready().metrics().lags == {("g", "t", 0): 8}
        assert "alice-secret" not in monitor.said


@pytest.mark.xfail(strict=True, reason="told as a failed query, which a supervisor restarts for ever")
def test_missing_right_on_the_readers_group_is_told_as_a_missing_right(secured: str, tmp_path: Path) -> None:
    """A broker that checks the group of Spark's reader says no: the right is named, with the code of a missing one."""
    with Monitor(secured, tmp_path, login("carol", "carol-secret")) as monitor:
        assert_refused(monitor, ExitCode.NOT_AUTHORISED, READERS_GROUPS)


# --- checkpoints that are not for this run ---


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, Path]]:
    """Give a broker that was set back to a former state, and the checkpoint of a run that had read more of it."""
    folder = tmp_path_factory.mktemp("used")
    with Broker(folder / "broker") as broker:
        make_topic(broker.bootstrap, "t", 2)
        commit(broker.bootstrap, "old", "t", {0: 1})
        broker.stop()
        shutil.copytree(broker.data, folder / "backup")
        broker.start()
        commit(broker.bootstrap, "old", "t", {0: 5, 1: 6})
        with Monitor(broker.bootstrap, folder) as monitor:
            monitor.wait_ready()
            assert monitor.metrics().committed == {("old", "t", 0): 5, ("old", "t", 1): 6}
            assert monitor.stop().code == ExitCode.OK
        broker.stop()
        shutil.rmtree(broker.data)
        shutil.copytree(folder / "backup", broker.data)
        broker.start()
        yield broker, monitor.checkpoint


def of_another_cluster(manifest: dict[str, Any]) -> dict[str, Any]:
    """Say that the checkpoint is of another cluster."""
    return {**manifest, "cluster_id": "another-cluster-id"}


def of_a_later_format(manifest: dict[str, Any]) -> dict[str, Any]:
    """Say that a later version wrote it."""
    return {**manifest, "format": 99}


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (of_another_cluster, ExitCode.CHECKPOINT_CLUSTER, ("another-cluster-id", "--checkpoint-dir")),
        (of_a_later_format, ExitCode.CHECKPOINT_FORMAT, ("says format 99", "move the directory away")),
    ],
)
def test_checkpoint_of_somebody_else_is_left_alone(
    used: tuple[Broker, Path],
    tmp_path: Path,
    change: Callable[[dict[str, Any]], dict[str, Any]],
    code: ExitCode,
    words: tuple[str, ...],
) -> None:
    """Refused with what to do, and not a byte of it is touched."""
    broker, checkpoint = used
    monitor = Monitor(broker.bootstrap, tmp_path)
    shutil.copytree(checkpoint, monitor.checkpoint)
    manifest = monitor.checkpoint / "v1" / "lagwarden.json"
    manifest.write_text(json.dumps(change(json.loads(manifest.read_text()))))
    before = contents(monitor.checkpoint)
    with monitor:
        assert_refused(monitor, code, *words)
    assert contents(monitor.checkpoint) == before


def test_checkpoint_in_use_is_refused(cluster: Broker, monitor: Monitor, tmp_path: Path) -> None:
    """A second monitor does not start over the folder of a running one, which goes on undisturbed."""
    second = Monitor(cluster.bootstrap, tmp_path)
    with contextlib.closing(second.start("--checkpoint-dir", str(monitor.checkpoint))):
        assert_refused(second, ExitCode.CHECKPOINT_UNUSABLE, "in use by another lagwarden", "--checkpoint-dir")
    commit(cluster.bootstrap, "undisturbed", "t", {0: 6})
    assert monitor.wait_read(offsets_ends(cluster.bootstrap)).committed["undisturbed", "t", 0] == 6


def test_topic_set_back_is_read_again(used: tuple[Broker, Path], tmp_path: Path) -> None:
    """A checkpoint ahead of the topic is set aside, said so, and what is shown is the topic of today."""
    broker, checkpoint = used
    assert_read_again(broker, checkpoint, tmp_path, "before the", {("old", "t", 0): 1})


def test_topic_made_anew_is_read_again(used: tuple[Broker, Path], make_broker: MakeBroker, tmp_path: Path) -> None:
    """A cluster built anew under its old id: the checkpoint is set aside, and no group of the old one is shown."""
    _, checkpoint = used
    rebuilt = make_broker()
    make_topic(rebuilt.bootstrap, "t", 2)
    commit(rebuilt.bootstrap, "new", "t", {0: 1, 1: 2}, times=20)
    assert_read_again(rebuilt, checkpoint, tmp_path, "made anew", {("new", "t", 0): 1, ("new", "t", 1): 2})


def assert_read_again(
    broker: Broker, checkpoint: Path, folder: Path, reason: str, committed: dict[tuple[str, str, int], int]
) -> None:
    """See a monitor start over a checkpoint that does not fit, and keep it."""
    monitor = Monitor(broker.bootstrap, folder)
    shutil.copytree(checkpoint, monitor.checkpoint)
    with monitor:
        shown = monitor.wait_ready().metrics()
        assert shown.committed == committed
        assert shown.value("lagwarden_resyncs_total") == 1
        (line,) = (line for line in monitor.lines if "the old checkpoint is kept" in line.get("event", ""))
        assert reason in line["why"]
    aside = monitor.checkpoint / "v1" / "set-aside-1"
    assert {name for name in contents(checkpoint) if name.startswith("v1/spark/commits/")} == {
        f"v1/{name}" for name in contents(aside) if name.startswith("spark/commits/")
    }


def contents(folder: Path) -> dict[str, bytes]:
    """Read all files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
