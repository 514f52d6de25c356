"""Reads `/api/v1/events` of a running monitor, as a browser's EventSource does."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from typing import TYPE_CHECKING, Any, Final, Self

from sandbox.ports import LOOPBACK
from tests.exporters.openapi_check import validator

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATH: Final = "/api/v1/events"
_SILENT_SECONDS: Final = 60.0
"""The greatest time between two lines; a heartbeat comes every 15 s."""


class EventStreamReader:
    """Reads inside `with EventStreamReader(port):`, in a thread, until the server or the block ends.

    `last_id` is the `id` of the last message, with which the next reader continues. The headers of the response have
    arrived when the block begins, so that no later event is lost. `failure` is an error of the reader itself.
    """

    def __init__(self, port: int, last_id: str | None = None) -> None:
        self.events: list[dict[str, Any]] = []
        self.missed: list[int | None] = []
        self.last_id = last_id
        self.failure: Exception | None = None
        self._client = http.client.HTTPConnection(LOOPBACK, port, timeout=_SILENT_SECONDS)
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._client.request("GET", _PATH, headers={} if self.last_id is None else {"last-event-id": self.last_id})
        self._socket = self._client.sock
        self._response = self._client.getresponse()
        assert self._response.status == 200
        assert (self._response.getheader("content-type") or "").startswith("text/event-stream")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._client.close()

    def _read(self) -> None:
        try:
            with contextlib.suppress(OSError, http.client.HTTPException):  # the server or the block has ended
                for message in self._messages():
                    self._take(message)
        except Exception as error:  # noqa: BLE001 -- the test shows it
            self.failure = error

    def _messages(self) -> Iterator[dict[str, str]]:
        """Yield the fields of each message; a comment has the empty name."""
        fields: dict[str, str] = {}
        while line := self._response.readline().decode():
            name, _, value = line.rstrip("\n").partition(":")
            if line == "\n":
                yield fields
                fields = {}
            else:
                fields[name] = value.removeprefix(" ")

    def _take(self, message: dict[str, str]) -> None:
        self.last_id = message.get("id", self.last_id)
        if "data" not in message:
            return
        data = json.loads(message["data"])
        validator(_PATH, 200).validate(data)
        if message.get("event") == "missed":
            self.missed.append(data["missed"])
        else:
            self.events.append(data)
