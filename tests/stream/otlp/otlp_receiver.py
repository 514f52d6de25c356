"""A real HTTP server on loopback that receives exports of OTLP."""

import gzip
from typing import Any

from tests.stream.webhook.receiver import Receiver


class OtlpReceiver(Receiver):
    """Receives exports: answers 200 by default, and has the decompressed requests."""

    path = "/v1/metrics"

    def __init__(self, answer: Any = lambda _: (200, {}, b""), **options: Any) -> None:
        super().__init__(answer, **options)

    @property
    def requests(self) -> list[bytes]:
        return [gzip.decompress(body) for body in list(self.bodies)]
