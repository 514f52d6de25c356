"""The reasons why a value of the cluster is unknown, with their mapping from Kafka's error codes and ClusterErrors."""

import enum
from typing import Final

from stream.cluster.transport.errors import ClusterError, NotAuthorised, TimedOut, Unsupported


class ErrorReason(enum.StrEnum):
    """The reason why a value is unknown."""

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
    3: ErrorReason.NOT_FOUND,
    5: ErrorReason.NO_LEADER,
    6: ErrorReason.LEADER_CHANGED,
    7: ErrorReason.TIMED_OUT,
    8: ErrorReason.UNREACHABLE,
    9: ErrorReason.UNREACHABLE,  # REPLICA_NOT_AVAILABLE
    13: ErrorReason.UNREACHABLE,
    14: ErrorReason.COORDINATOR_LOADING,
    15: ErrorReason.NO_COORDINATOR,
    16: ErrorReason.COORDINATOR_CHANGED,
    17: ErrorReason.INVALID,  # INVALID_TOPIC_EXCEPTION
    24: ErrorReason.INVALID,  # INVALID_GROUP_ID
    29: ErrorReason.NOT_AUTHORIZED,  # topic; 30 is a group, 31 the cluster, 53 a transactional id
    30: ErrorReason.NOT_AUTHORIZED,
    31: ErrorReason.NOT_AUTHORIZED,
    35: ErrorReason.UNSUPPORTED,
    42: ErrorReason.INVALID,  # INVALID_REQUEST
    53: ErrorReason.NOT_AUTHORIZED,
    56: ErrorReason.STORAGE_FAILED,
    57: ErrorReason.STORAGE_FAILED,  # LOG_DIR_NOT_FOUND
    69: ErrorReason.NOT_FOUND,  # GROUP_ID_NOT_FOUND
    74: ErrorReason.LEADER_CHANGED,  # FENCED_LEADER_EPOCH
    75: ErrorReason.LEADER_CHANGED,  # UNKNOWN_LEADER_EPOCH
    78: ErrorReason.NOT_AVAILABLE,  # OFFSET_NOT_AVAILABLE
    88: ErrorReason.UNSTABLE,  # UNSTABLE_OFFSET_COMMIT
    100: ErrorReason.NOT_FOUND,  # UNKNOWN_TOPIC_ID
    105: ErrorReason.NOT_FOUND,  # TRANSACTIONAL_ID_NOT_FOUND
}
"""Kafka's error codes (org.apache.kafka.common.protocol.Errors) and their reasons."""


def of_code(code: int) -> ErrorReason | None:
    """Return the reason for an error code of an answer; None for success (0)."""
    return _BY_CODE.get(code, ErrorReason.OTHER) if code else None


def of_failure(error: ClusterError) -> ErrorReason:
    """Return the reason for a ClusterError that took the place of an answer."""
    if isinstance(error, TimedOut):
        return ErrorReason.TIMED_OUT
    if isinstance(error, NotAuthorised):
        return ErrorReason.NOT_AUTHORIZED
    if isinstance(error, Unsupported):
        return ErrorReason.UNSUPPORTED
    return ErrorReason.UNREACHABLE if error.passes else ErrorReason.OTHER
