"""The tables and their columns: name, type, meaning and source in Kafka, declared once.

The Arrow schema, Spark's schema and docs/tables.md are made from these rows. Columns are stable: new ones are added at
the end of a table.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from stream.errors import ExitCode, Refusal

TIME: Final = pa.timestamp("us", tz="UTC")
"""A time, as Spark has it. Kafka's are in ms."""
TEXTS: Final = pa.list_(pa.field("element", pa.string()))
ASSIGNMENT: Final = pa.list_(
    pa.field(
        "element",
        pa.struct([
            ("topic", pa.string()),
            ("topic_id", pa.string()),
            ("task", pa.string()),
            ("partitions", pa.list_(pa.field("element", pa.int32()))),
        ]),
    )
)  # fmt: skip
_DDL: Final = {
    pa.string(): "string",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "bigint",
    TIME: "timestamp",
    TEXTS: "array<string>",
    ASSIGNMENT: "array<struct<topic:string,topic_id:string,task:string,partitions:array<int>>>",
}


@dataclasses.dataclass(frozen=True, slots=True)
class RowField:
    """A column; `source` is the field of Kafka's message from which it is read."""

    name: str
    type: pa.DataType
    meaning: str
    source: str = ""

    @property
    def ddl(self) -> str:
        """Spark's name of the type."""
        return _DDL[self.type]


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetsTable:
    """A table: one row per `row`."""

    name: str
    row: str
    columns: tuple[RowField, ...]
    streams: bool = True
    """False if a row depends on earlier records, so that only a batch query can read it."""

    def schema(self, names: Sequence[str] | None = None) -> pa.Schema:
        """Return the Arrow schema of these columns, in this order; None: all. Raises Refusal for other names."""
        types = {column.name: column.type for column in self.columns}
        if unknown := [name for name in names or () if name not in types]:
            raise Refusal(
                f"table {self.name} has no column {', '.join(unknown)}",
                f"its columns are {', '.join(types)}",
                ExitCode.USAGE,
            )
        return pa.schema([(name, types[name]) for name in (names or types)])

    def ddl(self, names: Sequence[str] | None = None) -> str:
        """Return the schema of these columns as Spark's DDL. Raises Refusal."""
        kinds = {column.name: column.ddl for column in self.columns}
        return ", ".join(f"`{name}` {kinds[name]}" for name in self.schema(names).names)


_TAIL: Final = (
    RowField("tombstone", pa.bool_(), "True if the record has no value: the broker removed what the key names."),
    RowField(
        "transactional",
        pa.bool_(),
        "True if the record was written in a transaction; null in a capture, which does not have this.",
        "RecordBatch attributes, bit 4",
    ),
    RowField("aborted", pa.bool_(), "True if that transaction was aborted: the record has no effect.", "end markers"),
    RowField("producer_id", pa.int64(), "The producer of that transaction.", "RecordBatch producerId"),
    RowField("offsets_partition", pa.int32(), "The partition of `__consumer_offsets`.", "log"),
    RowField("position", pa.int64(), "The offset of the record in that partition.", "log"),
    RowField("record_time", TIME, "The timestamp of the record.", "log"),
    RowField(
        "error",
        pa.string(),
        "Why the record cannot be decoded, or what else could not be read; the other columns then have what is known.",
    ),
)
"""The columns that the tables of records have in common."""
_GROUP: Final = RowField("group", pa.string(), "The group id.", "first field of the key")
_KIND: Final = RowField("kind", pa.string(), "`classic`, `consumer` (KIP-848), `share` or `streams`.", "record type")

