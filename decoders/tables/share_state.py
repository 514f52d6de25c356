"""Records of `__share_group_state` (KIP-932): the state of each share group in each partition.

A snapshot (type 0) is the full state of a partition, an update (type 1) has the changes since then; a snapshot with a
higher epoch replaces the previous one. 4.0 (early access) wrote both as the same version 0, but with an epoch of two
bytes and without timestamps.
"""

from typing import Final

from decoders.schema import INT8, INT16, INT32, INT64, STRING, UINT16, UUID, ArrayOf, Field, Message, RecordType, Struct
from decoders.tables.shapes import flexible

SHARE_SNAPSHOT_KEY: Final = Message(
    struct=Struct("ShareSnapshotKey", (Field("group_id", STRING), Field("topic_id", UUID), Field("partition", INT32)))
)

_STATE_BATCH: Final = Struct(
    "StateBatch",
    (
        Field("first_offset", INT64),
        Field("last_offset", INT64),
        Field("delivery_state", INT8),
        Field("delivery_count", INT16),
    ),
)

SHARE_SNAPSHOT_VALUE: Final = flexible(
    "ShareSnapshotValue",
    Field("snapshot_epoch", INT32),
    Field("state_epoch", INT32),
    Field("leader_epoch", INT32),
    Field("start_offset", INT64),
    Field("delivery_complete_count", INT32, default=-1, tag=0),
    Field("create_timestamp", INT64),
    Field("write_timestamp", INT64),
    Field("state_batches", ArrayOf(_STATE_BATCH)),
)

SHARE_UPDATE_KEY: Final = Message(
    struct=Struct("ShareUpdateKey", (Field("group_id", STRING), Field("topic_id", UUID), Field("partition", INT32)))
)

SHARE_UPDATE_VALUE: Final = flexible(
    "ShareUpdateValue",
    Field("snapshot_epoch", INT32),
    Field("leader_epoch", INT32),
    Field("start_offset", INT64),
    Field("delivery_complete_count", INT32, default=-1, tag=0),
    Field("state_batches", ArrayOf(_STATE_BATCH)),
)

SHARE_SNAPSHOT_VALUE_4_0: Final = flexible(
    "ShareSnapshotValue",
    Field("snapshot_epoch", UINT16),
    Field("state_epoch", INT32),
    Field("leader_epoch", INT32),
    Field("start_offset", INT64),
    Field("state_batches", ArrayOf(_STATE_BATCH)),
)

SHARE_UPDATE_VALUE_4_0: Final = flexible(
    "ShareUpdateValue",
    Field("snapshot_epoch", UINT16),
    Field("leader_epoch", INT32),
    Field("start_offset", INT64),
    Field("state_batches", ArrayOf(_STATE_BATCH)),
)

SHARE_STATE_TYPES: Final = (
    RecordType(0, "SHARE_SNAPSHOT", SHARE_SNAPSHOT_KEY, SHARE_SNAPSHOT_VALUE, (SHARE_SNAPSHOT_VALUE_4_0,)),
    RecordType(1, "SHARE_UPDATE", SHARE_UPDATE_KEY, SHARE_UPDATE_VALUE, (SHARE_UPDATE_VALUE_4_0,)),
)
