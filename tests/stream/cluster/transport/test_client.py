"""Tests of the client with listeners that are not brokers, and with brokers that stop."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from kafka.future import Future

from sandbox.kafka.broker import Broker
from sandbox.waiting import wait_until
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, CutOff, TimedOut, Unreachable, WrongProtocol
from stream.config.kafka_login import KafkaLogin, PasswordLogin, TlsFiles
from stream.config.secret_sources import SecretValue
from stream.errors import ExitCode
from tests.conftest import MakeBroker

LOOPBACK = "127.0.0.1"


@contextlib.contextmanager
def impostor(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Listen on a free port, call a function for each connection, and yield the address."""
    with socket.create_server((LOOPBACK, 0)) as server:
        open_connections: list[socket.socket] = []

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    open_connections.append(connection)
                    answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"{LOOPBACK}:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)
        for connection in open_connections:
            connection.close()


def says(*words: bytes) -> Callable[[socket.socket], None]:
    """Return a function that reads a request, answers with these bytes and closes the connection."""

    def answer(connection: socket.socket) -> None:
        connection.recv(4096)
        for word in words:
            connection.sendall(word)
        connection.close()

    return answer


def silent(_: socket.socket) -> None:
    """Accept the connection without an answer."""


PLAIN = KafkaLogin()
TLS = KafkaLogin(tls=TlsFiles())
LOGIN = KafkaLogin(PasswordLogin("PLAIN", "u", SecretValue("p")))


def refusal(server: str, seconds: float = 1.0, login: KafkaLogin = PLAIN) -> ClusterError:
    with Cluster([server], login, request_timeout=seconds) as cluster, pytest.raises(ClusterError) as refused:
        cluster.metadata()
    return refused.value


HTTP, ALERT = b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x50"
OTHER_FRAME, SHORT_FRAME = b"\x00\x00\x00\x04\x7f\x00\x00\x00", b"\x00\x00\x00\x06\x00\x00\x00\x01\x00\x00"
LISTENERS: list[tuple[Callable[[socket.socket], None], KafkaLogin, type[ClusterError], str]] = [
    (silent, PLAIN, TimedOut, "does not answer in time"),
    (silent, TLS, TimedOut, "does not answer in time"),
    (silent, LOGIN, TimedOut, "does not answer in time"),
    (says(HTTP), PLAIN, WrongProtocol, "is not a Kafka broker"),
    (says(HTTP), TLS, WrongProtocol, "does not speak TLS"),
    (says(ALERT), PLAIN, WrongProtocol, "speaks TLS, not PLAINTEXT"),
    (says(ALERT), LOGIN, WrongProtocol, "speaks TLS, not SASL_PLAINTEXT"),
    (says(), PLAIN, Unreachable, "is not reachable"),
    (says(), TLS, WrongProtocol, "does not speak TLS"),
    (says(OTHER_FRAME), PLAIN, WrongProtocol, "is not a Kafka broker"),
    (says(SHORT_FRAME), PLAIN, WrongProtocol, "is not a Kafka broker"),
]


def test_a_listener_that_is_not_a_broker_is_named() -> None:
    """The error has the kind of listener and the address, within the time limit."""
    faults = []
    for answer, login, kind, text in LISTENERS:
        # A peer that answers ends the wait at once; only a silent peer takes the whole time.
        with impostor(answer) as server:
            error = refusal(server, 0.3 if answer is silent else 10.0, login)
        if type(error) is not kind or server not in error.what or text not in error.what or not error.advice:
            faults.append(f"{login.security_protocol}, {kind.__name__} with {text}: {error!r}")
    assert faults == []


def test_a_refused_connection_is_unreachable() -> None:
    """A refused connection and an unknown host name are distinguished from a time-out, and are retriable."""
    with socket.socket() as closed:
        closed.bind((LOOPBACK, 0))
        error = refusal(f"{LOOPBACK}:{closed.getsockname()[1]}")
    assert type(error) is Unreachable
    assert "nothing listens there" in error.what
    assert (error.passes, error.code) == (True, ExitCode.KAFKA_UNREACHABLE)
    assert "cannot be resolved" in refusal("no-such-host.invalid:9092", 5.0).what


