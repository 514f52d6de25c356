"""A broker that is stopped, killed or paused: no false alarm, no wrong value, and readiness names the cause."""

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, Self

import pytest

from sandbox.demo.groups import DEMO_GROUPS, Behaviour
from sandbox.demo.workload import Workload
from sandbox.kafka.broker import Broker
from tests.chaos.traffic import make_backlog, make_backlog_topic
from tests.chaos.truth import compare, shown_values
from tests.conftest import MakeBroker
from tests.support.monitor import Monitor
from tests.support.processes import patience

pytestmark = [pytest.mark.chaos, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(600))]

SEED: Final = 12
LIMITS: Final = {"job.freshness_limit": "6s", "kafka.request_timeout": "3s"}
HEALTHY: Final = (Behaviour.STEADY, Behaviour.TRANSACTIONAL, Behaviour.UNMANAGED)
"""Behaviours of groups that must never have a critical verdict. A static member that restarts during an outage may be
fenced permanently, so that group is not included."""
WELL: Final = {"fine", "notice"}
"""Severities without a fault. A tick lasts a second here, so a client without CPU for two seconds while the monitor
starts correctly has the verdict `stopped`. An outage begins after this verdict has ended."""
_LOOK_SECONDS: Final = 0.3
Outage = Literal["stopped", "killed", "paused"]
OUTAGES: Final[dict[Outage, tuple[str, str]]] = {
    "stopped": ("stop", "start"),
    "killed": ("kill", "start"),
    # Connections stay open, and no request is answered (SIGSTOP).
    "paused": ("pause", "resume"),
}
"""The methods of a broker that begin and end an outage."""


@contextlib.contextmanager
def outage_of(broker: Broker, outage: Outage) -> Iterator[None]:
    """Stop, kill or pause the broker for the block."""
    begin, end = OUTAGES[outage]
    getattr(broker, begin)()
    try:
        yield
    finally:
        getattr(broker, end)()


class VerdictWatch:
    """Records every critical (group, verdict, sentence) of the API during a `with` block."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._verdicts: dict[str, str] = {}
        self.looks = 0
        self.critical: set[tuple[str, str, str]] = set()
        self.changes: list[str] = []
        """A line for each change of a group's verdict, the first verdict included, in order."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def assert_no_critical_verdict(self) -> None:
        """Fail with the changes of the verdicts if a group was critical, or if the API never answered."""
        assert self.looks > 0
        assert not self.critical, "\n".join([*map(str, sorted(self.critical)), "all changes:", *self.changes])

    def _watch(self) -> None:
        started = time.monotonic()
        while not self._over.wait(_LOOK_SECONDS):
            with contextlib.suppress(OSError):
                answer = self._monitor.get("/api/v1/groups")
                if answer.status == 200:
                    self.looks += 1
                    self._record(answer.json["groups"], time.monotonic() - started)

    def _record(self, rows: list[dict[str, Any]], seconds: float) -> None:
        for row in rows:
            group, verdict, sentence = row["group"], row["verdict"], row["sentence"]
            if row["severity"] == "critical":
                self.critical.add((group, verdict, sentence))
            if self._verdicts.get(group) != verdict:
                self._verdicts[group] = verdict
                self.changes.append(f"{seconds:6.1f} s: {group} is {verdict}: {sentence}")


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
    [pytest.param(["killed", "paused"], id="short"), pytest.param([*OUTAGES] * 3, id="long", marks=pytest.mark.long)],
)
def test_values_are_correct_after_each_outage(
    make_broker: MakeBroker, tmp_path: Path, report: Callable[[str], None], outages: list[Outage]
) -> None:
    """Readiness has the reason during each outage under traffic. Afterwards all values equal the broker's."""
    broker: Broker = make_broker()
    with healthy_traffic(broker.bootstrap) as traffic, Monitor(broker.bootstrap, tmp_path, LIMITS) as monitor:
        traffic.wait_until_settled()
        monitor.wait_ready()
        for outage in outages:
            monitor.wait_for(lambda: all_are_well(monitor), "a good verdict on each group")
            with VerdictWatch(monitor) as watch:
                with outage_of(broker, outage):
                    assert_unready_with_old_numbers(monitor)
                monitor.wait_ready().wait_ticks(5)
                traffic.pause()
                values = compare(monitor, broker.bootstrap)
            watch.assert_no_critical_verdict()
            traffic.resume()
            report(f"broker {outage:7} while running: {values} values equal to the broker's, no critical verdict")
        assert monitor.stop().code == 0


@pytest.mark.parametrize(
    "outage", ["killed", *(pytest.param(outage, marks=pytest.mark.long) for outage in ("stopped", "paused"))]
)
def test_outage_during_the_catch_up(
    make_broker: MakeBroker, tmp_path: Path, report: Callable[[str], None], outage: Outage
) -> None:
    """No group is shown before the catch-up is complete, and readiness has the reason. Then all values are correct."""
    broker: Broker = make_broker()
    make_backlog_topic(broker.bootstrap)
    make_backlog(broker.bootstrap)
    settings = {**LIMITS, "job.max_offsets_per_trigger": "1000"}
    with Monitor(broker.bootstrap, tmp_path, settings) as monitor, VerdictWatch(monitor) as watch:
        monitor.wait_for(lambda: monitor.readiness().get("phase") == "catching up", "the catch-up to begin")
        with outage_of(broker, outage):
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
    report(f"broker {outage:7} during the catch-up: {values} values equal to the broker's")


@pytest.mark.parametrize("pauses", [pytest.param(40, marks=[pytest.mark.long, pytest.mark.timeout(patience(1200))])])
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
                with outage_of(broker, "paused"):
                    time.sleep(chance.uniform(0.2, 2.5))
                monitor.wait_ticks(1)
            traffic.pause()
            values = compare(monitor, broker.bootstrap)
        watch.assert_no_critical_verdict()
    report(f"broker paused {pauses} times for 0.2 to 2.5 s: {values} values equal to the broker's, no critical verdict")
