"""No record is lost and none is read twice after power cuts and clean stops."""

import itertools
import threading
from pathlib import Path
from typing import Any, Final

import pytest

from sandbox.kafka import tools
from stream.checkpoint.manifest import FORMAT
from tests.conftest import MakeBroker
from tests.integration.traffic import (
    commit,
    consumer,
    make_topic,
    offsets_ends,
    places,
    stop_reading,
    tool_offsets_and_lags,
)
from tests.support.monitor import Monitor
from tests.support.processes import patience, wait_until
from tests.support.scrape import Metrics

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(600))]

GROUPS: Final = tuple(f"group-{number}" for number in range(20))


SURVIVES: Final = ("verdict", "severity", "verdict_since", "verdicts")
"""Fields that a restart must not change for a group in the same condition; the sentence counts seconds."""


def group_answer(monitor: Monitor, group: str) -> dict[str, Any]:
    """Return the answer of the API for a group; the verdict is None while the group is unknown."""
    answer = monitor.get(f"/api/v1/groups/{group}")
    row: dict[str, Any] = answer.json
    return row if answer.status == 200 else {"verdict": None}


def assert_agrees(shown: Metrics, bootstrap: str) -> None:
    """Assert that committed offsets and lags equal those of the official tool."""
    committed, lags = tool_offsets_and_lags(bootstrap)
    assert committed
    assert shown.committed == committed
    assert shown.lags == lags


def test_commits_during_downtime_are_shown_once_ready(
    make_broker: MakeBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ready monitor agrees with Kafka after kill -9 and after a clean stop, and reads no record twice.

    The next process removes the temporary files of a killed one. A stopped process removes its own.
    """
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    bootstrap = make_broker().bootstrap
    make_topic(bootstrap, "t", 3, records=50)
    for number, group in enumerate(GROUPS):
        commit(bootstrap, group, "t", {0: number, 1: number + 1, 2: number + 2})

    with Monitor(bootstrap, tmp_path) as monitor:
        shown = monitor.wait_ready().metrics()
        assert_agrees(shown, bootstrap)
        assert shown.records_read == 3 * len(GROUPS)

        monitor.wait_batch()
        (used,) = temporary.glob("lagwarden-*")
        assert list(used.glob("spark-*"))
        monitor.kill()
        assert list(temporary.glob("lagwarden-*")) == [used]
        commit(bootstrap, GROUPS[0], "t", {0: 40, 1: 2})
        commit(bootstrap, "newcomer", "t", {1: 3})
        tools.delete_group(bootstrap, GROUPS[1])
        monitor.start()
        assert_agrees(monitor.wait_ready().metrics(), bootstrap)
        assert used not in temporary.glob("lagwarden-*")

        stop_reading(bootstrap, "sleeper")
        monitor.wait_for(
            lambda: group_answer(monitor, "sleeper")["verdict"] == "stopped", "the verdict of sleeper", 120
        )
        before = group_answer(monitor, "sleeper")

        ending = monitor.stop()
        assert (ending.code, ending.left_behind) == (0, ())
        assert ending.seconds < 30
        assert list(temporary.glob("lagwarden-*")) == []
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
            after = group_answer(monitor, "sleeper")
            assert [after[name] for name in SURVIVES] == [before[name] for name in SURVIVES]


@pytest.mark.long
def test_kills_during_batches_lose_nothing(make_broker: MakeBroker, tmp_path: Path) -> None:
    """A monitor that is killed during its first and a later batch under traffic finally agrees with Kafka."""
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
            assert _in_a_batch(monitor.checkpoint), "the batch ended before the kill"

            monitor.start().wait_ready()
            wait_until(lambda: _in_a_batch(monitor.checkpoint), "a later batch", limit=60, pause=0.01)
            monitor.kill()
            monitor.start().wait_ready()
        finally:
            stopping.set()
            writer.join(patience(30))
        shown = monitor.wait_read(offsets_ends(bootstrap))
        assert_agrees(shown, bootstrap)
        assert len(shown.committed) >= 2 * len(GROUPS)


def _commit_on(bootstrap: str, stopping: threading.Event) -> None:
    """Commit for one group after the other, forwards and backwards, until `stopping` is set."""
    for turn in itertools.count():
        for number, group in enumerate(GROUPS):
            with consumer(bootstrap, group) as client:
                for step in range(5):
                    offset = (7 * turn + number + step) % 50
                    client.commit(offsets=places("t", {0: offset, 1 + step % 2: offset}), asynchronous=False)
            if stopping.is_set():
                return


def _in_a_batch(checkpoint: Path) -> bool:
    """Return whether a batch runs: Spark writes `offsets` before a batch and `commits` after it."""
    spark = checkpoint / f"v{FORMAT}" / "spark"
    planned, ended = (_last(spark / folder) for folder in ("offsets", "commits"))
    return planned > ended


def _last(folder: Path) -> int:
    return max((int(entry.name) for entry in folder.glob("[0-9]*") if entry.name.isdigit()), default=-1)
