"""Records of `__cluster_metadata` (KRaft): topics, partitions, leaders, configs, features, brokers, and all the others.

A record has no key; its value begins with a frame (`scalar.decode_metadata`) that has the number of the type. All are
flexible. A partition change has only the changed fields: an absent or null list, leader -2 and recovery state -1 mean
unchanged.
"""

from __future__ import annotations

from typing import Final

from decoders.schema import (
    BOOL,
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    UUID,
    ArrayOf,
    Field,
    RecordType,
    Struct,
)
from decoders.tables.shapes import flexible

_ENDPOINT: Final = Struct(
    "Endpoint", (Field("name", STRING), Field("host", STRING), Field("port", UINT16), Field("security_protocol", INT16))
)
_FEATURE: Final = Struct(
    "Feature", (Field("name", STRING), Field("min_supported_version", INT16), Field("max_supported_version", INT16))
)
REGISTER_BROKER_RECORD: Final = flexible(
    "RegisterBrokerRecord",
    Field("broker_id", INT32),
    Field("is_migrating_zk_broker", BOOL, "2+"),
    Field("incarnation_id", UUID),
    Field("broker_epoch", INT64),
    Field("end_points", ArrayOf(_ENDPOINT)),
    Field("features", ArrayOf(_FEATURE)),
    Field("rack", STRING, nullable="0+"),
    Field("fenced", BOOL, default=True),
    Field("in_controlled_shutdown", BOOL, "1+"),
    Field("log_dirs", ArrayOf(UUID), "3+", tag=0),
    Field("cordoned_log_dirs", ArrayOf(UUID), "4+", nullable="4+", default=None, tag=1),
    valid="0-4",
)

UNREGISTER_BROKER_RECORD: Final = flexible(
    "UnregisterBrokerRecord", Field("broker_id", INT32), Field("broker_epoch", INT64)
)

TOPIC_RECORD: Final = flexible("TopicRecord", Field("name", STRING), Field("topic_id", UUID))

PARTITION_RECORD: Final = flexible(
    "PartitionRecord",
    Field("partition_id", INT32, default=-1),
    Field("topic_id", UUID),
    Field("replicas", ArrayOf(INT32)),
    Field("isr", ArrayOf(INT32)),
    Field("removing_replicas", ArrayOf(INT32)),
    Field("adding_replicas", ArrayOf(INT32)),
    Field("leader", INT32, default=-1),
    Field("leader_recovery_state", INT8, tag=0),
    Field("leader_epoch", INT32, default=-1),
    Field("partition_epoch", INT32, default=-1),
    Field("directories", ArrayOf(UUID), "1+"),
    Field("eligible_leader_replicas", ArrayOf(INT32), "2+", nullable="2+", default=None, tag=1),
    Field("last_known_elr", ArrayOf(INT32), "2+", nullable="2+", default=None, tag=2),
    valid="0-2",
)

CONFIG_RECORD: Final = flexible(
    "ConfigRecord",
    Field("resource_type", INT8),
    Field("resource_name", STRING),
    Field("name", STRING),
    Field("value", STRING, nullable="0+"),
)

PARTITION_CHANGE_RECORD: Final = flexible(
    "PartitionChangeRecord",
    Field("partition_id", INT32, default=-1),
    Field("topic_id", UUID),
    Field("isr", ArrayOf(INT32), nullable="0+", default=None, tag=0),
    Field("leader", INT32, default=-2, tag=1),
    Field("replicas", ArrayOf(INT32), nullable="0+", default=None, tag=2),
    Field("removing_replicas", ArrayOf(INT32), nullable="0+", default=None, tag=3),
    Field("adding_replicas", ArrayOf(INT32), nullable="0+", default=None, tag=4),
    Field("leader_recovery_state", INT8, default=-1, tag=5),
    Field("directories", ArrayOf(UUID), "1+", nullable="1+", default=None, tag=8),
    Field("eligible_leader_replicas", ArrayOf(INT32), "2+", nullable="2+", default=None, tag=6),
    Field("last_known_elr", ArrayOf(INT32), "2+", nullable="2+", default=None, tag=7),
    valid="0-2",
)

