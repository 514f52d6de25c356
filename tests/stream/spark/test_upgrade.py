"""A checkpoint of an earlier Spark release: its state is restored, and its query continues."""

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from stream.spark.session import end_session, open_session
from stream.spark.shard_processor import stored_shards
from tests.stream.spark.capture_job import BATCHES, ROWS_PER_BATCH, WRITTEN_IN, CaptureJob, session_options

pytestmark = pytest.mark.spark

ARCHIVES: Final = sorted((Path(__file__).resolve().parents[2] / "captures").glob("checkpoint-spark-*.tar.gz"))


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    options = session_options()
    session = open_session(options)
    yield session
    end_session(session, 20)


@pytest.mark.long
@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.name.removesuffix(".tar.gz"))
def test_query_continues_from_a_checkpoint_of_an_earlier_release(
    spark: SparkSession, tmp_path: Path, archive: Path
) -> None:
    """Snapshots and changelogs are read, each commit counts once, and new commits are added to the old state."""
    unpack_archive(archive, tmp_path)
    job = CaptureJob(spark, tmp_path)
    assert any(job.checkpoint.glob("state/0/*/*.zip"))
    assert any(job.checkpoint.glob("state/0/*/*.changelog"))

    assert stored(spark, job) == {0: (commits(BATCHES), last(BATCHES)), 1: (commits(BATCHES), last(BATCHES) + 1)}

    job.add(BATCHES)
    query = job.start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    after = BATCHES + 1
    assert stored(spark, job) == {0: (commits(after), last(after)), 1: (commits(after), last(after) + 1)}


def commits(batches: int) -> int:
    """Return how many commits each of the two offsets partitions has after so many batches."""
    return batches * ROWS_PER_BATCH // 2


def last(batches: int) -> int:
    """Return the last offset committed in offsets partition 0 after so many batches; partition 1 is one ahead."""
    return batches * ROWS_PER_BATCH - 2


def stored(spark: SparkSession, job: CaptureJob) -> dict[int, tuple[int, int]]:
    """Return the commits and the last committed offset of each shard in the checkpoint that has any."""
    found = {}
    for shard, state in stored_shards(spark, str(job.checkpoint)):
        if len(state.runs):
            ((found[shard]),) = zip(
                state.runs.spans.commits.tolist(), state.runs.spans.last_offset.tolist(), strict=True
            )
    return found


def unpack_archive(archive: Path, folder: Path) -> None:
    """Unpack a checkpoint in its original folder: Spark stores the path of the state's schema in it."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    for name in (folder / "checkpoint" / "state" / "0" / "_metadata" / "v2").iterdir():
        if name.suffix == ".crc":
            name.unlink()
        else:
            name.write_text(name.read_text().replace(WRITTEN_IN, str(folder)))
