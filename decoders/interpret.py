"""Record -> events: the one place where a null value becomes "tombstone of what".

One function per record type, found by its name. A pure function of the record: nothing here remembers an earlier one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders import events as facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from decoders.events import Event
    from decoders.records import Fields, Record


def events(record: Record) -> tuple[Event, ...]:
    """Give the facts that a record states; none for a type that the tables know and nobody follows yet."""
    arm = _ARMS.get(record.type.name)
    if arm is None:
        return ()
    if record.value is None:
        return (arm[1](record.key),)
    return (arm[0](record.key, record.value),)


def known_id(uuid: bytes) -> bytes | None:
    """Give a topic id, None for Kafka's zero uuid, which stands for "unknown"."""
    return uuid if any(uuid) else None


def _known(number: int) -> int | None:
    """Give a number, None for the -1 with which Kafka fills a field that it does not know."""
    return None if number == -1 else number


def _offset_committed(key: Fields, value: Fields, *, legacy: bool) -> facts.OffsetCommitted:
    return facts.OffsetCommitted(
        group=key["group"],
        topic=key["topic"],
        partition=key["partition"],
        offset=value["offset"],
        leader_epoch=_known(value["leader_epoch"]),
        metadata=value["metadata"],
        commit_timestamp=value["commit_timestamp"],
        expire_timestamp=_known(value["expire_timestamp"]),
        topic_id=known_id(value["topic_id"]),
        legacy=legacy,
    )


def _offset_forgotten(key: Fields, *, legacy: bool) -> facts.OffsetForgotten:
    return facts.OffsetForgotten(key["group"], key["topic"], key["partition"], legacy)


def _classic_member(member: Fields) -> facts.ClassicMember:
    """Take a member over; where a version has no rebalance timeout, brokers use the session timeout for it."""
    rebalance_timeout = _known(member["rebalance_timeout"])
    return facts.ClassicMember(
        **{**member, "rebalance_timeout": member["session_timeout"] if rebalance_timeout is None else rebalance_timeout}
    )


def _classic_group_recorded(key: Fields, value: Fields) -> facts.ClassicGroupRecorded:
    return facts.ClassicGroupRecorded(
        group=key["group"],
        protocol_type=value["protocol_type"],
        generation=value["generation"],
        protocol=value["protocol"],
        leader=value["leader"],
        state_timestamp=_known(value["current_state_timestamp"]),
        members=tuple(_classic_member(member) for member in value["members"]),
    )


def _classic_group_forgotten(key: Fields) -> facts.ClassicGroupForgotten:
    return facts.ClassicGroupForgotten(key["group"])


_ARMS: Final[dict[str, tuple[Callable[[Fields, Fields], Any], Callable[[Fields], Any]]]] = {
    # type: (what its value says, what its tombstone says)
    "LEGACY_OFFSET_COMMIT": (
        lambda key, value: _offset_committed(key, value, legacy=True),
        lambda key: _offset_forgotten(key, legacy=True),
    ),
    "OFFSET_COMMIT": (
        lambda key, value: _offset_committed(key, value, legacy=False),
        lambda key: _offset_forgotten(key, legacy=False),
    ),
    "GROUP_METADATA": (_classic_group_recorded, _classic_group_forgotten),
}
