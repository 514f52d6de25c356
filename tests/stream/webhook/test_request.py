"""One request to a real HTTP server: headers, responses, and what can fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.ports import free_port
from stream.webhook.request import CONTENT_TYPE, RequestFailedError, WebhookResponse, WebhookTarget, post
from tests.stream.webhook.receiver import Receiver

if TYPE_CHECKING:
    from pathlib import Path


def test_an_event_is_posted_with_the_token_of_the_file(tmp_path: Path) -> None:
    """The token is read for each request, so that a renewed one is used at once."""
    file = tmp_path / "token"
    with Receiver() as receiver:
        target = WebhookTarget(receiver.url, token_file=file)
        for token in ("first", "second"):
            file.write_text(f"{token}\n")
            assert post(target, b"{}") == WebhookResponse(204)
        assert [headers["Authorization"] for headers in receiver.headers] == ["Bearer first", "Bearer second"]
        assert receiver.headers[0]["Content-Type"] == CONTENT_TYPE


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("soon", None), ("-5", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("9" * 400, float("inf"))],
)
def test_retry_after_is_read(header: str, seconds: float | None) -> None:
    """Retry-After is read as seconds or as a date; a value that is neither is ignored."""
    with Receiver(lambda _: (429, {"Retry-After": header})) as receiver:
        assert post(WebhookTarget(receiver.url), b"{}").retry_after == seconds


def test_a_redirect_is_not_followed() -> None:
    """The response has the status and the address of the redirect, and the other server receives no event."""
    with Receiver() as other, Receiver(lambda _: (307, {"Location": other.url})) as receiver:
        assert post(WebhookTarget(receiver.url), b"{}") == WebhookResponse(307, None, other.url)
        assert other.events == []


def test_no_server_is_unreachable() -> None:
    """A refused connection is a failure with the reason `unreachable`."""
    with pytest.raises(RequestFailedError) as failed:
        post(WebhookTarget(f"http://127.0.0.1:{free_port()}"), b"{}")
    assert failed.value.reason == "unreachable"


def test_a_slow_server_is_a_timeout() -> None:
    """A response that does not arrive within the time limit is a failure with the reason `timeout`."""
    with Receiver(delay=3) as receiver, pytest.raises(RequestFailedError) as failed:
        post(WebhookTarget(receiver.url, timeout=0.2), b"{}")
    assert failed.value.reason == "timeout"


def test_a_server_without_tls_is_a_tls_error() -> None:
    """A request by https to a server without TLS is a failure with the reason `tls`."""
    with Receiver() as receiver, pytest.raises(RequestFailedError) as failed:
        post(WebhookTarget(receiver.url.replace("http:", "https:")), b"{}")
    assert failed.value.reason == "tls"


@pytest.mark.parametrize("content", [None, "", "two words", "a\r\nHost: b"])
def test_a_token_file_without_a_token_sends_nothing(tmp_path: Path, content: str | None) -> None:
    """No request is sent if the token is missing, empty, or has characters that could end the header."""
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    with Receiver() as receiver:
        with pytest.raises(RequestFailedError) as failed:
            post(WebhookTarget(receiver.url, token_file=file), b"{}")
        assert receiver.events == []
    assert failed.value.reason == "token"
    assert content is None or len(content) < 5 or content not in str(failed.value)
