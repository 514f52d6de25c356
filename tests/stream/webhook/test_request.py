"""One request to a real HTTP server: headers, responses, and what can fail."""

from pathlib import Path
from typing import Any

from sandbox.ports import free_port
from stream.config.options import WebhookOptions
from stream.webhook.request import CONTENT_TYPE, WebhookOutcome, post
from tests.stream.webhook.receiver import Receiver


def posted(url: str, **options: Any) -> WebhookOutcome:
    return post(url, WebhookOptions(**options), b"{}")


def test_an_event_is_posted_with_the_token_of_the_file(tmp_path: Path) -> None:
    """The token is read for each request, so that a renewed one is used at once."""
    file = tmp_path / "token"
    with Receiver() as receiver:
        for token in ("first", "second"):
            file.write_text(f"{token}\n")
            assert posted(receiver.url, bearer_token_file=file).reason is None
        assert [headers["authorization"] for headers in receiver.headers] == ["Bearer first", "Bearer second"]
        assert receiver.headers[0]["content-type"] == CONTENT_TYPE


DATE = "Wed, 21 Oct 2015 07:28:00 GMT"


def test_retry_after_is_read() -> None:
    """Retry-After is read as seconds or as a date; a value that is neither is ignored."""
    waits = {"7": 7.0, "soon": 0.0, "-5": 0.0, DATE: 0.0, "9" * 400: float("inf")}
    headers = list(waits)
    with Receiver(lambda number: (429, {"Retry-After": headers[number]})) as receiver:
        assert {each: posted(receiver.url).retry_after for each in headers} == waits


def test_a_failed_request_has_a_reason() -> None:
    """A refused connection, a response after the time limit, and a server without TLS have their own reasons."""
    assert posted(f"http://127.0.0.1:{free_port()}").reason == "unreachable"
    with Receiver(delay=3) as receiver:
        assert posted(receiver.url, timeout=0.2).reason == "timeout"
        assert posted(receiver.url.replace("http:", "https:")).reason == "tls"


def test_a_token_file_without_a_token_sends_nothing(tmp_path: Path) -> None:
    """No request is sent if the token is missing, empty, or has characters that could end the header."""
    file = tmp_path / "token"
    with Receiver() as receiver:
        for content in (None, "", "two words", "a\r\nHost: b"):
            if content is not None:
                file.write_text(content)
            failed = posted(receiver.url, bearer_token_file=file)
            assert failed.reason == "token"
            assert not content or content not in failed.cause
        assert receiver.events == []
