"""The first read of a long topic."""

import dataclasses
import os
import signal
from pathlib import Path
from typing import Final

import pytest

from bench.topic import broker_with
from bench.traffic import Traffic
from bench.verify import final_state
from sandbox.kafka.broker import Broker
from stream.checkpoint.directory import last_offsets
from stream.checkpoint.manifest import FORMAT
from stream.errors import ExitCode
from tests.support.in_process_job import InProcessJob, Jvm
from tests.support.monitor import Monitor
from tests.support.processes import patience, wait_until
from tests.support.scrape import Metrics, Place

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(500))]

TRAFFIC: Final = Traffic(
    records=300_000, groups=300, partitions_per_group=4, topics=3, offsets_partitions=4, log_end=100
)
LONG_TRAFFIC: Final = dataclasses.replace(TRAFFIC, records=1_000_000)
SMALL_BATCHES: Final = {"job.max_offsets_per_trigger": "15000"}
"""Twenty batches, one per second at most: long enough to observe."""
_READER: Final = "stream.service.first_read.worker"


def truth(traffic: Traffic) -> dict[Place, int]:
    wanted = final_state(traffic)
    found = {}
    for key in wanted.alive.nonzero()[0].tolist():
        group, partition = divmod(key, traffic.partitions_per_group)
        found[traffic.group(group), traffic.topic(group), partition] = int(wanted.offset[key])
    return found


def midway(shown: Metrics) -> bool:
    """Return whether the catch-up is in progress with ratio, rate and remaining time."""
    ratio = shown.value("lagwarden_catch_up_ratio") or 0.0
    others = [shown.value(f"lagwarden_catch_up_{name}") or 0.0 for name in ("records_per_second", "remaining_seconds")]
    return 0.2 < ratio < 0.8 and all(others)


def test_catch_up_shows_progress_and_continues_after_a_stop(jvm: Jvm, tmp_path: Path) -> None:
    """Metrics and log lines have the progress. A stop gives code 0, and the next run reads only the rest."""
    with broker_with(TRAFFIC) as broker, InProcessJob(broker.bootstrap, tmp_path, jvm, SMALL_BATCHES) as monitor:
        monitor.wait_for(lambda: midway(monitor.metrics()), "the middle of the catch-up")
        shown = monitor.metrics()
        assert shown.value("lagwarden_phase_info", phase="catching up") == 1
        assert shown.groups == set(), "incomplete groups were shown"
        assert shown.offsets_partitions("distance") == {}
        assert monitor.get("/readyz").status == 503
        assert "not read to their ends yet" in monitor.reasons()

        monitor.wait_for(
            lambda: any(line["percent"] for line in monitor.events("catch-up running")), "a line of it", 30
        )

        ending = monitor.stop()
        assert ending.code == ExitCode.OK
        assert ending.seconds < 30
        lines = monitor.events("catch-up running")
        assert [line["percent"] for line in lines] == sorted(line["percent"] for line in lines)
        assert any(0 < line["percent"] < 100 and "offsets/s" in line["pace"] for line in lines), lines

        read = sum(last_offsets(monitor.checkpoint / f"v{FORMAT}" / "spark").positions.values())
        assert 0 < read < TRAFFIC.records
        monitor.start().wait_ready()
        shown = monitor.metrics()
        assert shown.records_read == TRAFFIC.records - read
        assert shown.committed == truth(TRAFFIC)
        assert shown.value("lagwarden_catch_up_ratio") == 1
        assert set(shown.offsets_partitions("distance").values()) == {0}


def readers(monitor: Monitor) -> list[int]:
    """Return the process ids of the first read."""
    return [process.pid for process in monitor.processes if _READER in process.command]


def hold_readers(monitor: Monitor, broker: Broker) -> list[int]:
    """Return the ids of the processes that read. They cannot end: the broker is paused when they have begun."""
    monitor.wait_for(lambda: bool(forked(monitor)), "processes that read")
    broker.pause()
    return forked(monitor)


def forked(monitor: Monitor) -> list[int]:
    """Return the ids of the processes of the first read without the process that forks them."""
    every = readers(monitor)
    return [process.pid for process in monitor.processes if process.pid in every and process.parent in every]


def kept(monitor: Monitor) -> dict[int, int]:
    """Return the positions of the checkpoint; empty if no batch has ended."""
    return dict(last_offsets(monitor.checkpoint / f"v{FORMAT}" / "spark").positions)


@pytest.mark.long
def test_a_first_read_that_is_killed_at_any_moment_changes_no_answer(tmp_path: Path) -> None:
    """The read is killed before and after its answer is shown. What was read completely is not read again.

    That holds after a kill and after a stop, also if Spark has not ended its first batch.
    """
    with broker_with(LONG_TRAFFIC) as broker, Monitor(broker.bootstrap, tmp_path) as monitor:
        wanted = truth(LONG_TRAFFIC)
        hold_readers(monitor, broker)
        os.kill(monitor.pid, signal.SIGKILL)
        wait_until(lambda: not readers(monitor), "the processes that read to end", limit=60)
        broker.resume()
        assert kept(monitor) == {}
        monitor.kill()

        monitor.start().wait_ready()
        shown = monitor.metrics()
        assert shown.committed == wanted
        assert shown.records_read == LONG_TRAFFIC.records
        # This is some seconds before the end of Spark's first batch, unless this process was not scheduled for so long.
        monitor.kill()

        monitor.start().wait_ready()
        shown = monitor.metrics()
        assert (shown.committed, shown.records_read) == (wanted, 0)
        assert monitor.stop().code == ExitCode.OK

        monitor.start().wait_ready()
        shown = monitor.metrics()
        assert (shown.committed, shown.records_read) == (wanted, 0)
        monitor.wait_for(lambda: bool(kept(monitor)), "the first batch to end")
        ending = monitor.stop()
        assert (ending.code, ending.left_behind) == (ExitCode.OK, ())
        assert sum(kept(monitor).values()) >= LONG_TRAFFIC.records

        monitor.start().wait_ready()
        shown = monitor.metrics()
        assert (shown.committed, shown.records_read) == (wanted, 0)


@pytest.mark.long
def test_a_first_read_that_fails_leaves_the_topic_to_the_query(tmp_path: Path) -> None:
    """If a reading process is killed, the log has one line with the signal, and the query reads all records."""
    with broker_with(LONG_TRAFFIC) as broker, Monitor(broker.bootstrap, tmp_path) as monitor:
        os.kill(hold_readers(monitor, broker)[0], signal.SIGKILL)
        broker.resume()
        monitor.wait_ready()
        shown = monitor.metrics()
        assert (shown.committed, shown.records_read) == (truth(LONG_TRAFFIC), LONG_TRAFFIC.records)
        (line,) = monitor.events("topic not read before the JVM starts; the query reads it")
        assert line["cause"] == "a process was ended by signal 9"
