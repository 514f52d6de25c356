"""The cause of a failed query, by the texts of real Spark errors."""

from __future__ import annotations

import pytest

from stream.service.state_errors import is_of_the_process, is_of_the_state, is_unrelated
from stream.spark.errors import SparkFailure
from stream.spark.jvm_process import JVM_GONE

FRAMES = """
\tat org.apache.spark.sql.execution.streaming.state.RocksDBFileManager.loadCheckpointFromDfs(RocksDBFileManager.scala)
  File "/site-packages/stream/cluster/transport/errors.py", line 1, in read
"""
LOADING = "Caused by: org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred"
SUM = "org.apache.hadoop.fs.ChecksumException: Checksum error: file:/ck/state/0/0/9.changelog at 1024 exp: 1 got: 2"
NO_METADATA = "[STREAMING_CHECKPOINT_MISSING_METADATA_FILE] Checkpoint location file:/ck is in an inconsistent state"
NO_STATE = "[STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY] Cannot restart streaming query"
OPERATOR = "[STDS_FAILED_TO_READ_OPERATOR_METADATA] Failed to read the operator metadata"
CODEC = "stream.groups.codec.UnknownFormatError: not a packed shard of format 2 or below: b'LW'"
FULL = "java.io.IOException: No space left on device"
MEMORY = "java.lang.OutOfMemoryError: Java heap space"
SLOW = "org.apache.spark.SparkException: Python worker failed to connect back."
NO_WORKER = "java.lang.IllegalStateException: Python daemon failed to launch worker."
TIMEOUT = "stream.cluster.transport.errors.TimedOut: b:9092 does not answer in time"


@pytest.mark.parametrize("text", [LOADING, SUM, NO_METADATA, NO_STATE, OPERATOR, CODEC])
def test_the_state_is_the_cause(text: str) -> None:
    """The last or an earlier cause is an error of Spark's state, of Hadoop's checksums or of our codec."""
    assert is_of_the_state(SparkFailure(text, text + FRAMES))
    assert is_of_the_state(SparkFailure("java.lang.NullPointerException", f"job failed\n{text}{FRAMES}"))
    assert not is_unrelated(SparkFailure(text, text + FRAMES))


@pytest.mark.parametrize(
    ("text", "of_the_process", "unrelated"),
    [(FULL, True, False), (f"{LOADING}\n{MEMORY}", True, False), (f"{LOADING}\n{FULL}", True, False),
     (f"{LOADING}\n{NO_WORKER}", True, False),
     (TIMEOUT, False, True), (SLOW, False, True), ("ValueError: surprise", False, False)],
)  # fmt: skip
def test_the_state_is_not_the_cause(text: str, *, of_the_process: bool, unrelated: bool) -> None:
    """A full volume, heap or killed worker also fails reading an intact state; stack frames are ignored."""
    failure = SparkFailure(text.splitlines()[-1], text + FRAMES)
    found = (is_of_the_state(failure), is_of_the_process(failure), is_unrelated(failure))
    assert found == (False, of_the_process, unrelated)


def test_a_jvm_that_ended_is_not_a_fault_of_the_state() -> None:
    """A JVM that ended leaves no text; the usual reason is memory."""
    assert is_of_the_process(SparkFailure(JVM_GONE, ""))
    assert not is_of_the_state(SparkFailure(JVM_GONE, ""))
