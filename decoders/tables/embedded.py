"""Data embedded in group metadata by consumers and Connect. Never flexible.

The version precedes the body (`decoders.blobs` reads it). AssignmentInfo of Kafka Streams does not use Kafka's message
format and has no table.
"""

from typing import Final

from decoders.schema import BYTES, INT16, INT32, INT64, STRING, ArrayOf, Field, message, struct

# -- the consumer protocol (Kafka's ConsumerProtocolSubscription and ConsumerProtocolAssignment)

_TOPIC_PARTITIONS: Final = struct("TopicPartition", Field("topic", STRING), Field("partitions", ArrayOf(INT32)))

CONSUMER_SUBSCRIPTION: Final = message(
    "ConsumerProtocolSubscription",
    Field("topics", ArrayOf(STRING)),
    Field("user_data", BYTES, nullable="0+", default=None),
    Field("owned_partitions", ArrayOf(_TOPIC_PARTITIONS), "1+"),  # KIP-429
    Field("generation_id", INT32, "2+", default=-1),  # KIP-792
    Field("rack_id", STRING, "3+", nullable="3+", default=None),  # KIP-881
    valid="0-3",
)

CONSUMER_ASSIGNMENT: Final = message(
    "ConsumerProtocolAssignment",
    Field("assigned_partitions", ArrayOf(_TOPIC_PARTITIONS)),
    Field("user_data", BYTES, nullable="0+", default=None),
    valid="0-3",
)

# -- Connect (ConnectProtocol v0; IncrementalCooperativeConnectProtocol v1 and, as "sessioned", v2)

CONNECT_METADATA: Final = message(
    "ConnectMetadata",
    Field("url", STRING),
    Field("config_offset", INT64),
    Field("allocation", BYTES, "1+", nullable="1+", default=None, optional_at_end=True),
    valid="0-2",
)

_CONNECTOR_TASKS: Final = struct("ConnectorTasks", Field("connector", STRING), Field("tasks", ArrayOf(INT32)))

CONNECT_ASSIGNMENT: Final = message(
    "ConnectAssignment",
    Field("error", INT16),
    Field("leader", STRING),
    Field("leader_url", STRING),
    Field("config_offset", INT64),
    # A task of -1 is the connector itself.
    Field("assignment", ArrayOf(_CONNECTOR_TASKS), nullable="1+", default=None, optional_at_end=True),
    Field("revoked", ArrayOf(_CONNECTOR_TASKS), "1+", nullable="1+", default=None, optional_at_end=True),
    Field("delay", INT32, "1+", optional_at_end=True),
    valid="0-2",
)
