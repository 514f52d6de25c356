"""Why the cluster does not tell something: the words that stand in the place of a value.

Owns the translation of Kafka's error codes and of our own ClusterErrors into them. `watermarks` has words of its own
for the ends of partitions, which the read model shows.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from stream.cluster.transport.errors import NotAuthorised, TimedOut, Unsupported

if TYPE_CHECKING:
    from stream.cluster.transport.errors import ClusterError


class Reason(enum.StrEnum):
    """Why something is not known."""

    NOT_AUTHORIZED = "not_authorized"
    NOT_FOUND = "not_found"
    INVALID = "invalid"
    NO_LEADER = "no_leader"
    LEADER_CHANGED = "leader_changed"
    NO_COORDINATOR = "no_coordinator"
    COORDINATOR_LOADING = "coordinator_loading"
    COORDINATOR_CHANGED = "coordinator_changed"
    NOT_AVAILABLE = "not_available"
    UNSTABLE = "unstable"
    STORAGE_FAILED = "storage_failed"
    UNSUPPORTED = "unsupported"
    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"
    NOT_ASKED = "not_asked"
    OTHER = "other"


_BY_CODE: Final = {
    3: Reason.NOT_FOUND,
    5: Reason.NO_LEADER,
    6: Reason.LEADER_CHANGED,
    7: Reason.TIMED_OUT,
    8: Reason.UNREACHABLE,
    9: Reason.UNREACHABLE,  # REPLICA_NOT_AVAILABLE
    13: Reason.UNREACHABLE,
    14: Reason.COORDINATOR_LOADING,
    15: Reason.NO_COORDINATOR,
    16: Reason.COORDINATOR_CHANGED,
    17: Reason.INVALID,  # INVALID_TOPIC_EXCEPTION
    24: Reason.INVALID,  # INVALID_GROUP_ID
    29: Reason.NOT_AUTHORIZED,  # of a topic, and then a group, the cluster, a transactional id
    30: Reason.NOT_AUTHORIZED,
    31: Reason.NOT_AUTHORIZED,
    35: Reason.UNSUPPORTED,
    42: Reason.INVALID,  # INVALID_REQUEST
    53: Reason.NOT_AUTHORIZED,
    56: Reason.STORAGE_FAILED,
    57: Reason.STORAGE_FAILED,  # LOG_DIR_NOT_FOUND
    69: Reason.NOT_FOUND,  # GROUP_ID_NOT_FOUND
    74: Reason.LEADER_CHANGED,  # FENCED_LEADER_EPOCH
    75: Reason.LEADER_CHANGED,  # UNKNOWN_LEADER_EPOCH
    78: Reason.NOT_AVAILABLE,  # OFFSET_NOT_AVAILABLE
    88: Reason.UNSTABLE,  # UNSTABLE_OFFSET_COMMIT
    100: Reason.NOT_FOUND,  # UNKNOWN_TOPIC_ID
    105: Reason.NOT_FOUND,  # TRANSACTIONAL_ID_NOT_FOUND
}
"""Kafka's error codes (org.apache.kafka.common.protocol.Errors) in our words."""


def of_code(code: int) -> Reason | None:
    """Word an error code of an answer; None for the code of success."""
    return _BY_CODE.get(code, Reason.OTHER) if code else None


def of_failure(error: ClusterError) -> Reason:
    """Word the ClusterError that stands in the place of an answer."""
    if isinstance(error, TimedOut):
        return Reason.TIMED_OUT
    if isinstance(error, NotAuthorised):
        return Reason.NOT_AUTHORIZED
    if isinstance(error, Unsupported):
        return Reason.UNSUPPORTED
    return Reason.UNREACHABLE if error.passes else Reason.OTHER
