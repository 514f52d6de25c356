"""The state that a run continues from: opened, read back, and set aside where it cannot be used.

Owns the checkpoint of the process. A state that cannot be read is set aside and the offsets topic read again from its
start, in the same process where that is possible; otherwise the checkpoint is marked, and the next start does it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from stream.checkpoint.presence import Presence
from stream.checkpoint.state_positions import misplaced, unseen
from stream.cluster.log_tails import TailRequest, read_tails
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.errors import ClusterError
from stream.service.state_errors import is_of_kafka, is_of_the_process, is_of_the_state
from stream.spark.errors import SparkCallError, spark_call
from stream.spark.state_reader import UnreadableShardError, stored_shards

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.checkpoint.directory import CheckpointDirectory
    from stream.cluster.transport.client import Cluster
    from stream.groups.shard import ShardState
    from stream.service.status import ServiceStatus
    from stream.spark.errors import SparkFailure
    from stream.spark.types import SparkSession

_log = structlog.get_logger(__name__)


class StateUnusableError(Exception):
    """The query cannot continue from the state; the text says why. Nothing of the state was shown yet."""


class KeptState:
    """Holds the lock of the checkpoint until it is closed."""

    def __init__(
        self, checkpoint: CheckpointDirectory, cluster: Cluster, vitals: ServiceStatus, log_starts: Mapping[int, int]
    ) -> None:
        """Take over a checkpoint; `log_starts` are those of the offsets topic now, by partition."""
        self._cluster = cluster
        self._log_starts = log_starts
        self._vitals = vitals
        self._began_again = False
        self._batch_ended = False
        self.checkpoint = checkpoint
        self._presence = Presence(self.checkpoint.folder)
        self._say_set_aside()

    def close(self) -> None:
        """Release the lock."""
        self._presence.close()
        self.checkpoint.close()

    def load(self, spark: SparkSession) -> list[tuple[int, ShardState]]:
        """Return every shard as of the last finished batch; none after a state that cannot be read was set aside.

        Raises SparkCallError where Spark itself is in trouble, and Refusal.
        """
        if self.checkpoint.fresh:
            return []
        try:
            with spark_call("read the state kept in the checkpoint"):
                shards = stored_shards(spark, self.checkpoint.spark)
            problem = self._misfit(shards)
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
        self._began_again = True
        self._presence.close()
        self.checkpoint = self.checkpoint.start_over(reason)
        self._say_set_aside()

    def lost(self) -> str | None:
        """Return what of the checkpoint was deleted or replaced under the process, as a sentence."""
        return self._presence.lost()

    def note_batch(self) -> None:
        """Note that a batch has ended: the query has read the state and written the next."""
        if not self._batch_ended:
            self._batch_ended = True
            self.checkpoint.note_batch()

    def note_failure(self, failure: SparkFailure, *, shown: bool) -> bool:
        """Note that the query failed, and return whether the state is to blame for it.

        Raises StateUnusableError if it can be set aside at once: nothing of it was shown, and it is the first time.
        """
        if not is_of_the_state(failure):
            # After idle looks at the source, the end of the JVM says nothing about the state.
            unrelated = is_of_kafka(failure) or (shown and is_of_the_process(failure))
            if not self._batch_ended and not unrelated:
                self.checkpoint.note_failed_start(failure.cause)
            return False
        if not shown and not self._began_again:
            raise StateUnusableError(f"{self.checkpoint.spark}: {failure.cause}")
        self.checkpoint.note_failed_start(failure.cause, final=True)
        return True

    def _misfit(self, shards: list[tuple[int, ShardState]]) -> str | None:
        """Say as a sentence why the state is not that of the offset log, or None. What cannot be asked is no reason."""
        positions, placement = self.checkpoint.positions, self.checkpoint.manifest.layout.placement
        problem = misplaced(shards, positions, placement)
        wanted = [TailRequest(NAME, *row) for row in unseen(shards, positions, placement, self._log_starts)]
        if problem is not None or not wanted:
            return problem
        try:
            tails = read_tails(self._cluster, wanted)
        except ClusterError:
            return None
        for tail in tails:
            asked = tail.wanted
            if tail.data_end is not None and tail.data_end > asked.data_from:
                return (
                    f"the state has read partition {asked.partition} of {NAME} up to {asked.data_from}, "
                    f"the offset log up to {asked.end}"
                )
        return None

    def _say_set_aside(self) -> None:
        if self.checkpoint.set_aside:
            self._vitals.resyncs += 1
            _log.warning(
                "reading the topic again from its start; the old checkpoint is kept",
                why=self.checkpoint.set_aside,
                kept=str(self.checkpoint.kept),
            )
