"""Records of `__transaction_state` (Kafka's TransactionLogKey and TransactionLogValue), one per transactional id.

v1 (flexible) is written since 4.0 if the feature transaction.version is at least 1 (KIP-890). The partitions are null
while the state is Empty. If a transaction commits offsets of a group, they include the group's partition of
`__consumer_offsets`.
"""

from typing import Final

from decoders.schema import INT8, INT16, INT32, INT64, STRING, ArrayOf, Field, Message, RecordType, Struct

TRANSACTION_LOG_KEY: Final = Message(struct=Struct("TransactionLogKey", (Field("transactional_id", STRING),)))
_PARTITIONS: Final = Struct("PartitionsSchema", (Field("topic", STRING), Field("partition_ids", ArrayOf(INT32))))
TRANSACTION_LOG_VALUE: Final = Message(
    valid="0-1",
    flexible="1+",
    struct=Struct(
        "TransactionLogValue",
        (
            Field("producer_id", INT64),
            Field("previous_producer_id", INT64, "1+", default=-1, tag=0),
            Field("next_producer_id", INT64, "1+", default=-1, tag=1),
            Field("producer_epoch", INT16),
            Field("next_producer_epoch", INT16, "1+", default=-1, tag=3),
            Field("transaction_timeout_ms", INT32),
            Field("transaction_status", INT8),
            Field("transaction_partitions", ArrayOf(_PARTITIONS), nullable="0+"),
            Field("transaction_last_update_timestamp_ms", INT64),
            Field("transaction_start_timestamp_ms", INT64),
            Field("client_transaction_version", INT16, "1+", tag=2),
        ),
    ),
)

TRANSACTION_TYPES: Final = (RecordType(0, "TRANSACTION_LOG", TRANSACTION_LOG_KEY, TRANSACTION_LOG_VALUE),)
