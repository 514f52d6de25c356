"""The outcome of each request, its repetitions, and the headers from a file."""

import threading
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceResponse,
)

from sandbox.ports import free_port
from stream.config.options import OtlpOptions
from stream.otlp import request
from stream.otlp.request import RequestOutcome
from tests.stream.otlp.otlp_receiver import OtlpReceiver

OUTCOMES = [(200, None), (202, None), (401, "unauthorized"), (403, "unauthorized"), (404, "client_error")]
OUTCOMES += [(413, "too_large"), (500, "server_error")]


def send(url: str, **options: Any) -> RequestOutcome:
    return request.send(OtlpOptions(**{"endpoint": url, "timeout": 30.0, **options}), b"", threading.Event())


def test_a_status_is_a_success_or_has_a_reason() -> None:
    """The cause of a failure names the status. The body does not decide: it need not be protobuf."""
    with OtlpReceiver(lambda number: (OUTCOMES[number][0], {}, b"thank you")) as receiver:
        for status, reason in OUTCOMES:
            assert send(receiver.url) == RequestOutcome(reason, f"status {status}" if reason else "")


def test_rejected_data_points_are_in_the_outcome() -> None:
    """The outcome has the number of rejected points and the message of the receiver."""
    partial = ExportMetricsPartialSuccess(rejected_data_points=3, error_message="too old")
    body = ExportMetricsServiceResponse(partial_success=partial).SerializeToString()
    with OtlpReceiver(lambda _: (200, {}, body)) as receiver:
        assert send(receiver.url) == RequestOutcome("rejected", "too old", 3)


def test_a_failed_request_has_a_cause() -> None:
    """The cause is the error of the operating system, the option of the time limit, or that of TLS without a URL."""
    assert send(f"http://127.0.0.1:{free_port()}/v1/metrics", timeout=0.9).cause == "Connection refused"
    with OtlpReceiver(delay=2) as receiver:
        assert send(receiver.url, timeout=0.2) == RequestOutcome("timeout", "no response within otlp.timeout")
        outcome = send(receiver.url.replace("http:", "https:"))
        assert outcome.reason == "tls"
        assert "127.0.0.1" not in outcome.cause


def test_a_request_is_repeated_within_its_timeout() -> None:
    """A receiver that is away for a moment gets the request again, unless it says that it is away for longer."""
    for status, after, reason in (
        (503, {}, None),
        (429, {"Retry-After": "2"}, None),
        (429, {"Retry-After": "60"}, "throttled"),
    ):
        answers = [(status, after, b""), (200, {}, b"")]
        with OtlpReceiver(answers.__getitem__) as receiver:
            assert send(receiver.url).reason == reason
            assert len(receiver.bodies) == (2 if reason is None else 1)


def test_headers_are_read_from_the_file_for_each_request(tmp_path: Path) -> None:
    """A request has the new token as soon as the file has it."""
    file = tmp_path / "headers"
    with OtlpReceiver() as receiver:
        for token in ("one", "two"):
            file.write_text(f"Authorization: Bearer {token}\nX-Scope-OrgID: shop\n")
            assert send(receiver.url, headers_file=file).reason is None
        assert [each["authorization"] for each in receiver.headers] == ["Bearer one", "Bearer two"]
        assert receiver.headers[0]["x-scope-orgid"] == "shop"


def test_no_request_is_sent_without_valid_headers(tmp_path: Path) -> None:
    """A missing file, or a line that is no header, is an error; its cause does not have the line."""
    file = tmp_path / "headers"
    with OtlpReceiver() as receiver:
        for content in (None, "no separator", "Bad name: 1", ": secret", "X: f\xfcr"):
            if content is not None:
                file.write_text(content, encoding="utf-8")
            outcome = send(receiver.url, headers_file=file)
            assert outcome.reason == "headers"
            assert content is None or content not in outcome.cause
        assert not receiver.requests