FENCE_BROKER_RECORD: Final = flexible("FenceBrokerRecord", Field("id", INT32), Field("epoch", INT64))

UNFENCE_BROKER_RECORD: Final = flexible("UnfenceBrokerRecord", Field("id", INT32), Field("epoch", INT64))

REMOVE_TOPIC_RECORD: Final = flexible("RemoveTopicRecord", Field("topic_id", UUID))

DELEGATION_TOKEN_RECORD: Final = flexible(
    "DelegationTokenRecord",
    Field("owner", STRING),
    Field("requester", STRING),
    Field("renewers", ArrayOf(STRING)),
    Field("issue_timestamp", INT64),
    Field("max_timestamp", INT64),
    Field("expiration_timestamp", INT64),
    Field("token_id", STRING),
)

USER_SCRAM_CREDENTIAL_RECORD: Final = flexible(
    "UserScramCredentialRecord",
    Field("name", STRING),
    Field("mechanism", INT8),
    Field("salt", BYTES),
    Field("stored_key", BYTES),
    Field("server_key", BYTES),
    Field("iterations", INT32),
)

FEATURE_LEVEL_RECORD: Final = flexible("FeatureLevelRecord", Field("name", STRING), Field("feature_level", INT16))

_CLIENT_QUOTA_ENTITY_DATA: Final = Struct(
    "EntityData", (Field("entity_type", STRING), Field("entity_name", STRING, nullable="0+"))
)
CLIENT_QUOTA_RECORD: Final = flexible(
    "ClientQuotaRecord",
    Field("entity", ArrayOf(_CLIENT_QUOTA_ENTITY_DATA)),
    Field("key", STRING),
    Field("value", FLOAT64),
    Field("remove", BOOL),
)

PRODUCER_IDS_RECORD: Final = flexible(
    "ProducerIdsRecord",
    Field("broker_id", INT32),
    Field("broker_epoch", INT64, default=-1),
    Field("next_producer_id", INT64),
)

BROKER_REGISTRATION_CHANGE_RECORD: Final = flexible(
    "BrokerRegistrationChangeRecord",
    Field("broker_id", INT32),
    Field("broker_epoch", INT64),
    Field("fenced", INT8, tag=0),
    Field("in_controlled_shutdown", INT8, "1+", tag=1),
    Field("log_dirs", ArrayOf(UUID), "2+", tag=2),
    Field("cordoned_log_dirs", ArrayOf(UUID), "3+", nullable="3+", default=None, tag=3),
    valid="0-3",
)

ACCESS_CONTROL_ENTRY_RECORD: Final = flexible(
    "AccessControlEntryRecord",
    Field("id", UUID),
    Field("resource_type", INT8),
    Field("resource_name", STRING),
    Field("pattern_type", INT8),
    Field("principal", STRING),
    Field("host", STRING),
    Field("operation", INT8),
    Field("permission_type", INT8),
)

REMOVE_ACCESS_CONTROL_ENTRY_RECORD: Final = flexible("RemoveAccessControlEntryRecord", Field("id", UUID))

NO_OP_RECORD: Final = flexible("NoOpRecord")

ZK_MIGRATION_STATE_RECORD: Final = flexible("ZkMigrationStateRecord", Field("zk_migration_state", INT8))

REMOVE_USER_SCRAM_CREDENTIAL_RECORD: Final = flexible(
    "RemoveUserScramCredentialRecord", Field("name", STRING), Field("mechanism", INT8)
)

BEGIN_TRANSACTION_RECORD: Final = flexible(
    "BeginTransactionRecord", Field("name", STRING, nullable="0+", default=None, tag=0)
)

END_TRANSACTION_RECORD: Final = flexible("EndTransactionRecord")

ABORT_TRANSACTION_RECORD: Final = flexible(
    "AbortTransactionRecord", Field("reason", STRING, nullable="0+", default=None, tag=0)
)

