"""Recognises query failures by their text: what a restart does not fix, and what the checkpoint caused. Pure.

Spark reports everything as one type of error, with the text of the exception that a Python process raised. Permanent
errors of the cluster are recognised by the names of their classes, a full volume by the messages of the system.
"""

import re
from typing import Final

from stream.cluster.transport import errors
from stream.errors import ExitCode, Refusal
from stream.spark.errors import SLOW_START, WORKER_NOT_STARTED, SparkFailure

CLUSTER_ERROR: Final = re.compile(rf"\b{re.escape(errors.__name__)}\.(\w+): (.+)")
"""Matches a ClusterError in the text of a traceback: the name of its class, and its message with the advice."""
_NO_SPACE: Final = ("No space left on device", "Disk quota exceeded")

# Spark's error conditions about a checkpoint and its state store, Hadoop's about checksums, and that of our own codec.
_OF_THE_STATE: Final = re.compile(
    r"\[(CANNOT_LOAD_STATE_STORE|STATE_STORE_|STDS_|STREAMING_CHECKPOINT|STREAMING_STATEFUL_OPERATOR"
    r"|CHECKPOINT_|MALFORMED_STATE|INVALID_LOG_VERSION|BATCH_METADATA_NOT_FOUND|FAILED_TO_READ_)"
    r"|hadoop\.fs\.ChecksumException|rocksdb\.RocksDBException|UnknownFormatError|Incomplete log file"
)
# Causes that make reading any state fail.
_OF_THE_PROCESS: Final = (
    "OutOfMemoryError",
    "Too many open files",
    "Python worker exited unexpectedly",
    WORKER_NOT_STARTED,
)


def refusal_in(error: str) -> Refusal | None:
    """Return the refusal that the text of a query error indicates; None for any other error."""
    for name, text in CLUSTER_ERROR.findall(error):
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, errors.ClusterError) and not kind.passes:
            return Refusal(text.strip(), "", kind.code)
    if any(mark in error for mark in _NO_SPACE):
        return Refusal(
            "no space left on a volume that Spark writes to: that of the checkpoint, or of temporary files",
            "free space on the volume of checkpoint.dir and in the folder for temporary files, then restart",
            ExitCode.CHECKPOINT_UNUSABLE,
        )
    return None


def is_of_the_state(failure: SparkFailure) -> bool:
    """Return whether the query failed because of the state from which it was to continue."""
    return _OF_THE_STATE.search(_text(failure)) is not None and not is_of_the_process(failure)


def is_of_the_process(failure: SparkFailure) -> bool:
    """Return whether the JVM, its memory, its descriptors or a full volume caused it: the state may be intact."""
    text = _text(failure)
    return not failure.detail or refusal_in(text) is not None or any(mark in text for mark in _OF_THE_PROCESS)


def is_unrelated(failure: SparkFailure) -> bool:
    """Return whether the state cannot be the cause.

    The cluster did not answer or refused, or a Python process did not start in time because other processes have the
    CPU.
    """
    return CLUSTER_ERROR.search(_text(failure)) is not None or is_slow_start(failure)


def is_slow_start(failure: SparkFailure) -> bool:
    """Return whether a Python process of Spark did not start in time; the next attempt may succeed."""
    return SLOW_START in _text(failure)


def _text(failure: SparkFailure) -> str:
    """Return the text without stack frames: every task of the query has frames of the state store and of Kafka."""
    lines = failure.detail.splitlines()
    return "\n".join([failure.cause, *(line for line in lines if not line.lstrip().startswith(("at ", "File ")))])
