"""No argument, log, checkpoint, file of Spark or memory of its JVM has a secret after a run with logins."""

# ruff: noqa: S105 -- the secrets of test users

import contextlib
import dataclasses
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from sandbox.kafka.broker import Broker
from sandbox.kafka.jars import oauth_jars
from sandbox.kafka.token_issuer import TokenIssuer
from sandbox.ports import LOOPBACK, free_port_pair
from sandbox.spark_cluster import StandaloneCluster, make_executor_python
from stream.errors import ExitCode
from tests.integration.traffic import commit, make_topic, offsets_ends
from tests.support.monitor import Monitor
from tests.support.processes import LIMIT, patience

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(400))]

SECRET: Final = "alices-own-secret"
_SECURITY: Final = "org.apache.kafka.common.security"
_TOKEN: Final = re.compile(rb"eyJ[\w-]{20,}\.[\w-]{20,}\.[\w-]{20,}")
"""A JWT: header, claims and signature in base64, of which the first two begin as JSON objects do."""


@dataclasses.dataclass(frozen=True)
class Secured:
    """A broker with the listeners SCRAM and OAUTH, and the identity provider of OAUTH."""

    scram: str
    oauth: str
    admin: str
    """The address that requires no login."""
    issuer: TokenIssuer


@pytest.fixture(scope="module")
def secured() -> Iterator[Secured]:
    """Start the identity provider and the broker."""
    (port, controller), (scram, oauth) = free_port_pair(), free_port_pair()
    with TokenIssuer("alice", SECRET) as issuer:
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={issuer.keys_url}"
        ports = {"PLAIN": port, "CONTROLLER": controller, "SCRAM": scram, "OAUTH": oauth}
        broker = Broker(properties=_properties(ports, issuer), jars=oauth_jars(), jvm=[allowed])
        broker._ports = (port, controller)  # its listeners are not the sandbox's
        with broker:
            make_topic(broker.bootstrap, "t", 1)
            commit(broker.bootstrap, "g", "t", {0: 2})
            scram_login = UserScramCredentialUpsertion(
                "alice", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), SECRET.encode()
            )
            admin = AdminClient({"bootstrap.servers": broker.bootstrap})
            admin.alter_user_scram_credentials([scram_login])["alice"].result(LIMIT)
            yield Secured(f"{LOOPBACK}:{scram}", f"{LOOPBACK}:{oauth}", broker.bootstrap, issuer)


def _properties(ports: Mapping[str, int], issuer: TokenIssuer) -> dict[str, str]:
    bearer = f"{_SECURITY}.oauthbearer.OAuthBearer"
    oauth, scram = "listener.name.oauth", "listener.name.scram"
    return {
        "listeners": ",".join(f"{name}://{LOOPBACK}:{number}" for name, number in ports.items()),
        "listener.security.protocol.map": ",".join(
            f"{name}:{'SASL_PLAINTEXT' if name in {'SCRAM', 'OAUTH'} else 'PLAINTEXT'}" for name in ports
        ),
        "inter.broker.listener.name": "PLAIN",
        f"{scram}.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        f"{scram}.scram-sha-256.sasl.jaas.config": f"{_SECURITY}.scram.ScramLoginModule required;",
        f"{oauth}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{oauth}.oauthbearer.sasl.jaas.config": f"{bearer}LoginModule required;",
        f"{oauth}.oauthbearer.sasl.server.callback.handler.class": f"{bearer}ValidatorCallbackHandler",
        f"{oauth}.sasl.oauthbearer.jwks.endpoint.url": issuer.keys_url,
        f"{oauth}.sasl.oauthbearer.expected.audience": issuer.audience,
        f"{oauth}.sasl.oauthbearer.expected.issuer": issuer.issuer,
    }


def login(secured: Secured, option: str, folder: Path) -> dict[str, str]:
    """Return the configuration of a login whose secret is given by this option."""
    secret = secured.issuer.token() if option == "kafka.oauth_token_file" else SECRET
    place = folder / "secret"
    place.write_text(secret)
    is_scram = option.startswith("kafka.sasl")
    others = {"kafka.sasl_username": "alice"} if is_scram else {}
    if option == "kafka.oauth_client_secret_file":
        others = {"kafka.oauth_token_endpoint": secured.issuer.token_endpoint, "kafka.oauth_client_id": "alice"}
    return {
        "kafka.security_protocol": "SASL_PLAINTEXT",
        "kafka.sasl_mechanism": "SCRAM-SHA-256" if is_scram else "OAUTHBEARER",
        option: str(place) if option.endswith("_file") else secret,
        **others,
    }


