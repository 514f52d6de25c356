"""The request for a first read: the topics, the end offsets, and the number of processes."""

import dataclasses
import pickle
from pathlib import Path

from stream.service.first_read.request import FirstRead
from stream.spark.batch_plan import SMALL_BATCH
from tests.stream.spark.capture_job import job_options

FOLDER = Path("/tmp/first-read")  # noqa: S108 -- nothing is written
MOST = 1_000_000
"""The largest micro-batch of these options."""


def plan(stable: dict[int, int]) -> FirstRead | None:
    """Return the read of a topic with these last stable offsets, whose logs begin at 10.

    A fourth partition has a leader that does not answer.
    """
    job = job_options(Path("checkpoint"))
    starts = dict.fromkeys(range(3), 10)
    job = dataclasses.replace(job, reading=dataclasses.replace(job.reading, starts=starts, limit=500.0))
    return FirstRead.plan(job, stable, {0: 4, 3: 5}, FOLDER)


def test_a_long_topic_is_read_to_its_last_stable_offsets() -> None:
    """The read has as many tasks as run at the same time; each task has a file for its result."""
    first = plan({0: 60_010, 1: 10, 2: 40_010})
    assert first is not None
    assert first.tasks == (((0, 10, 60_010),), ((2, 10, 40_010),))
    assert first.ends.positions == {0: 60_010, 1: 10, 2: 40_010}
    assert (first.folded.ends, first.folded.epochs) == (first.ends.positions, {0: 4})
    assert first.folded.tasks == (
        (((0, 10, 60_010),), str(FOLDER / "0.arrow")),
        (((2, 10, 40_010),), str(FOLDER / "1.arrow")),
    )


def test_a_first_read_waits_less_for_brokers_than_the_query() -> None:
    """A first read waits for 30 seconds at most; the query then reads the topic with the limit of the job.

    A request that is pickled and unpickled is unchanged.
    """
    first = plan({0: 100_000})
    assert first is not None
    assert first.reading.limit == 30
    assert pickle.loads(pickle.dumps(first)) == first  # noqa: S301 -- made here


def test_a_partition_without_a_known_end_is_not_read() -> None:
    """The read of a partition without a known end stops at its start, as in a batch."""
    first = plan({0: 100_000, 2: 3})
    assert first is not None
    assert first.ends.positions == {0: 100_000, 1: 10, 2: 10}


def test_topics_that_fit_one_batch_are_read_first() -> None:
    """Nothing is read of a topic without records, and a topic that exceeds one batch is left to the query.

    A short read is one task, so that a core is left for the JVM.
    """
    unread = (0, 1, SMALL_BATCH - 1, SMALL_BATCH, 2 * MOST, 2 * MOST + 1)
    plans = [plan({0: 10 + each // 2, 1: 10 + each - each // 2}) for each in unread]
    assert [first and len(first.tasks) for first in plans] == [None, 1, 1, 2, 2, None]
