"""A topic is read while the JVM starts: the answers are correct at once, and also after a kill at any moment."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Final

import pytest

from bench.oracle import final_state
from bench.topic import broker_with
from bench.traffic import Traffic
from sandbox.waiting import wait_until
from stream.checkpoint.directory import positions
from stream.checkpoint.manifest import FORMAT
from stream.errors import ExitCode
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.kafka.broker import Broker
    from tests.support.scrape import Place

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(500)]

TRAFFIC: Final = Traffic(
    records=1_000_000, groups=300, partitions_per_group=4, topics=3, offsets_partitions=4, log_end=100
)
_READER: Final = "stream.service.first_read.worker"


def truth() -> dict[Place, int]:
    """Return the final committed offsets of the traffic."""
    wanted = final_state(TRAFFIC)
    found = {}
    for key in wanted.alive.nonzero()[0].tolist():
        group, partition = divmod(key, TRAFFIC.partitions_per_group)
        found[TRAFFIC.group(group), TRAFFIC.topic(group), partition] = int(wanted.offset[key])
    return found


def readers(monitor: Monitor) -> list[int]:
    """Return the process ids of the first read."""
    return [process.pid for process in monitor.processes if _READER in process.command]


def hold_readers(monitor: Monitor, broker: Broker) -> list[int]:
    """Return the ids of the processes that read. They cannot end: the broker is paused while they begin."""
    monitor.wait_for(lambda: bool(readers(monitor)), "the process that forks those that read")
    broker.pause()
    monitor.wait_for(lambda: bool(forked(monitor)), "processes that read")
    return forked(monitor)


def forked(monitor: Monitor) -> list[int]:
    """Return the ids of the processes of the first read without the process that forks them."""
    every = readers(monitor)
    return [process.pid for process in monitor.processes if process.pid in every and process.parent in every]


def kept(monitor: Monitor) -> dict[int, int]:
    """Return the positions of the checkpoint; empty if no batch has ended."""
    return positions(monitor.checkpoint / f"v{FORMAT}" / "spark")


def test_a_first_read_that_is_killed_at_any_moment_changes_no_answer(tmp_path: Path) -> None:
    """The read is killed before and after its answer is shown. After a normal stop, no record is read again."""
    with broker_with(TRAFFIC) as broker, Monitor(broker.bootstrap, tmp_path) as monitor:
        wanted = truth()
        hold_readers(monitor, broker)
        os.kill(monitor.pid, signal.SIGKILL)
        wait_until(lambda: not readers(monitor), "the processes that read to end", limit=60)
        broker.resume()
        assert kept(monitor) == {}
        monitor.kill()

        monitor.start().wait_ready()
        shown = monitor.metrics()
        assert shown.committed == wanted
        assert shown.records_read == TRAFFIC.records
        # This is some seconds before the end of Spark's first batch, unless this process was not scheduled for so long.
        monitor.kill()

        monitor.start().wait_ready()
        assert monitor.metrics().committed == wanted
        monitor.wait_for(lambda: bool(kept(monitor)), "the first batch to end")
        ending = monitor.stop()
        assert (ending.code, ending.left_behind) == (ExitCode.OK, ())
        assert sum(kept(monitor).values()) >= TRAFFIC.records

        monitor.start().wait_ready()
        shown = monitor.metrics()
        assert (shown.committed, shown.records_read) == (wanted, 0)


def test_a_first_read_that_fails_leaves_the_topic_to_the_query(tmp_path: Path) -> None:
    """If a reading process is killed, the log has one line with the signal, and the query reads all records."""
    with broker_with(TRAFFIC) as broker, Monitor(broker.bootstrap, tmp_path) as monitor:
        os.kill(hold_readers(monitor, broker)[0], signal.SIGKILL)
        broker.resume()
        monitor.wait_ready()
        shown = monitor.metrics()
        assert (shown.committed, shown.records_read) == (truth(), TRAFFIC.records)
        (line,) = monitor.events("topic not read while the JVM started; the query reads it")
        assert line["cause"] == "a process was ended by signal 9"
