"""The outcome of each request, and the headers from a file."""

import contextlib
import socket
import threading
import time
from pathlib import Path

import pytest
import requests
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceResponse,
)

from sandbox.ports import free_port
from stream.otlp.session import OtlpSession, RefusedRequestError, RequestOutcome
from tests.stream.otlp.otlp_receiver import OtlpReceiver

_EMPTY = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"
"""An empty body, compressed with gzip."""


OUTCOMES = [(200, None), (202, None), (401, "unauthorized"), (403, "unauthorized"), (404, "client_error")]
OUTCOMES += [(413, "too_large"), (429, "throttled"), (500, "server_error"), (503, "server_error")]


def test_a_status_is_a_success_or_has_a_reason() -> None:
    """The cause of a failure names the status. The body does not decide: it need not be protobuf."""
    with OtlpReceiver(lambda number: (OUTCOMES[number][0], {}, b"thank you")) as receiver, OtlpSession() as session:
        for status, reason in OUTCOMES:
            session.request("POST", receiver.url, data=_EMPTY, timeout=10)
            assert session.outcome == RequestOutcome(reason, f"status {status}" if reason else "")


def test_rejected_data_points_are_in_the_outcome() -> None:
    """The outcome has the number of rejected points and the message of the receiver."""
    partial = ExportMetricsPartialSuccess(rejected_data_points=3, error_message="too old")
    body = ExportMetricsServiceResponse(partial_success=partial).SerializeToString()
    with OtlpReceiver(lambda _: (200, {}, body)) as receiver, OtlpSession() as session:
        session.request("POST", receiver.url, data=_EMPTY, timeout=10)
    assert session.outcome == RequestOutcome("rejected", "too old", 3)


def test_a_failed_request_has_a_cause() -> None:
    """The cause is the error of the operating system, the option of the time limit, or that of TLS without a URL."""
    with OtlpSession() as session, OtlpReceiver(delay=2) as receiver:
        with pytest.raises(requests.ConnectionError):
            session.request("POST", f"http://127.0.0.1:{free_port()}/v1/metrics", data=_EMPTY, timeout=10)
        assert session.outcome == RequestOutcome("unreachable", "Connection refused")
        with pytest.raises(requests.Timeout):
            session.request("POST", receiver.url, data=_EMPTY, timeout=0.2)
        assert session.outcome == RequestOutcome("timeout", "no response within otlp.timeout")
        with pytest.raises(requests.exceptions.SSLError):
            session.request("POST", receiver.url.replace("http:", "https:"), data=_EMPTY, timeout=10)
        assert session.outcome.reason == "tls"
        assert "127.0.0.1" not in session.outcome.cause


def test_the_timeout_bounds_a_header_that_comes_in_pieces() -> None:
    """Each piece comes in time, and all of them together do not: the request ends as one without a response."""

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(65_536)
            for piece in ("HTTP/1.1 200 OK\r\n", *(f"X-{each}: 1\r\n" for each in range(20)), "\r\n"):
                connection.sendall(piece.encode())
                time.sleep(0.1)

    with socket.create_server(("127.0.0.1", 0)) as server, OtlpSession() as session:
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        with pytest.raises(requests.Timeout):
            session.request("POST", f"http://127.0.0.1:{server.getsockname()[1]}/", data=_EMPTY, timeout=0.5)
        assert session.outcome == RequestOutcome("timeout", "no response within otlp.timeout")
        thread.join()


def test_headers_are_read_from_the_file_for_each_request(tmp_path: Path) -> None:
    """A request has the new token as soon as the file has it."""
    file = tmp_path / "headers"
    with OtlpReceiver() as receiver, OtlpSession(file) as session:
        for token in ("one", "two"):
            file.write_text(f"Authorization: Bearer {token}\nX-Scope-OrgID: shop\n")
            session.request("POST", receiver.url, data=_EMPTY, timeout=10)
        assert [each["authorization"] for each in receiver.headers] == ["Bearer one", "Bearer two"]
        assert receiver.headers[0]["x-scope-orgid"] == "shop"


def test_no_request_is_sent_without_valid_headers(tmp_path: Path) -> None:
    """A missing file, or a line that is no header, is an error; its cause does not have the line."""
    file = tmp_path / "headers"
    with OtlpReceiver() as receiver, OtlpSession(file) as session:
        for content in (None, "no separator", "Bad name: 1", ": secret", "X: f\xfcr"):
            if content is not None:
                file.write_text(content, encoding="utf-8")
            with pytest.raises(RefusedRequestError):
                session.request("POST", receiver.url, data=_EMPTY, timeout=10)
            assert session.outcome.reason == "headers"
            assert content is None or content not in session.outcome.cause
        assert not receiver.requests
