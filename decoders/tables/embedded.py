"""Data embedded in group metadata by consumers, assignors, Connect and Kafka Streams. Never flexible.

The version precedes the body (`decoders.blobs` reads it), except in the user data of assignors, which has no version.
AssignmentInfo of Kafka Streams does not use Kafka's message format; `decoders.streams_info` decodes it.
"""

from __future__ import annotations

from typing import Final

from decoders.schema import BYTES, INT8, INT16, INT32, INT64, STRING, UUID, ArrayOf, Field, Message, Struct

# -- the consumer protocol (Kafka's ConsumerProtocolSubscription and ConsumerProtocolAssignment)

_TOPIC_PARTITIONS: Final = Struct("TopicPartition", (Field("topic", STRING), Field("partitions", ArrayOf(INT32))))

CONSUMER_SUBSCRIPTION: Final = Message(
    valid="0-3",
    struct=Struct(
        "ConsumerProtocolSubscription",
        (
            Field("topics", ArrayOf(STRING)),
            Field("user_data", BYTES, nullable="0+", default=None),
            Field("owned_partitions", ArrayOf(_TOPIC_PARTITIONS), "1+"),  # KIP-429
            Field("generation_id", INT32, "2+", default=-1),  # KIP-792
            Field("rack_id", STRING, "3+", nullable="3+", default=None),  # KIP-881
        ),
    ),
)

CONSUMER_ASSIGNMENT: Final = Message(
    valid="0-3",
    struct=Struct(
        "ConsumerProtocolAssignment",
        (
            Field("assigned_partitions", ArrayOf(_TOPIC_PARTITIONS)),
            Field("user_data", BYTES, nullable="0+", default=None),
        ),
    ),
)

# -- user data of assignors (StickyAssignor, CooperativeStickyAssignor)

STICKY_USER_DATA: Final = Message(
    valid="0-1",
    struct=Struct(
        "StickyAssignorUserData",
        (
            Field("previous_assignment", ArrayOf(_TOPIC_PARTITIONS)),
            Field("generation", INT32, "1+", default=-1),
        ),
    ),
)

COOPERATIVE_STICKY_USER_DATA: Final = Message(
    Struct("CooperativeStickyAssignorUserData", (Field("generation", INT32),)),
)

# -- Connect (ConnectProtocol v0; IncrementalCooperativeConnectProtocol v1 and, as "sessioned", v2)

CONNECT_METADATA: Final = Message(
    valid="0-2",
    struct=Struct(
        "ConnectMetadata",
        (
            Field("url", STRING),
            Field("config_offset", INT64),
            Field("allocation", BYTES, "1+", nullable="1+", default=None, optional_at_end=True),
        ),
    ),
)

_CONNECTOR_TASKS: Final = Struct("ConnectorTasks", (Field("connector", STRING), Field("tasks", ArrayOf(INT32))))

CONNECT_ASSIGNMENT: Final = Message(
    valid="0-2",
    struct=Struct(
        "ConnectAssignment",
        (
            Field("error", INT16),
            Field("leader", STRING),
            Field("leader_url", STRING),
            Field("config_offset", INT64),
            # A task of -1 is the connector itself.
            Field("assignment", ArrayOf(_CONNECTOR_TASKS), nullable="1+", default=None, optional_at_end=True),
            Field("revoked", ArrayOf(_CONNECTOR_TASKS), "1+", nullable="1+", default=None, optional_at_end=True),
            Field("delay", INT32, "1+", optional_at_end=True),
        ),
    ),
)

# -- Kafka Streams on the classic protocol (SubscriptionInfoData)

_TASK_ID: Final = Struct("TaskId", (Field("topic_group_id", INT32), Field("partition", INT32)))
_PARTITION_OFFSET_SUM: Final = Struct("PartitionToOffsetSum", (Field("partition", INT32), Field("offset_sum", INT64)))
_TASK_OFFSET_SUM: Final = Struct(
    "TaskOffsetSum",
    (
        Field("topic_group_id", INT32),
        Field("partition", INT32, "10+"),
        Field("offset_sum", INT64, "10+"),  # -2: active running task; -3: unknown
        Field("named_topology", STRING, "10+", nullable="10+"),
        Field("partition_to_offset_sum", ArrayOf(_PARTITION_OFFSET_SUM), "7-9"),
    ),
)
_CLIENT_TAG: Final = Struct("ClientTag", (Field("key", BYTES), Field("value", BYTES)))

STREAMS_SUBSCRIPTION_INFO: Final = Message(
    valid="1-11",
    struct=Struct(
        "SubscriptionInfoData",
        (
            Field("version", INT32),
            Field("latest_supported_version", INT32, "3+", default=-1),
            Field("process_id", UUID),
            Field("prev_tasks", ArrayOf(_TASK_ID), "1-6"),
            Field("standby_tasks", ArrayOf(_TASK_ID), "1-6"),
            Field("user_end_point", BYTES, "2+"),
            Field("task_offset_sums", ArrayOf(_TASK_OFFSET_SUM), "7+"),
            Field("unique_field", INT8, "8+"),
            Field("error_code", INT32, "9+"),
            Field("client_tags", ArrayOf(_CLIENT_TAG), "11+"),
        ),
    ),
)
