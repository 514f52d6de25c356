"""A real HTTP server on loopback that receives exports of OTLP and answers as a test wants."""

from __future__ import annotations

import gzip
import http.server
import threading
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

    Answer = tuple[int, Mapping[str, str], bytes]


class OtlpReceiver:
    """Serves inside `with receiver:`. `answer` returns status, headers and body by the number of the request."""

    def __init__(
        self,
        answer: Callable[[int], Answer] = lambda _: (200, {}, b""),
        *,
        port: int = 0,
        delay: float = 0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.responses = 0
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                number = len(receiver.bodies)
                receiver.paths.append(self.path)
                receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
                receiver.bodies.append(gzip.decompress(body))
                time.sleep(delay)
                status, headers, content = answer(number)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)
                receiver.responses += 1

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._scheme = "http" if context is None else "https"
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        """The port."""
        return self._server.server_port

    @property
    def url(self) -> str:
        """The URL of the receiver."""
        return f"{self._scheme}://127.0.0.1:{self.port}/v1/metrics"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
