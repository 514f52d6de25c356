"""The recent verdict events in memory, from which every stream reads at its own position."""

import collections
import contextlib
import dataclasses
import itertools
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final

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
        self._closed = False

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._closed

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
            for event in events:
                self._events.append(event)
                self._bytes += len(event.body)
            self._appended += len(events)
            while len(self._events) > self._most_events or self._bytes > self._most_bytes:
                self._bytes -= len(self._events.popleft().body)
        self._notify()

    def close(self) -> None:
        """End all streams: `closed` is true from now on."""
        self._closed = True
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
