"""Events of records for which `test_golden` has no bytes from Kafka, and of every type, value and tombstone."""

import random
import struct

import pytest

from decoders import group_events as groups
from decoders.events import RecordEvent, Removed, SharePartitionStateRecorded, TransactionStateRecorded
from decoders.interpret import event_of
from decoders.scalar import decode, decode_share_state, decode_transaction
from decoders.schema import Record, RecordType
from decoders.tables import BY_NUMBER, RECORD_TYPES, SHARE_STATE_TYPES, TRANSACTION_TYPES, share
from tests.decoders.golden import TOPIC_ID
from tests.decoders.writing import random_record, write_key, write_value

NAMES = {"group_id": "g", "member_id": "m"}
TASKS = ({"subtopology_id": "0", "partitions": (1, 2), "assignment_epochs": ()},)
PLAIN_TASKS = ({"subtopology_id": "0", "partitions": (1, 2)},)


def made(record: object) -> RecordEvent:
    """Return the event of a record that was decoded without an error."""
    assert isinstance(record, Record), record
    return event_of(record)


NAMED = {"topic_id": TOPIC_ID, "topic_name": "t"}
EPOCHS = {"member_epoch": -2, "previous_member_epoch": 4, "state": 2}
PENDING = {"topic_id": TOPIC_ID, "partitions": (0,), "assignment_epochs": ()}
ROLES = ("active_tasks", "standby_tasks", "warmup_tasks")
NO_TASKS = dict.fromkeys((*ROLES, *(f"{role}_pending_revocation" for role in ROLES)), ())
STORE = {"name": "store", "partitions": 0, "replication_factor": 0, "topic_configs": ()}
SUBTOPOLOGY = {
    "subtopology_id": "0",
    "source_topics": ("in",),
    "state_changelog_topics": (STORE,),
    "repartition_sink_topics": ("out",),
    **dict.fromkeys(("source_topic_regex", "repartition_source_topics", "copartition_groups"), ()),
}
VALUES = {
    "4.0 group with partition metadata": (
        4,
        {"topics": ({"topic_id": TOPIC_ID, "topic_name": "t", "num_partitions": 3, "partition_metadata": ()},)},
        groups.PartitionMetadataRecorded("g", ((TOPIC_ID, "t", 3),)),
    ),
    "share member": (
        10,
        {"rack_id": None, "client_id": "c", "client_host": "/h", "subscribed_topic_names": ("t",)},
        groups.MemberRecorded("g", "share", "m", "c", "/h", topics=("t",)),
    ),
    "share target of 4.2, without a timestamp": (
        12,
        {"assignment_epoch": 3, "assignment_timestamp": 0},
        groups.TargetAssignmentRecorded("g", "share", 3, None),
    ),
    "share member's target": (
        13,
        {"topic_partitions": ({"topic_id": TOPIC_ID, "partitions": (0,)},)},
        groups.MemberTargetRecorded("g", "share", "m", (("", TOPIC_ID, (0,)),)),
    ),
    "share member's partitions": (
        14,
        {"member_epoch": 2, "previous_member_epoch": 1, "state": 0, "assigned_partitions": ()},
        groups.MemberAssignmentRecorded("g", "share", "m", 2, "stable", ()),
    ),
    "share topics, one partition in two lists at once": (
        15,
        {
            "initializing_topics": (NAMED | {"partitions": (1,)},),
            "initialized_topics": (NAMED | {"partitions": (0, 1)},),
        }
        | {"deleting_topics": ({"topic_id": TOPIC_ID, "topic_name": "u"},)},
        groups.ShareTopicsRecorded("g", ((TOPIC_ID, "t", (1,)),), ((TOPIC_ID, "t", (0, 1)),), ((TOPIC_ID, "u"),)),
    ),
    "static member that left temporarily": (
        8,
        EPOCHS | {"assigned_partitions": (), "partitions_pending_revocation": (PENDING,)},
        groups.MemberAssignmentRecorded("g", "consumer", "m", -2, "unreleased", (), (("", TOPIC_ID, (0,)),)),
    ),
    "streams target": (
        20,
        {"assignment_epoch": 3, "assignment_timestamp": 5},
        groups.TargetAssignmentRecorded("g", "streams", 3, 5),
    ),
    "streams member's target": (
        21,
        {"active_tasks": PLAIN_TASKS, "standby_tasks": (), "warmup_tasks": PLAIN_TASKS},
        groups.MemberTargetRecorded("g", "streams", "m", (("active", "0", (1, 2)), ("warmup", "0", (1, 2)))),
    ),
    "streams member's tasks: states start at 1": (
        22,
        {"member_epoch": 2, "previous_member_epoch": 1, "state": 1, **NO_TASKS}
        | {"active_tasks": TASKS, "standby_tasks_pending_revocation": TASKS},
        groups.MemberAssignmentRecorded(
            "g", "streams", "m", 2, "stable", (("active", "0", (1, 2)),), (("standby", "0", (1, 2)),)
        ),
    ),
    "streams topology": (
        23,
        {"epoch": 1, "subtopologies": (SUBTOPOLOGY,)},
        groups.StreamsTopologyRecorded("g", 1, (groups.Subtopology("0", ("in",), (), ()),)),
    ),
}


