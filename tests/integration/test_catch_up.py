"""The first read of a long topic: progress is shown, and a stopped catch-up continues from its position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from bench.oracle import final_state
from bench.topic import broker_with
from bench.traffic import Traffic
from stream.checkpoint.directory import positions
from stream.checkpoint.manifest import FORMAT
from stream.errors import ExitCode
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.scrape import Metrics, Place

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(500)]

TRAFFIC: Final = Traffic(
    records=300_000, groups=300, partitions_per_group=4, topics=3, offsets_partitions=4, log_end=100
)
SMALL_BATCHES: Final = {"job.max_offsets_per_trigger": "15000"}
"""Twenty batches, one per second at most: long enough to observe."""


def truth() -> dict[Place, int]:
    """Return the final committed offsets of the traffic."""
    wanted = final_state(TRAFFIC)
    found = {}
    for key in wanted.alive.nonzero()[0].tolist():
        group, partition = divmod(key, TRAFFIC.partitions_per_group)
        found[TRAFFIC.group(group), TRAFFIC.topic(group), partition] = int(wanted.offset[key])
    return found


def midway(shown: Metrics) -> bool:
    """Return whether the catch-up is in progress with ratio, rate and remaining time."""
    ratio = shown.value("lagwarden_catch_up_ratio") or 0.0
    others = [shown.value(f"lagwarden_catch_up_{name}") or 0.0 for name in ("records_per_second", "remaining_seconds")]
    return 0.2 < ratio < 0.8 and all(others)


def test_catch_up_shows_progress_and_continues_after_a_stop(tmp_path: Path) -> None:
    """Metrics and log lines have the progress. SIGTERM gives code 0, and the next run reads only the rest."""
    with broker_with(TRAFFIC) as broker, Monitor(broker.bootstrap, tmp_path, SMALL_BATCHES) as monitor:
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
        assert (ending.code, ending.left_behind) == (ExitCode.OK, ())
        assert ending.seconds < 30
        lines = monitor.events("catch-up running")
        assert [line["percent"] for line in lines] == sorted(line["percent"] for line in lines)
        assert any(0 < line["percent"] < 100 and "offsets/s" in line["pace"] for line in lines), lines

        read = sum(positions(monitor.checkpoint / f"v{FORMAT}" / "spark").values())
        assert 0 < read < TRAFFIC.records
        monitor.start().wait_ready()
        shown = monitor.metrics()
        assert shown.records_read == TRAFFIC.records - read
        assert shown.committed == truth()
        assert shown.value("lagwarden_catch_up_ratio") == 1
        assert set(shown.offsets_partitions("distance").values()) == {0}
