"""The state from which a run continues: opened, read back, and set aside if it cannot be used.

Owns the checkpoint of the process. A state that cannot be read is set aside and the offsets topic is read again from
its start, in the same process if possible; otherwise the checkpoint is marked, and the next start does it.
"""

from collections.abc import Mapping

import structlog

from stream.checkpoint.directory import CheckpointDirectory
from stream.checkpoint.objects.path import ObjectPath
from stream.checkpoint.presence import ObjectPresence, Presence
from stream.checkpoint.state_positions import misplaced, unseen
from stream.checkpoint.storage_watch import StorageWatch
from stream.cluster.log_tails import TailRequest, read_tails
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.groups.shard import ShardState
from stream.service.query_errors import is_of_the_process, is_of_the_state, is_unrelated
from stream.service.status import ServiceStatus
from stream.spark.errors import SparkCallError, SparkFailure, spark_call
from stream.spark.state_reader import UnreadableShardError, stored_shards
from stream.spark.types import SparkSession

_log = structlog.get_logger(__name__)


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
        return self.checkpoint.lock_lost() or self._presence.lost()

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