def test_a_value_gives_its_event() -> None:
    """The fields of a record of a newer group type give the expected event."""
    for story, (number, value, event) in VALUES.items():
        row = BY_NUMBER[number]
        assert row.value is not None, story
        assert made(decode(write_key(row, NAMES), write_value(row.value, 0, value))) == event, story


@pytest.mark.parametrize("row", [row for row in RECORD_TYPES if not row.removed], ids=lambda row: row.name)
def test_every_record_type_gives_one_event(row: RecordType) -> None:
    """A value and a tombstone give one event each. Only that of the tombstone removes what its key names."""
    rng = random.Random(row.number)  # noqa: S311  # test data, not cryptography
    for _ in range(50):
        key, value = random_record(rng, row)
        removed = made(decode(key, None))
        assert isinstance(removed, Removed)
        assert removed.type is row
        if value is not None:
            assert type(made(decode(key, value))) is not Removed


def test_a_transaction_has_the_name_of_its_state() -> None:
    """The golden bytes are an ongoing transaction of v1, and an empty one of v0 without partitions."""
    key = struct.pack(">hh", 0, 1) + b"x"
    ongoing = bytes.fromhex(
        "0001000000000000006400050000ea600102027402000000000000000000000003e800000000000002ee"
        "020008000000000000006302020002"
    )
    assert made(decode_transaction(key, ongoing)) == TransactionStateRecorded(
        "x", 100, 5, "Ongoing", 60000, (("t", (0,)),), 1000, 750
    )
    empty = bytes.fromhex("0000000000000000006400050000ea6000ffffffff00000000000003e8ffffffffffffffff")
    assert made(decode_transaction(key, empty)) == TransactionStateRecorded("x", 100, 5, "Empty", 60000, (), 1000, None)
    assert made(decode_transaction(key, None)) == Removed(TRANSACTION_TYPES[0], {"transactional_id": "x"})


def test_a_share_partition_state_is_a_snapshot_or_an_update() -> None:
    """Both record types give the same event class; the layout of 4.0 is recognised by its length."""
    snapshot, update = SHARE_STATE_TYPES.values()
    names = {"group_id": "g", "topic_id": TOPIC_ID, "partition": 1}
    batch = {"first_offset": 5, "last_offset": 7, "delivery_state": 2, "delivery_count": 1}
    fields = {"snapshot_epoch": 1, "leader_epoch": 3, "start_offset": 5, "state_batches": (batch,)}
    raw = write_value(share.UPDATE_VALUE, 0, {**fields, "delivery_complete_count": 4})
    assert made(decode_share_state(write_key(update, names), raw)) == SharePartitionStateRecorded(
        "g", TOPIC_ID, 1, False, 3, 5, 4, ((5, 7, 2, 1),)
    )  # no snapshot
    old_snapshot = write_value(share.SNAPSHOT_VALUE_4_0, 0, {**fields, "state_epoch": 2})
    assert made(decode_share_state(write_key(snapshot, names), old_snapshot)) == SharePartitionStateRecorded(
        "g", TOPIC_ID, 1, True, 3, 5, None, ((5, 7, 2, 1),)
    )
    removed = made(decode_share_state(write_key(snapshot, names), None))
    assert removed == Removed(snapshot, names)
