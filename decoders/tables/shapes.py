"""Message shapes shared by many tables: keys of a group or of a member, and messages that are always flexible."""

from decoders.schema import STRING, Field, Message, Struct


def by_group(name: str) -> Message:
    """Return the table of a key with a group id."""
    return Message(Struct(name, (Field("group_id", STRING),)))


def by_member(name: str) -> Message:
    """Return the table of a key with a group id and a member id."""
    return Message(Struct(name, (Field("group_id", STRING), Field("member_id", STRING))))


def flexible(name: str, *fields: Field, valid: str = "0") -> Message:
    """Return the table of a message that is flexible in all versions."""
    return Message(Struct(name, fields), valid=valid, flexible="0+")
