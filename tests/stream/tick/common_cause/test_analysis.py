"""The analysis of common causes from tick to tick, with a broker that fails."""

from __future__ import annotations

import dataclasses

from stream.tick.common_cause.analysis import CommonCauseAnalysis, CommonCauseReport
from stream.tick.context import UNKNOWN_CLUSTER
from tests.stream.health.panes import NOW, SECOND, Row
from tests.stream.tick.common_cause.evaluated_ticks import TickGroup, evaluated_tick_of

OTHERS = {f"other-{number}": TickGroup(f"u{number}", 1) for number in range(4)}
LED = {f"led-{number}": TickGroup(f"t{number}", 3) for number in range(4)}
LOST = {
    name: dataclasses.replace(group, leader=None, verdict="no_leader", row=Row(known_ago=30 * SECOND))
    for name, group in LED.items()
}
ALL = frozenset({1, 2, 3})


class Ticks:
    """An analysis, and ticks for it that are ten seconds apart and end at `NOW`."""

    def __init__(self) -> None:
        self._analysis = CommonCauseAnalysis()
        self._now = NOW / 1000 - 60

    def tick(self, groups: dict[str, TickGroup], brokers: frozenset[int] = ALL) -> CommonCauseReport:
        """Return the report of a tick."""
        self._now += 10
        evaluated = evaluated_tick_of(groups)
        context = dataclasses.replace(UNKNOWN_CLUSTER, brokers=brokers)
        return self._analysis.update(evaluated, evaluated.inputs.ends, context, self._now)


def test_a_broker_that_dies_is_one_finding_until_its_groups_recover() -> None:
    """The finding names the broker that led the partitions, which have no leader now."""
    ticks = Ticks()
    assert ticks.tick(LED | OTHERS).findings == ()
    assert ticks.tick(LOST | OTHERS, ALL - {3}).findings == ()
    report = ticks.tick(LOST | OTHERS, ALL - {3})
    (finding,) = report.findings
    assert (str(finding.dimension), finding.name, finding.groups) == ("leader", "3", LOST.keys())
    assert report.absences.keys() == {3}
    ticks.tick(LED | OTHERS)
    assert ticks.tick(LED | OTHERS).findings == ()


def test_healthy_groups_have_no_finding() -> None:
    """Healthy groups have no finding, and two unhealthy groups have none either."""
    ticks = Ticks()
    two = dict(list(LOST.items())[:2])
    for _ in range(3):
        assert ticks.tick(LED | OTHERS).findings == ()
    for _ in range(3):
        assert ticks.tick(LED | OTHERS | two).findings == ()
