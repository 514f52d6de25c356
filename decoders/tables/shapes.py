"""Shapes that many tables share: keys that name a group or a member, and values that began their life flexible."""

from __future__ import annotations

from decoders.schema import STRING, Field, Message, Struct


def by_group(name: str) -> Message:
    """Give the table of a key that names a group."""
    return Message(Struct(name, (Field("group_id", STRING),)))


def by_member(name: str) -> Message:
    """Give the table of a key that names a member of a group."""
    return Message(Struct(name, (Field("group_id", STRING), Field("member_id", STRING))))


def flexible(name: str, *fields: Field, valid: str = "0") -> Message:
    """Give the table of a message that is flexible in all its versions."""
    return Message(Struct(name, fields), valid=valid, flexible="0+")
