"""A broker that is stopped, killed or paused: no false alarm, no wrong value, and readiness names the cause."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Final

import pytest

from sandbox.demo.groups import DEMO_GROUPS, Behaviour
from sandbox.demo.workload import Workload
from tests.chaos.outages import OUTAGES, Outage, VerdictWatch, killed, paused, stopped
from tests.chaos.traffic import make_backlog, make_backlog_topic
from tests.chaos.truth import compare, shown_values
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable
    from pathlib import Path

    from sandbox.kafka.broker import Broker
    from tests.conftest import MakeBroker

pytestmark = [pytest.mark.chaos, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]

SEED: Final = 12
LIMITS: Final = {"job.freshness_limit": "6s", "kafka.request_timeout": "3s"}
HEALTHY: Final = (Behaviour.STEADY, Behaviour.TRANSACTIONAL, Behaviour.UNMANAGED)
"""Behaviours of groups that must never have a critical verdict. A static member that restarts during an outage may be
fenced permanently, so that group is not included."""
WELL: Final = {"fine", "notice"}
"""Severities without a fault. A tick lasts a second here, so a client without CPU for two seconds while the monitor
starts correctly has the verdict `stopped`. An outage begins after this verdict has ended."""


def healthy_traffic(bootstrap: str) -> Workload:
    """Return traffic of groups that keep up while a broker runs; not started."""
    return Workload(bootstrap, rows=[row for row in DEMO_GROUPS if row.behaviour in HEALTHY])


def all_are_well(monitor: Monitor) -> bool:
    """Return whether the API has groups, and none of them has a fault."""
    rows = monitor.get("/api/v1/groups").json["groups"]
    return bool(rows) and all(row["severity"] in WELL for row in rows)


def assert_unready_with_old_numbers(monitor: Monitor) -> None:
    """Assert the state during an outage that lasts longer than the freshness limit."""
    before = shown_values(monitor)
    monitor.wait_for(lambda: monitor.metrics().value("lagwarden_kafka_reachable") == 0, "the outage to be seen")
    monitor.wait_for(lambda: monitor.get("/readyz").status == 503, "readiness to end with freshness")
    assert "old (limit 6 s)" in monitor.reasons()
    assert monitor.bootstrap in monitor.reasons()
    assert monitor.get("/livez").status == 200
    assert shown_values(monitor).differences(before) == []


@pytest.mark.parametrize(
    "outages",
    [pytest.param([OUTAGES[1], OUTAGES[2]], id="short"), pytest.param(OUTAGES * 3, id="long", marks=pytest.mark.long)],
)
def test_values_are_correct_after_each_outage(
    make_broker: MakeBroker, tmp_path: Path, report: Callable[[str], None], outages: list[Outage]
) -> None:
    """Readiness has the reason during each outage under traffic. Afterwards all values equal the broker's."""
    broker: Broker = make_broker()
    with healthy_traffic(broker.bootstrap) as traffic, Monitor(broker.bootstrap, tmp_path, LIMITS) as monitor:
        traffic.wait_until_settled()
        monitor.wait_ready()
        for name, outage in outages:
            monitor.wait_for(lambda: all_are_well(monitor), "a good verdict on each group")
            with VerdictWatch(monitor) as watch:
                with outage(broker):
                    assert_unready_with_old_numbers(monitor)
                monitor.wait_ready().wait_ticks(5)
                traffic.pause()
                values = compare(monitor, broker.bootstrap)
            watch.assert_no_critical_verdict()
            traffic.resume()
            report(f"broker {name:7} while running: {values} values equal to the broker's, no critical verdict")
        assert monitor.stop().code == 0


@pytest.mark.parametrize(
    "outage",
    [
        pytest.param(killed, id="killed"),
        pytest.param(stopped, id="stopped", marks=pytest.mark.long),
        pytest.param(paused, id="paused", marks=pytest.mark.long),
    ],
)
def test_outage_during_the_catch_up(
    make_broker: MakeBroker,
    tmp_path: Path,
    report: Callable[[str], None],
    outage: Callable[[Broker], contextlib.AbstractContextManager[Broker]],
) -> None:
    """No group is shown before the catch-up is complete, and readiness has the reason. Then all values are correct."""
    broker: Broker = make_broker()
    make_backlog_topic(broker.bootstrap)
    make_backlog(broker.bootstrap)
    settings = {**LIMITS, "job.max_offsets_per_trigger": "1000"}
    with Monitor(broker.bootstrap, tmp_path, settings) as monitor, VerdictWatch(monitor) as watch:
        monitor.wait_for(lambda: monitor.readiness().get("phase") == "catching up", "the catch-up to begin")
        with outage(broker):
            until = time.monotonic() + 10
            while time.monotonic() < until:
                readiness = monitor.readiness()
                assert not readiness["ready"]
                assert any("not read to their ends" in reason for reason in readiness["reasons"]), readiness
                assert monitor.get("/api/v1/groups").status == 503
                assert monitor.metrics().committed == {}
                time.sleep(0.5)
        monitor.wait_ready()
        values = compare(monitor, broker.bootstrap)
        watch.assert_no_critical_verdict()
        assert monitor.metrics().value("lagwarden_resyncs_total") == 0
    report(f"broker {outage.__name__:7} during the catch-up: {values} values equal to the broker's")


@pytest.mark.parametrize("pauses", [pytest.param(40, marks=[pytest.mark.long, pytest.mark.timeout(1200)])])
def test_values_are_correct_after_short_pauses(
    make_broker: MakeBroker, tmp_path: Path, report: Callable[[str], None], pauses: int
) -> None:
    """All values equal the broker's after pauses around the request timeout, which begin at any moment of a tick."""
    broker: Broker = make_broker()
    chance = random.Random(SEED)  # noqa: S311 - a choice that can be repeated, no secret
    settings = {**LIMITS, "job.tick_interval": "200ms", "kafka.request_timeout": "1s"}
    with healthy_traffic(broker.bootstrap) as traffic, Monitor(broker.bootstrap, tmp_path, settings) as monitor:
        traffic.wait_until_settled()
        monitor.wait_ready().wait_for(lambda: all_are_well(monitor), "a good verdict on each group")
        with VerdictWatch(monitor) as watch:
            for _ in range(pauses):
                time.sleep(chance.uniform(0.5, 1.5))
                with paused(broker):
                    time.sleep(chance.uniform(0.2, 2.5))
                monitor.wait_ticks(1)
            traffic.pause()
            values = compare(monitor, broker.bootstrap)
        watch.assert_no_critical_verdict()
    report(f"broker paused {pauses} times for 0.2 to 2.5 s: {values} values equal to the broker's, no critical verdict")
