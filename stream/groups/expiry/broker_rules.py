"""By which rules a broker lets offsets expire: by the kind and state of the group, and the broker's version.

Owns the table of Kafka's rules for one group; `expiry` applies it to columns, `causes` backwards to what has gone.

Sources: KIP-211; `GroupMetadata#removeExpiredOffsets` (Scala coordinator), `OffsetExpirationConditionImpl`,
`ClassicGroup#offsetExpirationCondition`, `#isSubscribedToTopic` of each kind of group (Java coordinator).
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Final, Literal, Protocol

from stream.groups.membership.memberships import CLASSIC, SIMPLE, Membership

if TYPE_CHECKING:
    from collections.abc import Collection

NEVER: Final = -1
"""In the place of a time: the broker keeps it as long as things stay as they are."""
UNKNOWN: Final = -2
"""In the place of a time: it cannot be known, mostly because the retention is not."""

LATEST: Final = 253_402_300_799_999
"""The end of the year 9999 in ms: no calendar shows a later time."""

DEFAULT_CHECK_INTERVAL_MS: Final = 600_000
"""How often a broker looks for what has expired if nobody has said otherwise (offsets.retention.check.interval.ms)."""

EMPTY: Final = "Empty"
_STABLE: Final = "Stable"
_CONSUMER_PROTOCOL: Final = "consumer"

Source = Literal["broker", "configuration", "unknown"]


class ExpiryRules(enum.StrEnum):
    """Which offsets a broker lets expire, by its version. Groups of KIP-848 and later only live under the last."""

    PER_OFFSET = "before 2.1"
    """Every offset for itself, whatever its group does; the expiry was mostly stored with the commit."""
    EMPTY_ONLY = "2.1 to 2.3"
    """KIP-211: only offsets of groups that are empty, since they are, and of simple groups."""
    UNSUBSCRIBED = "2.4 to 3.1"
    """KAFKA-8730 (with KIP-496): also those of topics that a consumer group with members does not subscribe to."""
    UNSUBSCRIBED_IF_STABLE = "3.2 to 3.9"
    """KAFKA-13636: the same, but not while the group rebalances."""
    NONE_PENDING = "from 4.0"
    """KIP-848's coordinator: not while a transaction is open that has a commit of the offset, or for a group, any."""


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetsRetention:
    """What the brokers are set to, and where that is known from. None: not known. Times in ms.

    `remarks` are sentences for a person: brokers that differ, a right that is missing.
    """

    retention_ms: int | None
    check_interval_ms: int | None
    source: Source
    rules: ExpiryRules = ExpiryRules.NONE_PENDING
    remarks: tuple[str, ...] = ()

    @property
    def interval_ms(self) -> int:
        """How often a broker looks; Kafka's default where that is not known."""
        return DEFAULT_CHECK_INTERVAL_MS if self.check_interval_ms is None else self.check_interval_ms


class RetentionStart(enum.IntEnum):
    """From when the retention of an offset runs."""

    COMMIT = 0
    """From its last commit."""
    STATE = 1
    """From when its group became empty."""
    STOPPED = 2
    """It does not run."""
    UNKNOWN = 3


class GroupFacts(Protocol):
    """What the clock depends on: a group as it is, or as it was when it ended."""

    @property
    def kind(self) -> str:
        """Kind of group."""

    @property
    def state(self) -> str | None:
        """State as Kafka's tools print it."""

    @property
    def state_time(self) -> int | None:
        """When the broker saw it begin, in ms."""

    @property
    def protocol_type(self) -> str | None:
        """Protocol type of a classic group."""


def retention_start(group: GroupFacts, rules: ExpiryRules) -> RetentionStart:
    """Say from when the retention of a group's offsets runs, those of topics aside that `exempt_topics` gives."""
    if rules is ExpiryRules.PER_OFFSET or group.kind in {SIMPLE, "consumer", "streams"}:
        return RetentionStart.COMMIT
    if group.kind == "share":  # has no offsets here at all
        return RetentionStart.STOPPED
    return _clock_of_classic(group, rules)


def _clock_of_classic(group: GroupFacts, rules: ExpiryRules) -> RetentionStart:
    if group.protocol_type is None:  # the broker takes it for a simple one
        return RetentionStart.COMMIT
    if group.state == EMPTY:
        # Records of before 2.1 do not tell since when it is empty.
        return RetentionStart.COMMIT if group.state_time is None or group.state_time < 0 else RetentionStart.STATE
    if group.state is None:
        return RetentionStart.UNKNOWN
    exempts_topics = group.protocol_type == _CONSUMER_PROTOCOL and rules is not ExpiryRules.EMPTY_ONLY
    rebalances = group.state != _STABLE and rules in {ExpiryRules.UNSUBSCRIBED_IF_STABLE, ExpiryRules.NONE_PENDING}
    return RetentionStart.COMMIT if exempts_topics and not rebalances else RetentionStart.STOPPED


def exempt_topics(group: Membership, rules: ExpiryRules) -> Collection[str] | None:
    """Give the topics whose offsets the group keeps although its clock runs; None: all, the broker cannot tell which.

    Where the broker can tell and we cannot, `retention_start` is not to be believed: see `predict`.
    """
    if rules is ExpiryRules.PER_OFFSET or group.kind == SIMPLE or group.state == EMPTY:
        return ()
    if group.kind == "streams" and group.subscribed is None:  # no topology, and then no topic is a source of it
        return ()
    if group.kind == CLASSIC and group.protocol_type is None:
        return ()
    return group.subscribed