COMMITS: Final = OffsetsTable(
    "commits",
    "record of a committed offset (types 0 and 1), also of a removed and of an aborted one",
    (
        _GROUP,
        RowField("topic", pa.string(), "The topic of the offset.", "OffsetCommitKey topic"),
        RowField("partition", pa.int32(), "Its partition.", "OffsetCommitKey partition"),
        RowField("offset", pa.int64(), "The next offset to read.", "OffsetCommitValue offset"),
        RowField("leader_epoch", pa.int32(), "The epoch of the last read record.", "OffsetCommitValue leaderEpoch"),
        RowField("metadata", pa.string(), "The text that the client committed.", "OffsetCommitValue metadata"),
        RowField("commit_time", TIME, "When the coordinator got the commit.", "OffsetCommitValue commitTimestamp"),
        RowField(
            "expire_time",
            TIME,
            "When it expires, if the client or a broker up to 2.0 set a time.",
            "OffsetCommitValue expireTimestamp",
        ),
        RowField(
            "topic_id",
            pa.string(),
            "The id of the topic as Kafka prints it (4.1 and later).",
            "OffsetCommitValue topicId",
        ),
        *_TAIL,
    ),
)
RECORDS: Final = OffsetsTable(
    "records",
    "record of any type",
    (
        RowField("type", pa.int32(), "The number of the record type.", "first int16 of the key"),
        RowField("type_name", pa.string(), "Its name; null for unknown types.", "CoordinatorRecordType"),
        RowField("version", pa.int32(), "The version of the value.", "first int16 of the value"),
        _GROUP,
        RowField("topic", pa.string(), "The topic of a committed offset.", "OffsetCommitKey topic"),
        RowField("json", pa.string(), "The record as `lagwarden decode` prints it.", "OffsetsMessageFormatter"),
        RowField("key", pa.binary(), "The bytes of the key."),
        RowField("value", pa.binary(), "The bytes of the value."),
        *_TAIL,
    ),
)
GROUPS: Final = OffsetsTable(
    "groups",
    "record about a group as a whole: a generation of a classic group, or an epoch of a newer one",
    (
        _GROUP,
        _KIND,
        RowField("epoch", pa.int32(), "The generation of a classic group, else the group epoch.", "generation, epoch"),
        RowField("state", pa.string(), "`Stable` or `Empty`, of a classic group.", "members"),
        RowField("members", pa.int32(), "The number of members, of a classic group.", "GroupMetadataValue members"),
        RowField("protocol_type", pa.string(), "`consumer`, `connect` or another.", "GroupMetadataValue protocolType"),
        RowField("protocol", pa.string(), "The assignor, of a classic group.", "GroupMetadataValue protocol"),
        RowField("leader", pa.string(), "The member that assigns, of a classic group.", "GroupMetadataValue leader"),
        RowField(
            "state_time", TIME, "When a classic group came into its state.", "GroupMetadataValue currentStateTimestamp"
        ),
        RowField(
            "assignment_epoch",
            pa.int32(),
            "The epoch of a target assignment, in a record about one.",
            "GroupTargetAssignmentMetadataValue assignmentEpoch",
        ),
        RowField(
            "assignment_time",
            TIME,
            "When it was computed (4.3 and later).",
            "GroupTargetAssignmentMetadataValue assignmentTimestamp",
        ),
        *_TAIL,
    ),
)
MEMBERS: Final = OffsetsTable(
    "members",
    "member in each record about members: all members of a generation of a classic group; of a newer group its "
    "subscription, its target assignment or its current assignment, each a record of its own",
    (
        _GROUP,
        _KIND,
        RowField("member_id", pa.string(), "The member id.", "memberId"),
        RowField("instance_id", pa.string(), "The id that makes it a static member.", "groupInstanceId, instanceId"),
        RowField("client_id", pa.string(), "The `client.id`.", "clientId"),
        RowField("client_host", pa.string(), "The address, as the coordinator saw it.", "clientHost"),
        RowField("rack_id", pa.string(), "The `client.rack`, of a newer group.", "rackId"),
        RowField("epoch", pa.int32(), "The generation, or the epoch of the member.", "generation, memberEpoch"),
        RowField("state", pa.string(), "The state of a member of a newer group.", "CurrentMemberAssignmentValue state"),
        RowField("rebalance_timeout_ms", pa.int32(), "Its rebalance timeout.", "rebalanceTimeout"),
        RowField("session_timeout_ms", pa.int32(), "Its session timeout on the classic protocol.", "sessionTimeout"),
        RowField("subscription", TEXTS, "The topics that it subscribes to.", "ConsumerProtocolSubscription topics"),
        RowField("topic_regex", pa.string(), "The regular expression that it subscribes to.", "subscribedTopicRegex"),
        RowField(
            "assignment",
            ASSIGNMENT,
            "What it owns: topics by name (classic) or id, connectors, or tasks such as `active 0`.",
            "ConsumerProtocolAssignment, CurrentMemberAssignmentValue",
        ),
        RowField("target", ASSIGNMENT, "What it is to own.", "TargetAssignmentMemberValue"),
        RowField("revoking", ASSIGNMENT, "What it must still give up.", "CurrentMemberAssignmentValue"),
        *_TAIL,
    ),
)
EVENTS: Final = OffsetsTable(
    "events",
    "transition of a group, as the monitor finds it ([glossary](glossary.md))",
    (
        _GROUP,
        _KIND,
        RowField(
            "event",
            pa.string(),
            "`created`, `reborn`, `converted`, `forgotten` (offsets removed), `rebalanced`, `emptied` or `dead`.",
        ),
        RowField("time", TIME, "The timestamp of its record; of a first commit, the time of the commit.", "log"),
        RowField("text", pa.string(), "The sentence of the API and the commands."),
        RowField(
            "cause",
            pa.string(),
            "Of removed offsets and of a death: `expired`, `deleted` or `unknown`; set the option `retention`.",
        ),
        RowField("joined", pa.int32(), "Members that joined since the last rebalance."),
        RowField("left", pa.int32(), "Members that left since."),
        RowField("kind_before", pa.string(), "The kind before a conversion."),
        RowField("removed_offsets", pa.int32(), "The number of removed offsets."),
        RowField("removed_topics", TEXTS, "Their topics, at most 20."),
        RowField("offsets_partition", pa.int32(), "The partition of `__consumer_offsets`.", "log"),
        RowField("position", pa.int64(), "The offset of the record in that partition.", "log"),
        RowField("error", pa.string(), "What could not be read; malformed records are in `records`."),
    ),
    streams=False,
)
TABLES: Final = {table.name: table for table in (COMMITS, RECORDS, GROUPS, MEMBERS, EVENTS)}


def table_of(name: str) -> OffsetsTable:
    """Return the table with this name. Raises Refusal."""
    if name not in TABLES:
        raise Refusal(f"there is no table {name!r}", f"the tables are {', '.join(TABLES)}", ExitCode.USAGE)
    return TABLES[name]
