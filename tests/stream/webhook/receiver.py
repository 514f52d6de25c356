"""A real HTTP server on loopback that receives requests and answers as a test wants."""

import http.server
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

from sandbox.ports import LoopbackHttpServer

Answer = tuple[int, Mapping[str, str]] | tuple[int, Mapping[str, str], bytes]


class Receiver:
    """Serves inside `with receiver:`. `answer` returns status, headers and body by the number of the request."""

    path = "/events?a=b"

    def __init__(
        self, answer: Callable[[int], Answer] = lambda _: (204, {}), *, port: int = 0, delay: float = 0
    ) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.responses = 0
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                number = len(receiver.bodies)
                receiver.paths.append(self.path)
                receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
                receiver.bodies.append(body)
                time.sleep(delay)
                status, headers, *content = answer(number)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(sum(map(len, content)))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(b"".join(content))
                receiver.responses += 1

            do_GET = do_POST  # noqa: N815  # the name that http.server looks up

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = LoopbackHttpServer(port, Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def address(self) -> str:
        """The URL without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.address}{self.path}"

    @property
    def events(self) -> list[dict[str, Any]]:
        """The received bodies as JSON, in order."""
        return [json.loads(body) for body in list(self.bodies)]

    @property
    def subjects(self) -> list[str]:
        return [event["subject"] for event in self.events]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
