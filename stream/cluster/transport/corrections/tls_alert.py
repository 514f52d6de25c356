"""Recognises the TLS alert with which a TLS listener answers a plaintext client.

Symptom: kafka-python parses the alert as the length of a frame, "Invalid frame length: 352518912".
"""

from typing import Any, Final

from kafka.errors import KafkaProtocolError

from stream.cluster.transport.corrections.decoder_errors import FailsRequests

_TLS_ALERT: Final = b"\x15\x03"


class SpeaksTlsError(KafkaProtocolError):  # type: ignore[misc]
    """The listener answered a plaintext request with a TLS alert."""


class RefusesTlsAlert(FailsRequests):
    """Closes a plaintext connection whose peer speaks TLS."""

    def _deliver(self: Any, received: bytes) -> bool:
        # As the length of a frame these two bytes would mean more than 350 MB, which no request asks for.
        if received.startswith(_TLS_ALERT):
            self.abort(error=SpeaksTlsError("answered with a TLS alert"))
            return False
        return super()._deliver(received)
