"""One request to a real HTTP server: headers, responses, and what can fail."""

from pathlib import Path

import pytest

from sandbox.ports import free_port
from stream.webhook.request import CONTENT_TYPE, RequestFailedError, WebhookResponse, WebhookTarget, post
from tests.stream.webhook.receiver import Receiver


def test_an_event_is_posted_with_the_token_of_the_file(tmp_path: Path) -> None:
    """The token is read for each request, so that a renewed one is used at once."""
    file = tmp_path / "token"
    with Receiver() as receiver:
        target = WebhookTarget(receiver.url, token_file=file)
        for token in ("first", "second"):
            file.write_text(f"{token}\n")
            assert post(target, b"{}") == WebhookResponse(204)
        assert [headers["authorization"] for headers in receiver.headers] == ["Bearer first", "Bearer second"]
        assert receiver.headers[0]["content-type"] == CONTENT_TYPE


DATE = "Wed, 21 Oct 2015 07:28:00 GMT"


def test_retry_after_is_read() -> None:
    """Retry-After is read as seconds or as a date; a value that is neither is ignored."""
    waits = {"7": 7.0, "soon": None, "-5": None, DATE: 0.0, "9" * 400: float("inf")}
    headers = list(waits)
    with Receiver(lambda number: (429, {"Retry-After": headers[number]})) as receiver:
        assert {each: post(WebhookTarget(receiver.url), b"{}").retry_after for each in headers} == waits


def failure(target: WebhookTarget) -> RequestFailedError:
    with pytest.raises(RequestFailedError) as failed:
        post(target, b"{}")
    return failed.value


def test_a_failed_request_has_a_reason() -> None:
    """A refused connection, a response after the time limit, and a server without TLS have their own reasons."""
    assert failure(WebhookTarget(f"http://127.0.0.1:{free_port()}")).reason == "unreachable"
    with Receiver(delay=3) as receiver:
        assert failure(WebhookTarget(receiver.url, timeout=0.2)).reason == "timeout"
        assert failure(WebhookTarget(receiver.url.replace("http:", "https:"))).reason == "tls"


def test_a_token_file_without_a_token_sends_nothing(tmp_path: Path) -> None:
    """No request is sent if the token is missing, empty, or has characters that could end the header."""
    file = tmp_path / "token"
    with Receiver() as receiver:
        for content in (None, "", "two words", "a\r\nHost: b"):
            if content is not None:
                file.write_text(content)
            failed = failure(WebhookTarget(receiver.url, token_file=file))
            assert failed.reason == "token"
            assert not content or content not in str(failed)
        assert receiver.events == []
