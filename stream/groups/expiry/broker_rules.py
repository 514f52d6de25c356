"""Kafka's rules of offset expiration for one group: by its kind and state, and by the broker's version.

`expiry.predict` applies them to columns, `expiry.causes` to offsets that were removed.

Sources: KIP-211; `GroupMetadata#removeExpiredOffsets` (Scala coordinator), `OffsetExpirationConditionImpl`,
`ClassicGroup#offsetExpirationCondition`, `#isSubscribedToTopic` of each kind of group (Java coordinator).
"""

import dataclasses
import enum
from collections.abc import Collection
from typing import Final, Literal

from stream.groups.lifecycle.model import Removal
from stream.groups.membership.memberships import CLASSIC, SIMPLE, Membership

NEVER: Final = -1
"""In place of a time: the broker keeps the offset while nothing changes."""
UNKNOWN: Final = -2
"""In place of a time: unknown, mostly because the retention is unknown."""

LATEST: Final = 253_402_300_799_999
"""The end of the year 9999 in ms: later times cannot be formatted as dates."""

DEFAULT_CHECK_INTERVAL_MS: Final = 600_000
"""Kafka's default of offsets.retention.check.interval.ms: the interval at which a broker removes expired offsets."""

EMPTY: Final = "Empty"
_STABLE: Final = "Stable"
_CONSUMER_PROTOCOL: Final = "consumer"

Source = Literal["broker", "configuration", "unknown"]


class ExpiryRules(enum.StrEnum):
    """The rules of offset expiration, by broker version. Groups of KIP-848 and later exist only under the last."""

    PER_OFFSET = "before 2.1"
    """Every offset on its own, independent of its group; the expire timestamp was mostly stored with the commit."""
    EMPTY_ONLY = "2.1 to 2.3"
    """KIP-211: only offsets of empty groups, counted from when they became empty, and of simple groups."""
    UNSUBSCRIBED = "2.4 to 3.1"
    """KAFKA-8730 (with KIP-496): also offsets of topics that a consumer group with members does not subscribe to."""
    UNSUBSCRIBED_IF_STABLE = "3.2 to 3.9"
    """KAFKA-13636: the same, but not while the group rebalances."""
    NONE_PENDING = "from 4.0"
    """KIP-848's coordinator: an offset does not expire while an open transaction has a commit of it, and a group not
    while one has a commit of any of its offsets."""


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetsRetention:
    """The brokers' settings of offset retention, and their source. None: unknown. Times in ms.

    `remarks` are sentences for the user, for example about brokers that differ or a missing right.
    """

    retention_ms: int | None
    check_interval_ms: int | None
    source: Source
    rules: ExpiryRules = ExpiryRules.NONE_PENDING
    remarks: tuple[str, ...] = ()

    @property
    def interval_ms(self) -> int:
        """The check interval in ms; Kafka's default if unknown."""
        return DEFAULT_CHECK_INTERVAL_MS if self.check_interval_ms is None else self.check_interval_ms


class RetentionStart(enum.IntEnum):
    """The time from which the retention of an offset counts."""

    COMMIT = 0
    """The last commit of the offset."""
    STATE = 1
    """The time at which the group became empty."""
    STOPPED = 2
    """The retention does not count: the offset does not expire."""
    UNKNOWN = 3


def retention_start(group: Membership | Removal, rules: ExpiryRules) -> RetentionStart:
    """Return the start of the retention of a group's offsets, except those of topics in `exempt_topics`."""
    if rules is ExpiryRules.PER_OFFSET or group.kind in {SIMPLE, "consumer", "streams"}:
        return RetentionStart.COMMIT
    if group.kind == "share":  # share groups have no offsets in this topic
        return RetentionStart.STOPPED
    if group.protocol_type is None:  # the broker treats a classic one as a simple group
        return RetentionStart.COMMIT
    if group.state == EMPTY:
        # Records written before 2.1 do not have the time at which the group became empty.
        return RetentionStart.COMMIT if group.state_time is None or group.state_time < 0 else RetentionStart.STATE
    if group.state is None:
        return RetentionStart.UNKNOWN
    exempts_topics = group.protocol_type == _CONSUMER_PROTOCOL and rules is not ExpiryRules.EMPTY_ONLY
    rebalances = group.state != _STABLE and rules in {ExpiryRules.UNSUBSCRIBED_IF_STABLE, ExpiryRules.NONE_PENDING}
    return RetentionStart.COMMIT if exempts_topics and not rebalances else RetentionStart.STOPPED


def exempt_topics(group: Membership, rules: ExpiryRules) -> Collection[str] | None:
    """Return the topics whose offsets do not expire while the group has members; None if the topics are unknown.

    None means all topics if the broker does not know them either. If only lagwarden does not know them, the result of
    `retention_start` does not apply: see `expiry.predict`.
    """
    if rules is ExpiryRules.PER_OFFSET or group.kind == SIMPLE or group.state == EMPTY:
        return ()
    if group.kind == "streams" and group.subscribed is None:  # without a topology no topic is a source topic
        return ()
    if group.kind == CLASSIC and group.protocol_type is None:
        return ()
    return group.subscribed
