"""Classic groups: record type 2 of `__consumer_offsets` (Kafka's GroupMetadataKey and GroupMetadataValue).

Written: v0 by 0.9 and 0.10.0; v1 since 0.10.1 (rebalance timeout, KIP-62); v2 since 2.1-IV0 (state timestamp,
KIP-211); v3 since 2.3-IV0 (static membership, KIP-345). v4 (flexible) is readable since 3.5, but no release writes
it.
"""

from typing import Final

from decoders.schema import BYTES, INT32, INT64, STRING, ArrayOf, Field, Message, Struct

GROUP_METADATA_KEY: Final = Message(Struct("GroupMetadataKey", (Field("group", STRING),)))

MEMBER_METADATA: Final = Struct(
    "MemberMetadata",
    (
        Field("member_id", STRING),
        Field("group_instance_id", STRING, "3+", nullable="3+", default=None),
        Field("client_id", STRING),
        Field("client_host", STRING),
        Field("rebalance_timeout", INT32, "1+", default=-1),
        Field("session_timeout", INT32),
        Field("subscription", BYTES),
        Field("assignment", BYTES),
    ),
)

GROUP_METADATA_VALUE: Final = Message(
    valid="0-4",
    flexible="4+",
    struct=Struct(
        "GroupMetadataValue",
        (
            Field("protocol_type", STRING),
            Field("generation", INT32),
            Field("protocol", STRING, nullable="0+"),
            Field("leader", STRING, nullable="0+"),
            Field("current_state_timestamp", INT64, "2+", default=-1),
            Field("members", ArrayOf(MEMBER_METADATA)),
        ),
    ),
)
