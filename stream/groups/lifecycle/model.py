"""Group histories as values: kind and state of a group, since when, and its transitions.

`lifecycle.transitions` has the rules by which they come about, `lifecycle.record` the form in which a shard stores
them. Times are Unix milliseconds of the record that caused the change; for a first commit, the commit's own timestamp.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Final

DEAD_STATE: Final = "Dead"
"""State of a group without records and offsets. The name is Kafka's; the state is never written to the log."""


class TransitionType(enum.StrEnum):
    """The types of transitions. The values are stored (`lifecycle.record`) and are API words."""

    CREATED = "created"
    """The first record or commit of a group that is not in the state."""
    RECREATED = "reborn"
    """The first record or commit after a death that is still in the state."""
    CONVERTED = "converted"
    """A change from classic to a newer kind or back in one operation; neither a death nor a creation."""
    OFFSETS_REMOVED = "forgotten"
    """Tombstones of some offsets; the group still has records or other offsets."""
    REBALANCED = "rebalanced"
    """A new generation with members, or a new target assignment while there are members."""
    EMPTIED = "emptied"
    """The last members left."""
    DEAD = "dead"
    """No record and no offset is left."""


@dataclasses.dataclass(frozen=True, slots=True)
class Removal:
    """The evidence about a removal of offsets or of a whole group, from which `expiry.causes` derives the cause.

    If no offset was removed together with the group (`offsets` is 0), topics and commit times are those of the last
    offsets removed before it, at `offsets_time`; they are None if no removal of an offset was seen.

    The order of the fields is the stored layout (`lifecycle.record`).
    """

    # The group before the removal: kind, state, and when the broker saw that state begin (None: not in the records).
    kind: str
    state: str | None
    state_time: int | None
    protocol_type: str | None
    # The number of removed offsets, and their topics, sorted, at most `TOPICS`.
    offsets: int
    topics: tuple[str, ...]
    # The newest and the oldest of their last commits.
    last_commit: int | None
    first_commit: int | None
    # The greatest expire timestamp in these commits, if any has one (brokers up to 2.0, and commits that set one).
    expire_time: int | None
    # Timestamp of the tombstones.
    time: int
    offsets_time: int | None = None


TOPICS: Final = 20
"""Maximum number of topics listed in a `Removal`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Transition:
    """A transition of a group, and the position of its record. The order of the fields is the stored layout."""

    type: TransitionType
    time: int
    # Offset in the offsets partition.
    position: int
    # False: read in the initial catch-up. Replayed history triggers no alert.
    live: bool
    # Members that joined and left since the group was last rebalanced, emptied or created.
    joined: int = 0
    left: int = 0
    # Of a conversion.
    kind_before: str | None = None
    kind_after: str | None = None
    # Of removed offsets and of a death.
    removal: Removal | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class GroupHistory:
    """The history of a group. None: not in the log; the creation of a group may lie before the log's start."""

    # The current kind, or the kind at its death.
    kind: str
    state: str | None
    # Start of this state; a classic group enters its state again with every generation.
    since: int | None
    created: int | None
    died: int | None
    # Number of transitions by type, since the state of the shard was created; types without transitions are absent.
    counts: Mapping[str, int]
    # The newest, in log order.
    transitions: tuple[Transition, ...]
