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
_NO_LEADER: Final = -1
_LEADER_UNCHANGED: Final = -2


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


def partition(_key: Fields, value: Fields) -> facts.PartitionRecorded:
    """Return the event of a PartitionRecord."""
    return facts.PartitionRecorded(
        topic_id=value["topic_id"],
        partition=value["partition_id"],
        leader=none_if_unset(value["leader"]),
        leader_epoch=value["leader_epoch"],
        partition_epoch=value["partition_epoch"],
        replicas=value["replicas"],
        isr=value["isr"],
    )


def partition_change(_key: Fields, value: Fields) -> facts.PartitionChanged:
    """Return the event of a PartitionChangeRecord; leader -2 means unchanged, -1 means no leader."""
    leader = value["leader"]
    return facts.PartitionChanged(
        topic_id=value["topic_id"],
        partition=value["partition_id"],
        sets_leader=leader != _LEADER_UNCHANGED,
        leader=None if leader in {_NO_LEADER, _LEADER_UNCHANGED} else leader,
        isr=value["isr"],
        replicas=value["replicas"],
    )


def config(_key: Fields, value: Fields) -> facts.ConfigChanged:
    """Return the event of a ConfigRecord."""
    return facts.ConfigChanged(value["resource_type"], value["resource_name"], value["name"], value["value"])


def broker(_key: Fields, value: Fields) -> facts.BrokerRegistered:
    """Return the event of a RegisterBrokerRecord."""
    return facts.BrokerRegistered(
        broker=value["broker_id"],
        broker_epoch=value["broker_epoch"],
        incarnation_id=value["incarnation_id"],
        endpoints=tuple((row["name"], row["host"], row["port"]) for row in value["end_points"]),
        rack=value["rack"],
        fenced=value["fenced"],
    )


def broker_change(_key: Fields, value: Fields) -> facts.BrokerChanged:
    """Return the event of a BrokerRegistrationChangeRecord.

    1 sets a flag, -1 clears it, 0 leaves it unchanged; a controlled shutdown is never cleared.
    """
    return facts.BrokerChanged(
        broker=value["broker_id"],
        broker_epoch=value["broker_epoch"],
        fenced={1: True, -1: False}.get(value["fenced"]),
        in_controlled_shutdown={1: True}.get(value["in_controlled_shutdown"]),
    )


def broker_fence(value: Fields, *, fenced: bool) -> facts.BrokerChanged:
    """Return the event of a FenceBrokerRecord or UnfenceBrokerRecord."""
    return facts.BrokerChanged(value["id"], value["epoch"], fenced, None)
