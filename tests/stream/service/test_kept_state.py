"""The kept state after a failed query: unchanged, set aside at once, or marked for the next start."""

import contextlib
import dataclasses
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import pytest
import structlog

from stream.checkpoint.continuity import OffsetsTopicEnds
from stream.checkpoint.directory import open_checkpoint
from stream.checkpoint.manifest import FORMAT, Layout
from stream.cluster.log_tails import TailRead, TailRequest
from stream.cluster.offsets_topic import OffsetsTopic
from stream.cluster.transport.client import Cluster
from stream.errors import ExitCode, Refusal
from stream.groups.shard import empty_state
from stream.service import kept_state
from stream.service.kept_state import KeptState, StateUnusableError, end_of_query
from stream.service.status import CATCHING_UP, FAILED, RUNNING, ServiceStatus
from stream.spark.errors import SparkCallError, SparkFailure
from stream.spark.jvm_process import JVM_GONE
from stream.spark.shard_processor import UnreadableShardError

TOPIC: Final = OffsetsTopic("c", uuid.UUID(int=7), (0,))
LAYOUT: Final = Layout(sub_shards=1, offsets_partitions=1, shuffle_partitions=1, slot_ms=30_000, keep_slots=10)
BROKEN: Final = SparkFailure("java.io.EOFException", "[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED]\njava.io.EOFException")
UNKNOWN: Final = SparkFailure("ValueError: surprise", "ValueError: surprise")
KAFKA: Final = SparkFailure(
    "stream.cluster.transport.errors.TimedOut: no answer", "stream.cluster.transport.errors.TimedOut: no answer"
)
SLOW: Final = SparkFailure("Python worker failed to connect back.", "Python worker failed to connect back.")
GONE: Final = SparkFailure(JVM_GONE, "")
FULL: Final = SparkFailure("java.io.IOException: No space left on device", "[STATE_STORE_X] No space left on device")


