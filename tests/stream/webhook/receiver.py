"""A real HTTP server on loopback that receives events and answers as a test wants."""

from __future__ import annotations

import http.server
import json
import threading
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Answer = tuple[int, Mapping[str, str]]


class Receiver:
    """Serves inside `with receiver:`. `answer` returns status and headers by the number of the request, from 0."""

    def __init__(
        self, answer: Callable[[int], Answer] = lambda _: (204, {}), *, port: int = 0, delay: float = 0
    ) -> None:
        self.events: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.responses = 0
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                number = len(receiver.events)
                receiver.headers.append(dict(self.headers))
                receiver.events.append(json.loads(body))
                time.sleep(delay)
                status, headers = answer(number)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                receiver.responses += 1

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        """The port."""
        return self._server.server_port

    @property
    def url(self) -> str:
        """The URL of the webhook."""
        return f"http://127.0.0.1:{self.port}/events?a=b"

    @property
    def subjects(self) -> list[str]:
        """The groups of the received events, in order."""
        return [event["subject"] for event in self.events]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
