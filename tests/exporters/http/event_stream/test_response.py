"""The stream of events: on real sockets, with readers that are slow, silent, too many, or late."""

import asyncio
import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from exporters.group_query import GroupQuery
from exporters.http.admission import ConnectionLimits
from exporters.http.event_stream import response as response_module
from exporters.http.event_stream.response import EventStream, RecentEvents
from exporters.http.server import HttpServer
from exporters.verdict_event import AnnouncedVerdict, VerdictEvent
from sandbox.waiting import wait_until
from tests.exporters.serving import get, serving

OK, STOPPED = AnnouncedVerdict("ok", "fine"), AnnouncedVerdict("stopped", "critical")


def event(name: str, verdict: AnnouncedVerdict = STOPPED, size: int = 0) -> VerdictEvent:
    body = json.dumps({"subject": name, "padding": "x" * size}).encode()
    return VerdictEvent(name, name, 0.0, body, verdict, OK)


def streams_of(recent: RecentEvents, **arguments: Any) -> contextlib.AbstractContextManager[HttpServer]:
    """Serve a stream of events until the end of the block."""
    return serving(events=recent, **arguments)


def connection(server: HttpServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)


class Stream:
    """A client of the stream: reads messages as fields."""

    def __init__(self, server: HttpServer, query: str = "", **headers: str) -> None:
        self._client = connection(server)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self._client.request("GET", f"/api/v1/events{query}", headers=names)
        self.response = self._client.getresponse()

    def message(self) -> dict[str, str]:
        """Return the fields of the next message; a comment has the empty name. Empty at the end of the stream."""
        fields = {}
        while line := self.response.readline().decode().rstrip("\n"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        return fields

    def subject(self) -> str:
        return str(json.loads(self.message()["data"])["subject"])

    def close(self) -> None:
        self.response.close()
        self._client.close()


@contextlib.contextmanager
def streaming(server: HttpServer, query: str = "", **headers: str) -> Iterator[Stream]:
    with contextlib.closing(Stream(server, query, **headers)) as stream:
        assert stream.response.status == 200
        opening = stream.message()
        assert opening["retry"] == "5000"
        yield stream


def test_each_event_is_a_message_with_an_id() -> None:
    """Events before the request are not sent; the opening message already has the id to continue from."""
    recent = RecentEvents()
    recent.append([event("old")])
    with streams_of(recent) as server, contextlib.closing(Stream(server)) as stream:
        kind = stream.response.getheader("content-type") or ""
        assert kind.startswith("text/event-stream")
        assert stream.response.getheader("content-length") is None
        assert stream.message() == {"retry": "5000", "id": recent.event_id(1)}
        recent.append([event("a"), event("b")])
        assert stream.message() == {"id": recent.event_id(2), "data": '{"subject": "a", "padding": ""}'}
        assert stream.subject() == "b"


def test_a_client_continues_after_the_last_event_that_it_got() -> None:
    """A client that continues gets the events after its last one at once, and then new events.

    A stream reports the number of dropped events, or null if it is unknown, and then sends all others.
    """
    abc = [event("a"), event("b"), event("c")]
    recent = RecentEvents()
    recent.append(abc)
    with streams_of(recent) as server, streaming(server, Last_Event_ID=recent.event_id(1)) as stream:
        assert [stream.subject(), stream.subject()] == ["b", "c"]
        recent.append([event("d")])
        assert stream.subject() == "d"
    for missed in (2, None):
        short = RecentEvents(most_events=1)
        short.append(abc)
        last = short.event_id(0) if missed else "of-another-process"
        with streams_of(short) as server, streaming(server, Last_Event_ID=last) as stream:
            assert stream.message() == {"event": "missed", "data": json.dumps({"missed": missed})}
            assert stream.subject() == "c"


def test_a_stream_has_only_the_events_of_its_filters() -> None:
    """An unknown parameter is refused, because a misspelt filter would pass every event."""
    recent = RecentEvents()
    with streams_of(recent) as server, streaming(server, "?severity=critical&filter=b") as stream:
        recent.append([event("b1", OK), event("a"), event("b2")])
        assert stream.subject() == "b2"
        for query in ("?topic=orders", "?severty=critical", "?severity=critcal"):
            refused = Stream(server, query)
            assert refused.response.status == 400
            refused.close()


def test_heartbeats_and_lifetime(monkeypatch: pytest.MonkeyPatch) -> None:
    """A heartbeat has the position: a client whose filter matches nothing does not ask for the same events again.

    A stream is completed after its lifetime, so that the client connects again and its login is checked.
    """
    monkeypatch.setattr(response_module, "HEARTBEAT_SECONDS", 0.05)
    recent = RecentEvents()
    with streams_of(recent) as server, streaming(server, "?filter=b") as stream:
        recent.append([event("a")])
        while (message := stream.message())["id"] != recent.event_id(1):
            assert message == {"": "heartbeat", "id": recent.event_id(0)}
        assert message == {"": "heartbeat", "id": recent.event_id(1)}
    monkeypatch.setattr(response_module, "LIFE_SECONDS", 0.05)
    with streams_of(RecentEvents()) as server, streaming(server) as stream:
        assert stream.message() == {}
        assert stream.response.isclosed()


def test_streams_end_with_the_server() -> None:
    """A silent stream is completed with its last chunk when the server stops."""
    with streams_of(RecentEvents()) as server, socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
        line.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = line.recv(65_536)
        server.stop()
        while more := line.recv(65_536):
            received += more
        assert received.endswith(b"\r\n0\r\n\r\n")  # the last chunk; a response that was cut off has none


def test_the_number_of_streams_is_bounded() -> None:
    """Streams use a quarter of the connections and no places of other requests; an ended stream frees its place."""
    limits = ConnectionLimits(total=20, per_address=12)
    with streams_of(RecentEvents(), limits=limits) as server, contextlib.ExitStack() as stack:
        streams = [stack.enter_context(streaming(server)) for _ in range(3)]
        refused = stack.enter_context(contextlib.closing(Stream(server)))
        assert refused.response.status == 503
        assert json.loads(refused.response.read()) == {"error": "too many concurrent event streams"}
        assert b'lagwarden_http_refusals_total{reason="requests"} 1\n' in get(server, "/metrics")[1]
        streams[0].close()

        def admitted() -> bool:
            with contextlib.closing(Stream(server)) as stream:
                return stream.response.status == 200

        wait_until(admitted, "a place for another stream")


def test_a_client_that_disconnects_ends_its_stream() -> None:
    """A stream ends when its client disconnects, even if nothing is sent in the meantime."""
    recent = RecentEvents()

    async def run() -> None:
        async def receive() -> Any:
            await asyncio.sleep(0)
            return {"type": "http.disconnect"}

        async def send(_message: Any) -> None:
            pass

        stream = EventStream(recent, recent.end(), GroupQuery())
        await stream({"type": "http", "method": "GET"}, receive, send)

    asyncio.run(run())
    assert not recent._listeners