@contextlib.contextmanager
def opened(root: Path, status: ServiceStatus | None = None) -> Iterator[KeptState]:
    """Open the state and close it at the end; it has one finished batch unless it was set aside."""
    ends = OffsetsTopicEnds({0: (0, 100, 100)}, time.time(), 3600.0)
    checkpoint = open_checkpoint(root, TOPIC, LAYOUT, ends)
    own = status or ServiceStatus("0", 30.0)
    with contextlib.closing(KeptState(checkpoint, cast("Cluster", object()), own, {0: 0})) as state:
        yield state


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with opened(tmp_path):
        spark = tmp_path / f"v{FORMAT}" / "spark"
        files = {
            "metadata": '{"id":"8a1b"}',
            "offsets/0": 'v1\n{}\n{"__consumer_offsets":{"0":50}}',
            "commits/0": "v1\n{}",
            "state/0/_metadata/v2/0": 'v2\n{"stateStoreInfo":[{"numPartitions":1}]}',
            "state/0/_stateSchema/0": "v3",
            "state/0/0/1.changelog": "changes",
        }
        for name, text in files.items():
            (spark / name).parent.mkdir(parents=True, exist_ok=True)
            (spark / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("failure", [UNKNOWN, GONE], ids=["unknown", "the JVM ended"])
def test_two_starts_that_fail_in_a_row_set_the_state_aside(root: Path, failure: SparkFailure) -> None:
    """The third start sets the state aside and logs the cause, so that it does not fail forever."""
    for _ in range(2):
        with opened(root) as state:
            assert not state.record_failure(failure, shown=False)
    status = ServiceStatus("0", 30.0)
    with structlog.testing.capture_logs() as logs, opened(root, status) as state:
        assert state.checkpoint.fresh
    assert status.resyncs == 1
    assert failure.cause in logs[0]["why"]
    assert (Path(logs[0]["kept"]) / "spark" / "commits" / "0").exists()


OTHER_CAUSES: Final = {
    "the Kafka client": (KAFKA, False, False),
    "a Python process that starts too slowly": (SLOW, False, False),
    "the JVM without new records": (GONE, True, False),
    "after a batch": (UNKNOWN, False, True),
    "the JVM after a batch": (GONE, True, True),
}


def test_a_failure_with_another_cause_sets_nothing_aside(root: Path) -> None:
    """The state is kept, no matter how often a failure with another cause happens."""
    for failure, shown, batch_ended in OTHER_CAUSES.values():
        for _ in range(3):
            with opened(root) as state:
                if batch_ended:
                    state.record_batch()
                assert not state.record_failure(failure, shown=shown)
        with opened(root) as state:
            assert not state.checkpoint.fresh


def test_broken_state_is_set_aside_at_once_and_only_once(root: Path) -> None:
    """The first failure sets the state aside at once; after a second failure, the next start sets the state aside."""
    with opened(root) as state:
        with pytest.raises(StateUnusableError, match=r"spark: java\.io\.EOFException"):
            state.record_failure(BROKEN, shown=False)
        state.start_over("it is broken")
        assert state.checkpoint.fresh
        assert state.lost() is None
        assert state.record_failure(BROKEN, shown=False)
    with opened(root) as state:
        assert "EOFException" in str(state.checkpoint.set_aside)


def test_a_published_broken_state_is_marked(root: Path) -> None:
    """The process ends with the code of a damaged checkpoint, and the next start sets the state aside."""
    status = ServiceStatus("0", 30.0)
    status.phase = RUNNING
    with opened(root) as state:
        assert end_of_query(BROKEN, status, state) == ExitCode.CHECKPOINT_DAMAGED
        assert status.phase == FAILED
        assert not state.checkpoint.fresh
    with opened(root) as state:
        assert state.checkpoint.fresh


def test_a_full_volume_is_a_refusal_and_keeps_the_state(root: Path) -> None:
    """A full volume is a refusal even if Spark reports it as an error of the state store."""
    status = ServiceStatus("0", 30.0)
    status.phase = CATCHING_UP
    with opened(root) as state, pytest.raises(Refusal, match="no space left") as refused:
        end_of_query(FULL, status, state)
    assert refused.value.code == ExitCode.CHECKPOINT_UNUSABLE
    with opened(root) as state:
        assert not state.checkpoint.fresh


def test_a_query_that_failed_because_of_a_deleted_checkpoint_logs_the_deletion(root: Path) -> None:
    """The log states that a file was deleted, whatever error Spark reports."""
    with opened(root) as state, structlog.testing.capture_logs() as logs:
        assert state.lost() is None
        (root / f"v{FORMAT}" / "spark" / "metadata").unlink()
        assert end_of_query(UNKNOWN, ServiceStatus("0", 30.0), state) == ExitCode.CHECKPOINT_DAMAGED
    assert "metadata was deleted" in logs[0]["why"]


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Replace each read of the state by this error."""

    def fail(*_: object) -> Any:
        raise error

    monkeypatch.setattr(kept_state, "stored_shards", fail)


@pytest.mark.parametrize(
    "error",
    [UnreadableShardError("shard 3 of the state cannot be read"), SparkCallError("read the state", BROKEN)],
    ids=["error of the codec", "error of Spark"],
)
def test_state_that_cannot_be_loaded_is_set_aside(
    root: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The same start continues with an empty state; the reason is logged."""
    failing(monkeypatch, error)
    status = ServiceStatus("0", 30.0)
    with opened(root, status) as state:
        assert state.load(Any) == []  # type: ignore[arg-type]
        assert state.checkpoint.fresh
        assert str(error) in str(state.checkpoint.set_aside)
    assert status.resyncs == 1


def test_a_state_that_cannot_be_loaded_from_a_full_volume_is_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is raised and the state is kept, because the state may be intact."""
    failing(monkeypatch, SparkCallError("read the state", FULL))
    with opened(root) as state:
        with pytest.raises(SparkCallError):
            state.load(Any)  # type: ignore[arg-type]
        assert not state.checkpoint.fresh


READ = "the state has read partition 0 of __consumer_offsets up to"


@pytest.mark.parametrize(
    ("position", "data_end", "problem"),
    [
        pytest.param(49, None, None, id="at the end of the log"),
        pytest.param(44, 45, None, id="before markers"),
        pytest.param(44, None, None, id="before unknown records"),
        pytest.param(44, 48, f"{READ} 45, the offset log up to 50", id="before a record"),
        pytest.param(50, None, f"{READ} 50, the offset log ends at 50", id="beyond the log"),
    ],
)
def test_state_must_be_that_of_the_offset_log(
    root: Path, monkeypatch: pytest.MonkeyPatch, position: int, data_end: int | None, problem: str | None
) -> None:
    """A state that is behind the offset log is kept unless the topic has records between both."""
    requested: list[TailRequest] = []

    def read_tails(_: Cluster, wanted: list[TailRequest]) -> list[TailRead]:
        requested.extend(wanted)
        return [TailRead(each, data_end) for each in wanted]

    shard = dataclasses.replace(empty_state(), position=position)
    monkeypatch.setattr(kept_state, "stored_shards", lambda *_: [(0, shard)])
    monkeypatch.setattr(kept_state, "read_tails", read_tails)
    with opened(root) as state:
        loaded = state.load(Any)  # type: ignore[arg-type]
        assert loaded == ([(0, shard)] if problem is None else [])
        assert state.checkpoint.fresh == (problem is not None)
        assert problem is None or problem in str(state.checkpoint.set_aside)
    assert requested == ([TailRequest("__consumer_offsets", 0, 45, 50)] if position == 44 else [])


def test_the_status_has_the_trouble_of_the_storage(root: Path) -> None:
    """A checkpoint whose storage is away is a reason why the monitor is not ready."""
    status = ServiceStatus("0", 30.0)
    with opened(root, status) as state:
        assert status.storage_trouble == state._storage.trouble
