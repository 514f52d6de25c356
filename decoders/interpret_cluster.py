"""Events from values of the other internal topics: a function per record type, (key, value) -> event. No tombstones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from decoders import cluster_events as facts
from decoders.records import none_if_unset

if TYPE_CHECKING:
    from decoders.records import Fields

_TRANSACTION_STATES: Final = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"),
    "PrepareEpochFence",
)


def transaction(key: Fields, value: Fields) -> facts.TransactionStateRecorded:
    """Return the event of a TransactionLogValue."""
    status = value["transaction_status"]
    partitions = value["transaction_partitions"] or ()
    return facts.TransactionStateRecorded(
        transactional_id=key["transactional_id"],
        producer_id=value["producer_id"],
        producer_epoch=value["producer_epoch"],
        transaction_state=(
            _TRANSACTION_STATES[status] if 0 <= status < len(_TRANSACTION_STATES) else f"Unknown({status})"
        ),
        timeout=value["transaction_timeout_ms"],
        partitions=tuple((row["topic"], row["partition_ids"]) for row in partitions),
        last_update_timestamp=value["transaction_last_update_timestamp_ms"],
        start_timestamp=none_if_unset(value["transaction_start_timestamp_ms"]),
        previous_producer_id=none_if_unset(value["previous_producer_id"]),
        next_producer_id=none_if_unset(value["next_producer_id"]),
        client_transaction_version=value["client_transaction_version"],
    )


def share_partition(key: Fields, value: Fields) -> facts.SharePartitionStateRecorded:
    """Return the event of a ShareSnapshotValue or ShareUpdateValue; updates have no state epoch and no timestamps."""
    return facts.SharePartitionStateRecorded(
        group=key["group_id"],
        topic_id=key["topic_id"],
        partition=key["partition"],
        snapshot="state_epoch" in value,
        snapshot_epoch=value["snapshot_epoch"],
        state_epoch=value.get("state_epoch"),
        leader_epoch=value["leader_epoch"],
        start_offset=value["start_offset"],
        delivery_complete_count=none_if_unset(value.get("delivery_complete_count", -1)),
        create_timestamp=value.get("create_timestamp"),
        write_timestamp=value.get("write_timestamp"),
        batches=tuple(
            (row["first_offset"], row["last_offset"], row["delivery_state"], row["delivery_count"])
            for row in value["state_batches"]
        ),
    )
