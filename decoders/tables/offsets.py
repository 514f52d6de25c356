"""Offset commits: record types 0 and 1 of `__consumer_offsets` (Kafka's OffsetCommitKey and OffsetCommitValue).

Written: v0 by 0.8.2; v1 by 0.9 to 2.0, and by later releases for commits with an explicit retention; v2 by the 2.1-IV0
protocol (KIP-211 removed the expire timestamp); v3 from 2.1-IV1 to 4.0 (leader epoch, KIP-320); v4 since 4.1
(flexible, topic id). Type 0 keys are those of 0.8.2. Their values are read in every version, as in brokers up to 4.0
(4.1 reads only v0).
"""

from typing import Final

from decoders.schema import INT32, INT64, STRING, UUID, Field, Message, Struct

_KEY: Final = (Field("group", STRING), Field("topic", STRING), Field("partition", INT32, minimum=0))
LEGACY_OFFSET_COMMIT_KEY: Final = Message(Struct("LegacyOffsetCommitKey", _KEY))
OFFSET_COMMIT_KEY: Final = Message(Struct("OffsetCommitKey", _KEY))

OFFSET_COMMIT_VALUE: Final = Message(
    valid="0-4",
    flexible="4+",
    struct=Struct(
        "OffsetCommitValue",
        (
            Field("offset", INT64),
            Field("leader_epoch", INT32, "3+", default=-1),
            Field("metadata", STRING),
            Field("commit_timestamp", INT64),
            Field("expire_timestamp", INT64, "1", default=-1),
            Field("topic_id", UUID, "4+", tag=0),
        ),
    ),
)
