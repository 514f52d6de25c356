"""The record types that memberships and histories are read from, selected from `decoders.tables.RECORD_TYPES`."""

from collections.abc import Mapping
from typing import Final, get_args

from decoders.group_events import GroupKind
from decoders.schema import RecordContent
from decoders.tables import types_with

NEWER_KINDS: Final[tuple[GroupKind, ...]] = get_args(GroupKind)
"""Consumer, share and streams. A group with records of two newer kinds for a moment is of the first of them."""

(_CLASSIC_GROUP,) = types_with(RecordContent.CLASSIC_GROUP)
CLASSIC_GROUP_TYPE: Final = _CLASSIC_GROUP
"""The only record type of classic groups."""

TYPES_OF_KIND: Final[Mapping[GroupKind, frozenset[int]]] = {kind: types_with(group_kind=kind) for kind in NEWER_KINDS}
KIND_OF_TYPE: Final[Mapping[int, GroupKind]] = {
    number: kind for kind, numbers in TYPES_OF_KIND.items() for number in numbers
}

SUBSCRIBED_TOPICS_TYPES: Final = types_with(RecordContent.SUBSCRIBED_TOPICS)
"""Types that make no group if a group has no other records."""
TOPIC_NAME_TYPES: Final = types_with(RecordContent.SUBSCRIBED_TOPICS, RecordContent.SHARE_TOPICS)
"""Types with the names of topic ids."""
TARGET_TYPES: Final = types_with(RecordContent.TARGET_ASSIGNMENT)
TARGET_EPOCH_TYPES: Final = types_with(RecordContent.TARGET_EPOCH)
"""Types that are written whenever a group gets a target assignment."""
GROUP_TYPES: Final[Mapping[GroupKind, frozenset[int]]] = {
    kind: numbers - SUBSCRIBED_TOPICS_TYPES for kind, numbers in TYPES_OF_KIND.items()
}
"""By kind, the types that make a group."""
MEMBERSHIP_TYPES: Final = frozenset(KIND_OF_TYPE) - TARGET_TYPES - TOPIC_NAME_TYPES
"""Types from which the membership of a newer group is read."""
STATE_TYPES: Final = MEMBERSHIP_TYPES - types_with(RecordContent.RESOLVED_REGEX)
"""Types from which the state of a newer group is read."""


def record_type_of(key: bytes) -> int:
    """Return the record type of a key: its first int16."""
    return key[1] if not key[0] else int.from_bytes(key[:2], "big", signed=True)
