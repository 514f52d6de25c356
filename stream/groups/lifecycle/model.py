"""What is known of a group's life: its kind and state, since when, and what happened to it.

Values only. `lifecycle.transitions` owns the rules by which they come about, `lifecycle.record` how a shard
keeps them. Times are Unix milliseconds of the record that made it true (of a first commit: its own timestamp).
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

DEAD_STATE: Final = "Dead"
"""State of a group of which neither a record nor an offset is left. Kafka's name; it is never written to the log."""


class TransitionType(enum.StrEnum):
    """What can happen to a group."""

    CREATED = "created"
    """The first record or commit of a group of which nothing is remembered."""
    RECREATED = "reborn"
    """The same, after a death that is still remembered."""
    CONVERTED = "converted"
    """From classic to a newer kind or back in one operation: neither death nor birth."""
    OFFSETS_REMOVED = "forgotten"
    """Some offsets went, and the group lives on."""
    REBALANCED = "rebalanced"
    """A new generation with members, or a new target assignment while there are members."""
    EMPTIED = "emptied"
    """The last members went."""
    DEAD = "dead"
    """No record and no offset is left."""


@dataclasses.dataclass(frozen=True, slots=True)
class Removal:
    """What was known when offsets, or the whole group, went: the evidence from which `causes` tells why.

    Where no offset went together with a group (`offsets` is 0), topics and commit times are those of the offsets that
    went last before it, at `offsets_time`; None where no offset of it was ever seen to go.
    """

    # As it was before: kind, state, when the broker saw that state begin (None: the records do not tell).
    kind: str
    state: str | None
    state_time: int | None
    protocol_type: str | None
    # How many offsets went, and their topics, at most `TOPICS` of them, in order of their names.
    offsets: int
    topics: tuple[str, ...]
    # The newest and the oldest of their last commits.
    last_commit: int | None
    first_commit: int | None
    # The greatest expiry stored in them, where a commit carries one (brokers up to 2.0, and commits that asked for it).
    expire_time: int | None
    # Timestamp of the tombstones.
    time: int
    offsets_time: int | None = None


TOPICS: Final = 20
"""Topics named in an ending."""


@dataclasses.dataclass(frozen=True, slots=True)
class Transition:
    """Something that happened to a group, and where the log says so."""

    type: TransitionType
    time: int
    # Offset in the offsets partition.
    position: int
    # False: read in the initial catch-up. Replayed history raises no alarm.
    live: bool
    # Members that came and went since the group was last rebalanced, emptied or created.
    joined: int = 0
    left: int = 0
    # Of a conversion.
    kind_before: str | None = None
    kind_after: str | None = None
    # Of offsets forgotten and of a death.
    removal: Removal | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class GroupHistory:
    """A group's life as far as the log tells. None: it does not; a group known from before may lack its birth."""

    # The kind it is, or was when it died.
    kind: str
    state: str | None
    # Since when it is in this state; a classic group is in it anew with every generation.
    since: int | None
    created: int | None
    died: int | None
    # How often what happened, by the happening's value, since the state began; zeros are left out.
    counts: Mapping[str, int]
    # The newest, in log order.
    transitions: tuple[Transition, ...]
