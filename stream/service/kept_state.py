"""The state from which a run continues: opened, read back, and set aside if it cannot be used.

Owns the checkpoint of the process. A state that cannot be read is set aside and the offsets topic is read again from
its start, in the same process if possible; otherwise the checkpoint is marked, and the next start does it.

Query failures that a restart does not fix, or that the checkpoint caused, are recognised by their text. Spark reports
everything as one type of error, with the text of the exception that a Python process raised. Permanent errors of the
cluster are recognised by the names of their classes, a full volume by the messages of the system.
"""

import re
from collections.abc import Mapping
from typing import Final

import structlog

from stream.checkpoint.continuity import misplaced, unseen
from stream.checkpoint.directory import CheckpointDirectory
from stream.checkpoint.objects.path import ObjectPath
from stream.checkpoint.storage_watch import ObjectPresence, Presence, StorageWatch
from stream.cluster.log_tails import TailRequest, read_tails
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport import errors
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.errors import ExitCode, Refusal
from stream.groups.shard import ShardState
from stream.service.status import FAILED, RUNNING, ServiceStatus
from stream.spark.errors import SLOW_START, WORKER_NOT_STARTED, SparkCallError, SparkFailure, spark_call
from stream.spark.shard_processor import UnreadableShardError, stored_shards
from stream.spark.types import SparkSession

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


_log = structlog.get_logger(__name__)
CHECKPOINT_DELETED: Final = "checkpoint deleted while in use; restart to read the topic from its start"


class StateUnusableError(Exception):
    """The query cannot continue from the state; the text is the reason. Nothing of the state was published yet."""


class KeptState:
    """Holds the lock of the checkpoint until it is closed."""

    def __init__(
        self, checkpoint: CheckpointDirectory, cluster: Cluster, status: ServiceStatus, log_starts: Mapping[int, int]
    ) -> None:
        """Own an open checkpoint; `log_starts` are the current log start offsets of the offsets topic."""
        self._cluster = cluster
        self._log_starts = log_starts
        self._status = status
        self._has_started_over = False
        self._has_batch = False
        self.checkpoint = checkpoint
        folder = self.checkpoint.folder
        self._presence = ObjectPresence(folder) if isinstance(folder, ObjectPath) else Presence(folder)
        self._storage = StorageWatch(self.checkpoint.folder)
        self._storage.start()
        self._status.storage_trouble = self._storage.trouble
        self._log_set_aside()

    def close(self) -> None:
        """Release the lock."""
        self._storage.close()
        self._presence.close()
        self.checkpoint.close()

    def load(self, spark: SparkSession) -> list[tuple[int, ShardState]]:
        """Return every shard as of the last finished batch; none if the state cannot be read and was set aside.

        Raises SparkCallError if Spark itself fails, and Refusal.
        """
        if self.checkpoint.fresh:
            return []
        try:
            with spark_call("read the state kept in the checkpoint"):
                shards = stored_shards(spark, self.checkpoint.spark)
            problem = self._mismatch(shards)
        except SparkCallError as error:
            if is_of_the_process(error.failure):
                raise
            problem = str(error)
        except UnreadableShardError as error:
            problem = str(error)
        if problem is None:
            _log.info("state restored", batches="kept", checkpoint=str(self.checkpoint.folder))
            return shards
        self.start_over(f"{self.checkpoint.spark}: {problem}")
        return []

    def start_over(self, reason: str) -> None:
        """Set the state aside; from now on the checkpoint is empty. Raises Refusal."""
        self._has_started_over = True
        self._presence.close()
        self.checkpoint = self.checkpoint.start_over(reason)
        self._log_set_aside()

    def lost(self) -> str | None:
        """Return as a sentence which part of the checkpoint was deleted or replaced in use; None if it is intact.

        A lock that another process has taken over counts as replaced.
        """
        return self.checkpoint.lock.lost() or self._presence.lost()

    def record_batch(self) -> None:
        """Record that a batch has ended: the query has read the state and written the next."""
        if not self._has_batch:
            self._has_batch = True
            self.checkpoint.record_batch()

    def record_failure(self, failure: SparkFailure, *, shown: bool) -> bool:
        """Record that the query failed, and return whether the state caused it.

        Raises StateUnusableError if the state can be set aside at once: nothing of it was published (`shown`), and this
        is the first time.
        """
        if not is_of_the_state(failure):
            # After polls of an idle source, the end of the JVM says nothing about the state.
            unrelated = is_unrelated(failure) or (shown and is_of_the_process(failure))
            if not self._has_batch and not unrelated:
                self.checkpoint.record_failed_start(failure.cause)
            return False
        if not shown and not self._has_started_over:
            raise StateUnusableError(f"{self.checkpoint.spark}: {failure.cause}")
        self.checkpoint.record_failed_start(failure.cause, final=True)
        return True

    def _mismatch(self, shards: list[tuple[int, ShardState]]) -> str | None:
        """Return as a sentence why the state does not match the offset log; None if it does or cannot be compared."""
        positions, placement = self.checkpoint.positions, self.checkpoint.manifest.layout.placement
        problem = misplaced(shards, positions, placement)
        requests = [TailRequest(NAME, *row) for row in unseen(shards, positions, placement, self._log_starts)]
        if problem is not None or not requests:
            return problem
        try:
            tails = read_tails(self._cluster, requests)
        except ClusterError:
            return None
        for tail in tails:
            request = tail.wanted
            if tail.data_end is not None and tail.data_end > request.data_from:
                return (
                    f"the state has read partition {request.partition} of {NAME} up to {request.data_from}, "
                    f"the offset log up to {request.end}"
                )
        return None

    def _log_set_aside(self) -> None:
        if self.checkpoint.set_aside:
            self._status.resyncs += 1
            _log.warning(
                "checkpoint set aside; reading the topic from its start",
                why=self.checkpoint.set_aside,
                kept=str(self.checkpoint.kept),
            )


def end_of_query(failed: SparkFailure, status: ServiceStatus, state: KeptState) -> int:
    """Log why the query failed, and return the exit code.

    Raises Refusal for what a restart does not fix, and StateUnusableError.
    """
    was_ready, status.phase = status.phase == RUNNING, FAILED
    refusal = refusal_in(failed.cause) or refusal_in(failed.detail)
    lost = state.lost()
    if lost is not None:
        _log.error(CHECKPOINT_DELETED, why=lost, cause=failed.cause)
        return ExitCode.CHECKPOINT_DAMAGED
    if refusal is not None:
        raise refusal
    is_of_the_state = state.record_failure(failed, shown=was_ready)
    _log.error("query failed", cause=failed.cause)
    _log.debug("query error in full", detail=failed.detail)
    return ExitCode.CHECKPOINT_DAMAGED if is_of_the_state else ExitCode.QUERY_FAILED