def test_connect_retries_until_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retriable errors are retried while a pause ends before the limit; then the last error is raised."""
    pauses: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(pauses), sleep=pauses.append)
    monkeypatch.setattr("stream.cluster.transport.client.time", clock)
    tries = 0

    def count(connection: socket.socket) -> None:
        nonlocal tries
        tries += 1
        connection.close()

    with impostor(count) as server, Cluster([server], request_timeout=1) as cluster, pytest.raises(Unreachable):
        cluster.connect(2.0)
    assert pauses == [0.5] * 3
    assert tries == 4


def test_a_request_that_cannot_be_encoded_does_not_hang() -> None:
    """The library loses such a request while it connects; the client's guard ends the wait."""
    with impostor(silent) as server, Cluster([server], request_timeout=1) as cluster:
        answers = cluster.call_all([(1, "no request at all")])
    assert isinstance(answers[0], ClusterError)


def test_a_request_raises_when_another_thread_closes_the_client() -> None:
    """The closed client raises the error of a closed client in the thread that waits for an answer."""
    cluster, started = Cluster(["127.0.0.1:1"]), threading.Event()

    async def wait_forever() -> None:
        started.set()
        await Future()

    with ThreadPoolExecutor(1) as pool:
        request = pool.submit(cluster._run, wait_forever, 30)
        assert started.wait(30)
        cluster.close()
        with pytest.raises(Unreachable, match="is closed"):
            request.result(30)


def test_a_close_does_not_fail_while_the_io_thread_is_blocked() -> None:
    """The close raises no error, and the sockets are closed after the I/O thread has continued."""
    cluster, released = Cluster(["127.0.0.1:1"]), threading.Event()
    cluster._net.call_soon_threadsafe(lambda: released.wait(30))
    cluster.close()
    with pytest.raises(Unreachable, match="is closed"):
        cluster.metadata()
    released.set()
    wait_until(lambda: not [each for each in threading.enumerate() if each.name == "kafka-close"], "the last sockets")
    assert cluster._net._selector.get_map() is None


@pytest.mark.kafka
class TestBroker:
    """Tests with a broker that answers, stops and restarts."""

    def test_metadata_have_the_cluster_id_and_the_brokers(self, broker: Broker) -> None:
        """One metadata request returns the cluster id and the brokers; one reachable address is enough."""
        with Cluster(["127.0.0.1:1", "no-such-host.invalid:1", broker.bootstrap]) as cluster:
            assert cluster.cluster_id is None
            cluster.connect(10)
            assert cluster.cluster_id
            assert [(each.node, each.host, each.port) for each in cluster.brokers] == [(1, LOOPBACK, broker.port)]

    def test_many_threads_share_one_client(self, broker: Broker) -> None:
        """160 requests of 8 threads are all answered, although they share one connection."""
        with Cluster([broker.bootstrap]) as cluster, ThreadPoolExecutor(8) as threads:
            cluster.connect(10)
            answers = threads.map(lambda _: cluster.call(requests.metadata([]), 1).cluster_id, range(160))
            assert set(answers) == {cluster.cluster_id}

    def test_an_unknown_broker_does_not_affect_other_answers(self, broker: Broker) -> None:
        """The error of an unknown broker replaces only its own answer."""
        with Cluster([broker.bootstrap]) as cluster:
            cluster.connect(10)
            answers = cluster.call_all([(1, requests.metadata([])), (77, requests.metadata([])), (1, "nonsense")])
        assert answers[0].brokers
        assert isinstance(answers[1], Unreachable)
        assert isinstance(answers[2], ClusterError)

    def test_a_broker_that_restarts_is_found_by_the_next_call(
        self, make_broker: MakeBroker, freeze: Callable[[Broker], None]
    ) -> None:
        """Calls fail with the cause while the broker is down, and succeed after it is started.

        A call in progress while its broker is killed ends with CutOff.
        """
        broker = make_broker()
        with Cluster([broker.bootstrap], request_timeout=5) as cluster:
            cluster.connect(10)
            cluster.call(requests.metadata([]), 1)
            freeze(broker)
            killing = threading.Timer(0.3, broker.kill)
            killing.start()
            assert isinstance(cluster.call_all([(1, requests.metadata([]))])[0], CutOff)
            killing.join()  # the connection ends before the process does, and a broker that still runs is not started
            with pytest.raises(Unreachable):
                cluster.metadata()
            answers = cluster.call_all([(1, requests.metadata([]))])
            assert isinstance(answers[0], Unreachable)
            assert "nothing listens there" in answers[0].what
            broker.start()
            cluster.connect(10)
            assert cluster.call(requests.metadata([]), 1).cluster_id == cluster.cluster_id