@pytest.mark.parametrize(
    "option",
    [
        "kafka.sasl_password",
        pytest.param("kafka.sasl_password_file", marks=pytest.mark.long),
        pytest.param("kafka.oauth_client_secret_file", marks=pytest.mark.long),
        pytest.param("kafka.oauth_token_file", marks=pytest.mark.long),
    ],
)
def test_no_secret_leaves_the_processes_that_log_in(secured: Secured, tmp_path: Path, option: str) -> None:
    """No argument, log or file has the secret or a token, nor has the memory of the JVM if the secret is in a file."""
    folder = tmp_path / "monitor"
    folder.mkdir()
    options = {**login(secured, option, tmp_path), "log.level": "debug"}
    with Monitor(secured.oauth if "oauth" in option else secured.scram, folder, options) as monitor:
        assert ("g", "t", 0) in monitor.wait_ready().metrics().committed
        commit(secured.admin, "g", "t", {0: 4})
        assert monitor.wait_read(offsets_ends(secured.admin)).committed["g", "t", 0] == 4

        commands = [each for process in monitor.processes for each in command_line(process.pid)]
        assert any("stream.spark.worker_daemon" in each for each in commands)
        assert [each for each in commands if has_secret(each.encode())] == []
        # Options of the source, pickles of tasks, the configuration of Spark and its plans are in the memory of the
        # JVM. A variable is there once, in the environment that the JVM passes on.
        assert in_memory(monitor.jvm, lambda memory: b"spark.python.daemon.module" in memory)
        if option != "kafka.sasl_password":
            assert not in_memory(monitor.jvm, has_secret)
        assert monitor.stop().code == ExitCode.OK
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any("offsets" in path.parts for path in files)
    assert [path for path in files if has_secret(path.read_bytes())] == []


@pytest.mark.long
@pytest.mark.timeout(patience(600))
def test_no_secret_reaches_spark_on_other_machines(secured: Secured, tmp_path: Path) -> None:
    """Executors log in with the password from its file; no process or folder of Spark has it.

    Only the driver and the executors' Python workers, which read the file themselves, have the password.
    """
    folder = tmp_path / "monitor"
    folder.mkdir()
    own = tmp_path / "spark-secret"
    own.write_text("between-driver-and-executors")
    with StandaloneCluster(tmp_path / "spark", own.read_text()) as spark:
        workers = [spark.add_worker(), spark.add_worker()]
        options = {
            **login(secured, "kafka.sasl_password_file", tmp_path),
            "log.level": "debug",
            "job.master": spark.url,
            "job.executors": "2",
            "job.executor_memory": "512m",
            "job.executor_python": str(make_executor_python(tmp_path / "python")),
            "job.auth_secret_file": str(own),
            "checkpoint.shared": "true",
        }
        with Monitor(secured.scram, folder, options) as monitor:
            assert ("g", "t", 0) in monitor.wait_ready().metrics().committed
            commit(secured.admin, "g", "t", {0: 6})
            assert monitor.wait_read(offsets_ends(secured.admin)).committed["g", "t", 0] == 6
            assert monitor.metrics().value("lagwarden_executors") == 2

            executors = [pid for worker in workers for pid in spark.executors_of(worker)]
            assert len(executors) == 2
            every = {process.pid for process in monitor.processes} | set(
                descendants([worker.pid for worker in workers])
            )
            assert set(executors) < every
            for pid in every:
                assert not has_secret("\0".join(command_line(pid)).encode())
                assert not has_secret(environment(pid))
            for jvm in (monitor.jvm, *executors):
                assert in_memory(jvm, lambda memory: b"spark.executor" in memory)
                assert not in_memory(jvm, has_secret)
            assert monitor.stop().code == ExitCode.OK
        # Work folders and logs of master, workers and executors, then log and checkpoint of the monitor.
        files = [path for each in (spark.folder, folder) for path in each.rglob("*") if path.is_file()]
        files = [path for path in files if "jars" not in path.parts]
    assert any("work" in path.parts for path in files)
    assert any("state" in path.parts for path in files)
    assert [path for path in files if has_secret(path.read_bytes())] == []


def descendants(pids: Collection[int]) -> Iterator[int]:
    """Yield processes and all of their children."""
    for pid in pids:
        yield pid
        # The children of each thread.
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                yield from descendants(list(map(int, children.read_text().split())))


def environment(pid: int) -> bytes:
    """Return the variables of a process; none if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return b""


def has_secret(data: bytes) -> bool:
    return SECRET.encode() in data or _TOKEN.search(data) is not None


def command_line(pid: int) -> list[str]:
    """Return the arguments of a process; none if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    return []


def in_memory(pid: int, found: Callable[[bytes], bool]) -> bool:
    """Return whether a mapping of the writable memory of a process has what is searched."""
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights = line.split()[:2]
            start, end = (int(each, 16) for each in place.split("-"))
            # A mapping that is not backed, such as the guard page of a stack, cannot be read.
            with contextlib.suppress(OSError, ValueError, OverflowError):
                if rights.startswith("rw") and found(_read(memory, start, end)):
                    return True
    return False


def _read(memory: FileIO, start: int, end: int) -> bytes:
    memory.seek(start)
    return memory.read(end - start)
