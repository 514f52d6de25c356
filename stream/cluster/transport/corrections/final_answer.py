"""Delivers an answer that arrives together with the end of the stream.

Symptom: kafka-python drops these bytes. A broker that refuses a login answers and closes the connection at once, so a
wrong password is reported as "socket disconnected".
"""

import time
from typing import Any, Final

_DELIVERY_SECONDS: Final = 0.05


class ReadsFinalAnswer:
    """Delivers the bytes that arrived with the end of the stream before it reports the end."""

    async def _read_from_sock(self: Any) -> None:
        while self._read and not self._closed:
            await self._net.wait_read(self._sock)
            received, error = self._sock_recv()
            if received and not self._deliver(received):
                return
            if error:
                if received:  # the coroutine that waits for this answer runs before the connection is torn down
                    await self._net.sleep(_DELIVERY_SECONDS)
                self.abort(error=error)
                return

    def _deliver(self: Any, received: bytes) -> bool:
        """Pass the bytes to the connection; return False if they closed it."""
        self.last_read = time.monotonic()
        if self._protocol is None:
            return False
        self._protocol.data_received(received)
        return True
