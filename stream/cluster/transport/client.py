"""The client of the Kafka cluster: raw requests with time limits, and errors that name their cause.

Owns the I/O thread, every connection and the library's settings. Does not interpret answers; the modules of
`stream.cluster` do. Nothing runs in the background: a connection is opened, also after it broke, when a request needs
it, so the next request finds a cluster that is available again.

Threads: every method may be called from any thread; one I/O thread does the work.
"""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, Self

from kafka.net.selector import NetworkSelector

from stream.cluster.transport import requests
from stream.cluster.transport.corrections import decoder_threads
from stream.cluster.transport.errors import ClusterError, TimedOut, Unreachable
from stream.cluster.transport.exchange import GRACE_SECONDS, Connections, Exchange
from stream.cluster.transport.login.authenticator import authenticator_for
from stream.cluster.transport.login.tls_context import TlsContext
from stream.config.kafka_login import KafkaLogin

_TUNING: Final = {
    "client_id": "lagwarden",
    # With the library's 5, the sixth request to a broker fails at once instead of waiting in the queue.
    "max_in_flight_requests_per_connection": 100,
    # The metadata of some ten thousand topics is larger than the library's 1 MB.
    "receive_message_max_bytes": 100_000_000,
    "reconnect_backoff_ms": 50,
    # With the library's 30 s, a restarted broker is found up to half a minute later.
    "reconnect_backoff_max_ms": 1_000,
    # Encoding a large request takes long and needs no warning.
    "slow_task_threshold_secs": 0,
}
_CONNECT_SECONDS: Final = 5.0
_RETRY_SECONDS: Final = 0.5


@dataclasses.dataclass(frozen=True, slots=True)
class Broker:
    """One broker of the cluster's metadata."""

    node: int
    host: str
    port: int
    rack: str | None


class Cluster:
    """A client of one cluster. Opens no connection before the first request; `close` it, or use it in a `with`.

    `login` is that of `stream.config.kafka_login.login_from_options`. `request_timeout` is the limit of one request in
    seconds, including the connection set-up. Raises TlsRefused for TLS files that cannot be used, and LoginRefused if a
    package for the login is missing.
    """

    def __init__(
        self,
        bootstrap_servers: Sequence[str],
        login: KafkaLogin = KafkaLogin(),  # noqa: B008 -- immutable
        *,
        request_timeout: float = 10.0,
    ) -> None:
        decoder_threads.install()
        self._seconds = request_timeout
        self._bootstrap = tuple(bootstrap_servers)
        authenticator = None if login.credentials is None else authenticator_for(login.credentials)
        tls = None if login.tls is None else TlsContext(login.tls)
        if tls is not None:
            tls.current()
        connect_ms = int(min(request_timeout, _CONNECT_SECONDS) * 1000)
        options = {
            **_TUNING,
            "bootstrap_servers": list(bootstrap_servers),
            "security_protocol": login.security_protocol,
            "request_timeout_ms": int(request_timeout * 1000),
            "socket_connection_setup_timeout_ms": connect_ms,
            "socket_connection_setup_timeout_max_ms": connect_ms,
        }
        self._net = NetworkSelector(**options)
        self._connections = Connections(self._net, authenticator, tls, **options)
        self._exchange = Exchange(self._net, self._connections, login.security_protocol, request_timeout)
        self._closed = False
        self._net.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id as Kafka's tools print it; None before the first answer."""
        return self._connections.cluster.cluster_id  # type: ignore[no-any-return]

    @property
    def brokers(self) -> tuple[Broker, ...]:
        """The brokers that the last metadata named."""
        known = self._connections.cluster.brokers()
        return tuple(sorted((Broker(b.node_id, b.host, b.port, b.rack) for b in known), key=lambda b: b.node))

    def connect(self, timeout: float) -> None:
        """Connect to any broker within `timeout` seconds, with retries while the error is retriable.

        Raises the ClusterError that names the cause: at once if it is not retriable, else the last one.
        """
        deadline = time.monotonic() + timeout
        while True:
            try:
                self.metadata()
            except ClusterError as error:
                if not error.passes or time.monotonic() + _RETRY_SECONDS >= deadline:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                return

    def failure_of(self, node: int) -> ClusterError | None:
        """Return why the last request to a broker failed; None if it was answered."""
        return self._exchange.last_error.get(node)

    def metadata(self, topics: Collection[str] | None = (), *, operations: bool = False) -> Any:
        """Return the metadata of the brokers and of these topics (None: all topics), and update the known brokers.

        Tries the known brokers, then the bootstrap addresses, until one answers. Raises ClusterError when none does: of
        all errors the first that is not retriable, else the first.
        """
        return self._run(
            lambda: self._exchange.metadata(requests.metadata(topics, operations=operations)), self._seconds
        )

    def call(self, request: Any, node: int) -> Any:
        """Send one request to one broker and return its answer, error codes included. Raises ClusterError."""
        answer = self.call_all([(node, request)])[0]
        if isinstance(answer, ClusterError):
            raise answer
        return answer

    def call_any(self, request: Any) -> Any:
        """Send a request that any broker can answer to one after the other until one does.

        Raises ClusterError when none does: of all errors the first that is not retriable, else the first.
        """
        return self._run(lambda: self._exchange.any(request), self._seconds)

    def call_all(self, calls: Sequence[tuple[int, Any]]) -> list[Any]:
        """Send many (node, request) pairs at once and return the answers in the same order.

        A failure is a value: a ClusterError instead of the answer. Requests to one broker are answered
        in the order given. Ends within the request time-out, whatever the brokers do.
        """
        if not calls:
            return []
        answers: list[Any] = self._run(lambda: self._exchange.all(calls), self._seconds)
        return answers

    def close(self) -> None:
        """Close all connections and end the I/O thread. May be called twice. Raises nothing.

        An I/O thread that a name lookup blocks, and its sockets, end after the lookup.
        """
        if not self._closed and not self._connections.closed:
            with contextlib.suppress(ClusterError):
                self._run(self._connections.close, GRACE_SECONDS)
        self._closed = True
        io_thread = self._net._io_thread  # noqa: SLF001 -- None after `stop`, which does not say whether it has ended
        self._net.stop(timeout_ms=1000)
        if io_thread is None or not io_thread.is_alive():
            self._net.close()
        else:
            threading.Thread(target=_close_after, args=(io_thread, self._net), name="kafka-close", daemon=True).start()

    def _run(self, work: Callable[[], Any], seconds: float) -> Any:
        """Run a function or a coroutine on the I/O thread, and wait with a limit: a DNS lookup can block the thread."""
        if self._closed or self._connections.closed:
            raise _closed_error()
        done = threading.Event()
        future = self._net.call_soon_with_future(work)
        future.add_both(lambda _: done.set())
        if not done.wait(seconds + 2 * GRACE_SECONDS):
            servers = ", ".join(self._bootstrap)
            raise TimedOut(f"no answer from {servers} in {seconds:g} s", "check the network and the name resolution")
        if isinstance(future.exception, GeneratorExit):  # another thread has closed the client
            raise _closed_error()
        if future.exception is not None:
            raise future.exception
        return future.value


def _closed_error() -> Unreachable:
    return Unreachable("the connection to the cluster is closed", "lagwarden is stopping")


def _close_after(io_thread: threading.Thread, net: NetworkSelector) -> None:
    """Close the sockets of an I/O thread when it has ended."""
    io_thread.join()
    net.close()
