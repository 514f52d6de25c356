"""Limits the time of a TLS handshake.

Symptom: with a listener that accepts connections and does not answer, the handshake of kafka-python never ends, and all
later requests to the broker queue behind it.
"""

import ssl
from typing import Any


class LimitsHandshake:
    """A TLS transport whose handshake has a deadline."""

    async def handshake_until(self: Any, deadline: float | None) -> None:
        """Do the TLS handshake. Raises KafkaTimeoutError after `deadline` (monotonic seconds)."""
        while True:
            try:
                self._sock.do_handshake()
            except ssl.SSLWantReadError:
                await self._net.wait_read(self._sock, timeout_at=deadline)
            except ssl.SSLWantWriteError:
                await self._net.wait_write(self._sock, timeout_at=deadline)
            else:
                return
