"""Opens connections for requests only.

Symptom: kafka-python keeps a refused login forever, although rights and passwords change; and when a connection breaks,
it bootstraps again in the background, without limit and with the auto-creation of topics on.
"""

from typing import Any

from kafka.errors import NodeNotReadyError, UnknownBrokerIdError
from kafka.net.manager import KafkaConnectionManager


class OpensForRequests(KafkaConnectionManager):  # type: ignore[misc]
    """A manager of connections without background activity."""

    def get_connection(self, node_id: object, **_: Any) -> Any:
        """Return the node's connection, opened if needed. The caller decides about retries of a refused login."""
        if self.connection_delay(node_id) > 0:
            raise NodeNotReadyError(node_id)
        if node_id in self._conns:
            return self._conns[node_id]
        node = self.cluster.broker_metadata(node_id)
        if node is None:
            raise UnknownBrokerIdError(node_id)
        options = {**self.config, "node_id": node_id, "broker_version_data": self.broker_version_data}
        connection = self._new_connection(node, options)
        connection.close_future.add_both(lambda _: self._conns.pop(node_id, None))
        self._conns[node_id] = connection
        self._net.call_soon(lambda: self._connect(node, connection))
        return connection

    def _new_connection(self, node: Any, options: dict[str, Any]) -> Any:
        raise NotImplementedError
