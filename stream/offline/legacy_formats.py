"""The text formats of Kafka's console formatters for offsets and groups before the JSON of Kafka 4.0.

Each function returns the text of one record, or None for types of records that its formatter did not print.

Source: OffsetsMessageFormatter and GroupMetadataMessageFormatter of 0.8.2 (kafka.server.OffsetManager), 0.9 to 2.0 and
2.1 to 3.9 (kafka.coordinator.group.GroupMetadataManager), with the toString of the classes they print.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders.events import ClassicGroupRecorded, ClassicGroupRemoved, OffsetCommitted, OffsetRemoved
from decoders.interpret import event_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from decoders.events import ClassicMember
    from decoders.records import Record

_TOMBSTONE: Final = "NULL"


def format_0_8(record: Record) -> str | None:
    """Return a record in the format of 0.8.2, which has offsets only."""
    return _format(record, _offset_0_8, None)


def format_0_9(record: Record) -> str | None:
    """Return a record in the format of 0.9 to 2.0; groups in the format of 0.10.1 and 0.10.2."""
    return _format(record, _offset_0_9, _group_0_9)


def format_2_1(record: Record) -> str | None:
    """Return a record in the format of 2.1 to 3.9; members in the format of 2.3 and later, with their instance id."""
    return _format(record, _offset_2_1, _group_2_1)


def _format(
    record: Record,
    offset: Callable[[OffsetCommitted], str],
    group: Callable[[ClassicGroupRecorded], str] | None,
) -> str | None:
    match event := event_of(record):
        case OffsetCommitted():
            return f"[{event.group},{event.topic},{event.partition}]::{offset(event)}"
        case OffsetRemoved():
            return f"[{event.group},{event.topic},{event.partition}]::{_TOMBSTONE}"
        case ClassicGroupRecorded() if group:
            return f"{event.group}::{group(event)}"
        case ClassicGroupRemoved() if group:
            return f"{event.group}::{_TOMBSTONE}"
        case _:
            return None


def _offset_0_8(commit: OffsetCommitted) -> str:
    time = "" if commit.commit_timestamp == -1 else f",{commit.commit_timestamp}"
    return f"OffsetAndMetadata[{commit.offset},{commit.metadata or 'NO_METADATA'}{time}]"


def _offset_0_9(commit: OffsetCommitted) -> str:
    return (
        f"[OffsetMetadata[{commit.offset},{commit.metadata or 'NO_METADATA'}]"
        f",CommitTime {commit.commit_timestamp},ExpirationTime {_number(commit.expire_timestamp)}]"
    )


def _offset_2_1(commit: OffsetCommitted) -> str:
    epoch = "Optional.empty" if commit.leader_epoch is None else f"Optional[{commit.leader_epoch}]"
    return (
        f"OffsetAndMetadata(offset={commit.offset}, leaderEpoch={epoch}, metadata={commit.metadata}"
        f", commitTimestamp={commit.commit_timestamp}, expireTimestamp={_option(commit.expire_timestamp)})"
    )


def _group_0_9(group: ClassicGroupRecorded) -> str:
    members = ", ".join(
        f"{each.member_id} -> [{each.member_id},{each.client_id},{each.client_host},{each.session_timeout}]"
        for each in group.members
    )
    return f"[{group.group},{_option(group.protocol_type or None)},{_state(group)},Map({members})]"


def _group_2_1(group: ClassicGroupRecorded) -> str:
    members = ", ".join(f"{each.member_id} -> {_member_2_1(each, group.protocol)}" for each in group.members)
    return (
        f"GroupMetadata(groupId={group.group}, generation={group.generation}"
        f", protocolType={_option(group.protocol_type or None)}, currentState={_state(group)}, members=Map({members}))"
    )


def _member_2_1(member: ClassicMember, protocol: str | None) -> str:
    return (
        f"MemberMetadata(memberId={member.member_id}, groupInstanceId={_option(member.group_instance_id)}"
        f", clientId={member.client_id}, clientHost={member.client_host}"
        f", sessionTimeoutMs={member.session_timeout}, rebalanceTimeoutMs={member.rebalance_timeout}"
        f", supportedProtocols=List({protocol or ''}))"
    )


def _state(group: ClassicGroupRecorded) -> str:
    return "Stable" if group.members else "Empty"


def _option(value: Any) -> str:
    """Return an optional value as Scala prints it."""
    return "None" if value is None else f"Some({value})"


def _number(value: int | None) -> int:
    return -1 if value is None else value