REMOVE_DELEGATION_TOKEN_RECORD: Final = flexible("RemoveDelegationTokenRecord", Field("token_id", STRING))

REGISTER_CONTROLLER_RECORD: Final = flexible(
    "RegisterControllerRecord",
    Field("controller_id", INT32),
    Field("incarnation_id", UUID),
    Field("zk_migration_ready", BOOL),
    Field("end_points", ArrayOf(_ENDPOINT)),
    Field("features", ArrayOf(_FEATURE)),
)

CLEAR_ELR_RECORD: Final = flexible("ClearElrRecord", Field("topic_name", STRING))

UNREGISTER_CONTROLLER_RECORD: Final = flexible("UnregisterControllerRecord", Field("controller_id", INT32))

METADATA_TYPES: Final = (
    RecordType(0, "REGISTER_BROKER_RECORD", None, REGISTER_BROKER_RECORD),
    RecordType(1, "UNREGISTER_BROKER_RECORD", None, UNREGISTER_BROKER_RECORD),
    RecordType(2, "TOPIC_RECORD", None, TOPIC_RECORD),
    RecordType(3, "PARTITION_RECORD", None, PARTITION_RECORD),
    RecordType(4, "CONFIG_RECORD", None, CONFIG_RECORD),
    RecordType(5, "PARTITION_CHANGE_RECORD", None, PARTITION_CHANGE_RECORD),
    RecordType(7, "FENCE_BROKER_RECORD", None, FENCE_BROKER_RECORD),
    RecordType(8, "UNFENCE_BROKER_RECORD", None, UNFENCE_BROKER_RECORD),
    RecordType(9, "REMOVE_TOPIC_RECORD", None, REMOVE_TOPIC_RECORD),
    RecordType(10, "DELEGATION_TOKEN_RECORD", None, DELEGATION_TOKEN_RECORD),
    RecordType(11, "USER_SCRAM_CREDENTIAL_RECORD", None, USER_SCRAM_CREDENTIAL_RECORD),
    RecordType(12, "FEATURE_LEVEL_RECORD", None, FEATURE_LEVEL_RECORD),
    RecordType(14, "CLIENT_QUOTA_RECORD", None, CLIENT_QUOTA_RECORD),
    RecordType(15, "PRODUCER_IDS_RECORD", None, PRODUCER_IDS_RECORD),
    RecordType(17, "BROKER_REGISTRATION_CHANGE_RECORD", None, BROKER_REGISTRATION_CHANGE_RECORD),
    RecordType(18, "ACCESS_CONTROL_ENTRY_RECORD", None, ACCESS_CONTROL_ENTRY_RECORD),
    RecordType(19, "REMOVE_ACCESS_CONTROL_ENTRY_RECORD", None, REMOVE_ACCESS_CONTROL_ENTRY_RECORD),
    RecordType(20, "NO_OP_RECORD", None, NO_OP_RECORD),
    RecordType(21, "ZK_MIGRATION_STATE_RECORD", None, ZK_MIGRATION_STATE_RECORD),
    RecordType(22, "REMOVE_USER_SCRAM_CREDENTIAL_RECORD", None, REMOVE_USER_SCRAM_CREDENTIAL_RECORD),
    RecordType(23, "BEGIN_TRANSACTION_RECORD", None, BEGIN_TRANSACTION_RECORD),
    RecordType(24, "END_TRANSACTION_RECORD", None, END_TRANSACTION_RECORD),
    RecordType(25, "ABORT_TRANSACTION_RECORD", None, ABORT_TRANSACTION_RECORD),
    RecordType(26, "REMOVE_DELEGATION_TOKEN_RECORD", None, REMOVE_DELEGATION_TOKEN_RECORD),
    RecordType(27, "REGISTER_CONTROLLER_RECORD", None, REGISTER_CONTROLLER_RECORD),
    RecordType(28, "CLEAR_ELR_RECORD", None, CLEAR_ELR_RECORD),
    RecordType(29, "UNREGISTER_CONTROLLER_RECORD", None, UNREGISTER_CONTROLLER_RECORD),  # 4.4
)
