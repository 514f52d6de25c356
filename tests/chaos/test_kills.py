"""Every value equals the broker's after kills of driver, JVM, Python daemon and Python worker in every phase."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.chaos.kills import PHASES, ROLES, Kill, kill
from tests.chaos.traffic import continuous_traffic, make_backlog_topic
from tests.chaos.truth import compare, tool_differences
from tests.conftest import MakeBroker
from tests.support.monitor import Monitor
from tests.support.processes import patience

pytestmark = [pytest.mark.chaos, pytest.mark.kafka, pytest.mark.spark]

SEED: Final = 11


def short_plan(chance: random.Random) -> list[Kill]:
    """Return four kills: each role once and each phase once, paired at random."""
    phases = chance.sample(PHASES, len(PHASES))
    return [Kill(role, phase) for role, phase in zip(ROLES, phases, strict=True)]


def long_plan(chance: random.Random) -> list[Kill]:
    """Return more than a hundred kills: each role in each phase, seven times, in random order."""
    every = [Kill(role, phase) for role in ROLES for phase in PHASES] * 7
    return chance.sample(every, len(every))


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(short_plan, marks=pytest.mark.timeout(patience(600)), id="short"),
        pytest.param(long_plan, marks=[pytest.mark.long, pytest.mark.timeout(patience(7200))], id="long"),
    ],
)
def test_every_value_equals_the_brokers_after_each_kill(
    make_broker: MakeBroker, tmp_path: Path, report: Callable[[str], None], plan: Callable[[random.Random], list[Kill]]
) -> None:
    """Offsets, lags, groups, states and members equal the broker's under continuous traffic."""
    bootstrap = make_broker().bootstrap
    make_backlog_topic(bootstrap)
    chance = random.Random(SEED)  # noqa: S311 - a choice that can be repeated, no secret
    compared = 0
    with continuous_traffic(bootstrap, SEED) as traffic, Monitor(bootstrap, tmp_path) as monitor:
        traffic.wait_until_settled()
        monitor.wait_ready().wait_batch()
        for number, what in enumerate(plan(chance), 1):
            began = time.monotonic()
            outcome = kill(monitor, what, chance)
            if not monitor.running:
                monitor.start().wait_ready().wait_batch()
            traffic.pause()
            values = compare(monitor, bootstrap)
            compared += values
            assert monitor.metrics().value("lagwarden_resyncs_total") == 0, f"{what} cost the state"
            seconds = time.monotonic() - began
            report(f"kill {number:2}  {what}  {outcome}  {values} values equal to the broker's  {seconds:.0f} s")
            traffic.resume()
        traffic.pause()
        monitor.wait_ticks(2)
        assert tool_differences(monitor, bootstrap) == []
    report(f"kills: {number}, values compared: {compared}, wrong: 0")
