"""The response of `/api/v1/events`: recent verdict events as server-sent events (WHATWG HTML, section 9.2).

A stream keeps no copy of the events: it reads them from the memory that all streams share, when its client has read the
previous ones. A client that is too slow finds events dropped, and the stream says how many.
"""

import asyncio
import collections
import contextlib
import dataclasses
import functools
import itertools
import json
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from starlette.responses import StreamingResponse
from starlette.types import Send

from exporters.group_query import GroupQuery
from exporters.verdict_event import VerdictEvent

MOST_EVENTS: Final = 1000
MOST_BYTES: Final = 4 * 1024 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class EventPosition:
    """A position in the events of this process: the number of events before it.

    `missed` is the number of events that were dropped before the reader got them, None if it is not known.
    """

    number: int
    missed: int | None = 0


class RecentEvents:
    """The last events, at most `most_events` with `most_bytes` together. Thread-safe.

    An event is numbered from 1 on. Its id in the stream is `PROCESS-NUMBER`; PROCESS is a random word per process, so
    that an id of another process is recognized.
    """

    def __init__(self, most_events: int = MOST_EVENTS, most_bytes: int = MOST_BYTES) -> None:
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._process = secrets.token_hex(4)
        self._events: collections.deque[VerdictEvent] = collections.deque()
        self._bytes = 0
        self._appended = 0
        self._listeners: dict[object, Callable[[], None]] = {}
        self._lock = threading.Lock()
        self.closed = False
        """True after `close`."""

    def append(self, events: Sequence[VerdictEvent], dropped: int = 0) -> None:
        """Add events, drop the oldest ones beyond the limits, and call the listeners.

        `dropped` is the number of events before them that were not made because they exceed the limits: with it, all
        events of the stream are dropped.
        """
        if not events:
            return
        with self._lock:
            if dropped:
                self._events.clear()
                self._bytes = 0
                self._appended += dropped
            self._events.extend(events)
            self._bytes += sum(len(event.body) for event in events)
            self._appended += len(events)
            while len(self._events) > self._most_events or self._bytes > self._most_bytes:
                self._bytes -= len(self._events.popleft().body)
        self._notify()

    def close(self) -> None:
        """End all streams: `closed` is true from now on."""
        self.closed = True
        self._notify()

    @contextlib.contextmanager
    def listening(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call the listener after each `append` and `close`, on their thread, until the end of the block."""
        key = object()
        with self._lock:
            self._listeners[key] = listener
        try:
            yield
        finally:
            with self._lock:
                del self._listeners[key]

    def end(self) -> EventPosition:
        """Return the position after the newest event."""
        with self._lock:
            return EventPosition(self._appended)

    def after(self, event_id: str) -> EventPosition:
        """Return the position after an event by its id in the stream; `missed` counts dropped events after it.

        For an id of another process, or one that is not valid, it is the position of the oldest event, and the number
        of missed ones is not known.
        """
        process, _, number = event_id.partition("-")
        with self._lock:
            oldest = self._appended - len(self._events)
            if process != self._process or not number.isdecimal() or len(number) > 18 or int(number) > self._appended:
                return EventPosition(oldest, None)
            return EventPosition(max(int(number), oldest), max(oldest - int(number), 0))

    def read(self, position: EventPosition, most: int) -> tuple[EventPosition, Sequence[tuple[int, VerdictEvent]]]:
        """Return at most this many events from a position, each with its number, and the position after them.

        The returned position counts the events that were dropped before the first returned one.
        """
        with self._lock:
            oldest = self._appended - len(self._events)
            start = max(position.number, oldest)
            found = list(itertools.islice(self._events, start - oldest, start - oldest + most))
        numbered = list(enumerate(found, start + 1))
        return EventPosition(start + len(found), start - position.number), numbered

    def event_id(self, number: int) -> str:
        """Return the id of an event in the stream by its number."""
        return f"{self._process}-{number}"

    def _notify(self) -> None:
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()


EVENTS_PATH: Final = "/api/v1/events"
MEDIA_TYPE: Final = "text/event-stream"
_HEADERS: Final = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-accel-buffering": "no",  # nginx would collect events before it sends them
}
_RETRY_MILLISECONDS: Final = 5000
_EVENTS_PER_WRITE: Final = 16


HEARTBEAT_SECONDS: Final = 15.0
LIFE_SECONDS: Final = 900.0
"""A stream ends so that the client connects again, and the login is checked again."""


class EventStream(StreamingResponse):
    """A response that sends the events of a query from a position on, until the client or the server ends it."""

    def __init__(
        self, recent: RecentEvents, position: EventPosition, query: GroupQuery, *, is_head: bool = False
    ) -> None:
        """With `is_head` the stream ends at once."""
        super().__init__((), headers=_HEADERS, media_type=MEDIA_TYPE)
        self._recent = recent
        self._position = position
        self._query = query
        self._is_head = is_head

    async def stream_response(self, send: Send) -> None:
        """Send the events. uvicorn awaits each write until the send buffer has room."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        loop, wake = asyncio.get_running_loop(), asyncio.Event()
        ends_at = loop.time() + (0.0 if self._is_head else LIFE_SECONDS)
        with self._recent.listening(functools.partial(_call_on, loop, wake.set)):
            await _write(send, f"retry: {_RETRY_MILLISECONDS}\n".encode() + self._place())
            await _write(send, self._missed(self._position.missed))
            while not (self._recent.closed or loop.time() >= ends_at):
                wake.clear()
                if self._recent.end().number > self._position.number:
                    await _write(send, self._next())
                    # Writing does not always yield to the loop, which must notice a disconnect.
                    await asyncio.sleep(0)
                elif not await _is_set_within(wake, min(HEARTBEAT_SECONDS, ends_at - loop.time())):
                    await _write(send, b": heartbeat\n" + self._place() if loop.time() < ends_at else b"")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _next(self) -> bytes:
        """Return the messages of the next events, and move the position."""
        self._position, events = self._recent.read(self._position, _EVENTS_PER_WRITE)
        messages = [
            f"id: {self._recent.event_id(number)}\ndata: ".encode() + event.body + b"\n\n"
            for number, event in events
            if event.matches(self._query)
        ]
        return b"".join([self._missed(self._position.missed), *messages])

    def _place(self) -> bytes:
        """Return the id of the position without an event: a client that connects again continues from here."""
        return f"id: {self._recent.event_id(self._position.number)}\n\n".encode()

    @staticmethod
    def _missed(missed: int | None) -> bytes:
        if missed == 0:
            return b""
        return f"event: missed\ndata: {json.dumps({'missed': missed})}\n\n".encode()


def _call_on(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended, and with it the stream
        loop.call_soon_threadsafe(function)


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(max(seconds, 0.0)):
            await event.wait()
    return event.is_set()


async def _write(send: Send, body: bytes) -> None:
    if body:
        await send({"type": "http.response.body", "body": body, "more_body": True})
