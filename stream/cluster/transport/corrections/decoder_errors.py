"""Fails the requests of a connection with the error of the decoder of a response.

Symptom: an exception other than KafkaProtocolError ends the task that reads the connection, which stays open: all its
requests time out.
"""

from typing import Any

from kafka.errors import KafkaProtocolError

from stream.cluster.transport.corrections.final_answer import ReadsFinalAnswer


class FailsRequests(ReadsFinalAnswer):
    """Closes the connection with the error that its bytes cause."""

    def _deliver(self: Any, received: bytes) -> bool:
        try:
            return super()._deliver(received)
        except IndexError:
            self.abort(error=KafkaProtocolError("the response ends too early"))
        except Exception as error:  # noqa: BLE001 -- the requests that wait for this connection get it
            self.abort(error=error)
        return False
