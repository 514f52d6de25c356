"""Power cuts and clean stops: nothing is lost, and nothing is read twice."""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING, Any, Final

import pytest

from sandbox.kafka import tools
from sandbox.waiting import eventually, wait_until
from tests.integration.traffic import commit, consumer, make_topic, offsets_ends, places, tool_says
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MakeBroker
    from tests.support.scrape import Metrics

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]

GROUPS: Final = tuple(f"group-{number}" for number in range(20))


SURVIVES: Final = ("verdict", "severity", "verdict_since", "verdicts")
"""What a restart must not change of a group that goes on as it did; its sentence counts seconds."""


def stop_reading(bootstrap: str, group: str) -> None:
    """Commit a few times a second apart, short of the end, and never again: a cadence, and then silence."""
    with consumer(bootstrap, group) as client:
        for offset in range(5):
            eventually(lambda offset=offset: client.commit(offsets=places("t", {0: offset}), asynchronous=False))
            time.sleep(1)


def judged(monitor: Monitor, group: str) -> dict[str, Any]:
    """Give what the API tells of a group; without a verdict as long as it does not know it."""
    answer = monitor.get(f"/api/v1/groups/{group}")
    told: dict[str, Any] = answer.json
    return told if answer.status == 200 else {"verdict": None}


def assert_agrees(shown: Metrics, bootstrap: str) -> None:
    """Compare all that is shown with the official tool."""
    committed, lags = tool_says(bootstrap)
    assert committed
    assert shown.committed == committed
    assert shown.lags == lags


def test_what_happened_while_it_was_away_is_there_when_it_is_ready_again(
    make_broker: MakeBroker, tmp_path: Path
) -> None:
    """After kill -9, and after a clean stop, readiness means agreement; what was read before is not read again."""
    bootstrap = make_broker().bootstrap
    make_topic(bootstrap, "t", 3, records=50)
    for number, group in enumerate(GROUPS):
        commit(bootstrap, group, "t", {0: number, 1: number + 1, 2: number + 2})

    with Monitor(bootstrap, tmp_path) as monitor:
        shown = monitor.wait_ready().metrics()
        assert_agrees(shown, bootstrap)
        assert shown.records_read == 3 * len(GROUPS)

        monitor.kill()
        commit(bootstrap, GROUPS[0], "t", {0: 40, 1: 2})
        commit(bootstrap, "newcomer", "t", {1: 3})
        tools.delete_group(bootstrap, GROUPS[1])
        monitor.start()
        assert_agrees(monitor.wait_ready().metrics(), bootstrap)

        stop_reading(bootstrap, "sleeper")
        monitor.wait_for(lambda: judged(monitor, "sleeper")["verdict"] == "stopped", "the verdict of sleeper", 60)
        before = judged(monitor, "sleeper")

        ending = monitor.stop()
        assert (ending.code, ending.left_behind) == (0, ())
        assert ending.seconds < 30
        commit(bootstrap, GROUPS[2], "t", {0: 5, 1: 6})
        tools.delete_offsets(bootstrap, GROUPS[3], "t", 2)
        monitor.start()
        shown = monitor.wait_ready().metrics()
        assert_agrees(shown, bootstrap)
        # Two commits and one tombstone.
        assert shown.records_read == 3
        assert shown.value("lagwarden_resyncs_total") == 0
        for _ in range(5):
            monitor.wait_ticks(1)
            after = judged(monitor, "sleeper")
            assert [after[name] for name in SURVIVES] == [before[name] for name in SURVIVES]


def test_power_cuts_in_the_middle_of_batches_lose_nothing(make_broker: MakeBroker, tmp_path: Path) -> None:
    """Killed while a batch runs and commits come in, in its first batch and in a later one, it agrees in the end."""
    bootstrap = make_broker().bootstrap
    make_topic(bootstrap, "t", 3, records=50)
    for group in GROUPS:
        commit(bootstrap, group, "t", {0: 1}, times=20)
    with Monitor(bootstrap, tmp_path) as monitor:
        stopping = threading.Event()
        writer = threading.Thread(target=_commit_on, args=(bootstrap, stopping))
        writer.start()
        try:
            wait_until(lambda: _in_a_batch(monitor.checkpoint), "the first batch", limit=120, pause=0.01)
            monitor.kill()
            assert _in_a_batch(monitor.checkpoint), "the batch was over before the kill came"

            monitor.start().wait_ready()
            wait_until(lambda: _in_a_batch(monitor.checkpoint), "a later batch", limit=60, pause=0.01)
            monitor.kill()
            monitor.start().wait_ready()
        finally:
            stopping.set()
            writer.join(30)
        shown = monitor.wait_read(offsets_ends(bootstrap))
        assert_agrees(shown, bootstrap)
        assert len(shown.committed) >= 2 * len(GROUPS)


def _commit_on(bootstrap: str, stopping: threading.Event) -> None:
    """Commit for one group after the other, forwards and backwards, until told to stop."""
    for turn in itertools.count():
        for number, group in enumerate(GROUPS):
            with consumer(bootstrap, group) as client:
                for step in range(5):
                    offset = (7 * turn + number + step) % 50
                    client.commit(offsets=places("t", {0: offset, 1 + step % 2: offset}), asynchronous=False)
            if stopping.is_set():
                return


def _in_a_batch(checkpoint: Path) -> bool:
    """Tell whether a batch runs: Spark notes what it will read before a batch, and that it ended after it."""
    spark = checkpoint / "v1" / "spark"
    planned, ended = (_last(spark / folder) for folder in ("offsets", "commits"))
    return planned > ended


def _last(folder: Path) -> int:
    return max((int(entry.name) for entry in folder.glob("[0-9]*") if entry.name.isdigit()), default=-1)
