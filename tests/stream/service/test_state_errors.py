"""The cause of a failed query, by the texts of real Spark errors."""

from stream.service.kept_state import is_of_the_process, is_of_the_state, is_unrelated
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


def test_the_state_is_the_cause() -> None:
    """The last or an earlier cause is an error of Spark's state, of Hadoop's checksums or of our codec."""
    for text in (LOADING, SUM, NO_METADATA, NO_STATE, OPERATOR, CODEC):
        assert is_of_the_state(SparkFailure(text, text + FRAMES))
        assert is_of_the_state(SparkFailure("java.lang.NullPointerException", f"job failed\n{text}{FRAMES}"))
        assert not is_unrelated(SparkFailure(text, text + FRAMES))


def test_the_state_is_not_the_cause() -> None:
    """A full volume, heap or killed worker also fails reading an intact state; stack frames are ignored.

    A JVM that ended leaves no text; the usual reason is memory.
    """
    of_the_process = (FULL, f"{LOADING}\n{MEMORY}", f"{LOADING}\n{FULL}", f"{LOADING}\n{NO_WORKER}")
    expected = dict.fromkeys(of_the_process, (False, True, False))
    expected |= {TIMEOUT: (False, False, True), SLOW: (False, False, True), "ValueError: surprise": (False,) * 3}
    failures = {text: SparkFailure(text.splitlines()[-1], text + FRAMES) for text in expected}
    found = {text: (is_of_the_state(f), is_of_the_process(f), is_unrelated(f)) for text, f in failures.items()}
    assert found == expected
    assert is_of_the_process(SparkFailure(JVM_GONE, ""))
    assert not is_of_the_state(SparkFailure(JVM_GONE, ""))
