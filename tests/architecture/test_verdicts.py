"""All parts that belong to a verdict: a verdict without one of them fails here with the name of the part."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Final

import pytest

from exporters.page.links import alert_of_verdict
from sandbox.verdict_scenarios.everything import SCENARIOS
from stream.health.share.rules import SHARE_RULES, ShareVerdict
from stream.health.verdict import SEVERITY, Severity, Verdict
from tests.chart.alerts.case import Case, Kind, alerts
from tests.chart.alerts.cases import CASES
from tests.chart.promql import asked, selects
from tests.integration.verdicts.test_share_verdicts import SICK
from tests.stream.health import situations
from tests.stream.health.share.test_rules import STORIES as SHARE_STORIES

ROOT: Final = Path(__file__).resolve().parents[2]
V: Final = Verdict
FAULTS: Final = [verdict for verdict in Verdict if SEVERITY[verdict] >= Severity.WARNING]
ALERTS: Final = alerts()
NOTICES: Final = [verdict for verdict in Verdict if SEVERITY[verdict] == Severity.NOTICE]

LOOK_ALIKES: Final[dict[Verdict, tuple[str, ...]]] = {
    V.LOSING_DATA: ("a group that keeps its distance from the log start",),
    V.TRUNCATED: ("an end that is reported too low for a moment", "broker-restart"),
    V.NO_LEADER: ("leader-election", "a leader election"),
    V.ABORTING: ("some-aborts", "a group that aborts some of its transactions"),
    V.STOPPED: ("slow-committer", "irregular-committer", "quiet", "marker", "batch-stays"),
    V.STALLED: ("checkpointed", "a young group that moves seldom and commits often"),
    V.POISON_RECORD: ("rolling-restart", "a rolling restart of static members"),
    V.HELD_BACK: ("checkpointed", "transactional"),
    V.REBALANCING_TOO_LONG: ("a broker restart, and a rebalance after it",),
    V.REBALANCE_STORM: ("autoscaling", "newer-protocol", "a batch that comes and goes all the time"),
    V.NO_MEMBERS: ("batch-leaves", "deploy", "read-and-gone"),
    V.UNASSIGNED: ("grown", "a partition without owner until the members look for it"),
    V.NEVER_COMMITTED: ("grown", "a partition count that grew"),
    V.EXPIRING: ("read-and-gone",),
    V.FORGOTTEN: ("deleted-offsets",),
    V.TWO_COMMITTERS: ("planned-reset", "a planned reset that catches up"),
    V.SKIPPED: ("reset-forward", "compacted", "a compacted topic"),
    V.REWOUND: ("planned-reset", "a planned reset that catches up"),
    V.FALLING_BEHIND: ("spike", "bursty", "a spike that is worked off"),
    V.SKEWED: ("a hot partition whose member keeps up",),
    V.TWO_APPLICATIONS: ("subscription-deploy", "a rolling deploy to another subscription"),
}
"""Healthy groups that look like sick ones: of the play by name, of the simulation by story."""
ELSEWHERE: Final[dict[Verdict, str]] = {
    V.RESET: "planned-reset",
    V.RECOVERING: "recovering",
}
"""Notices that groups of the play have, which are healthy and are not expected to have any verdict."""
TOO_SLOW_FOR_THE_PLAY: Final = {V.HABIT_UNKNOWN}
"""The limits of this verdict are tens of minutes and do not scale with the tick; `test_calm.py` simulates hours."""

LONG_LOCKS: Final = {ShareVerdict.SHARE_REDELIVERING}
"""With real members this verdict needs locks of more than a minute; with shorter ones `share_rejecting` comes first."""
SHARE_SEVERITY: Final = {rule.verdict: rule.severity for rule in SHARE_RULES}


@functools.cache
def alert_of(verdict: Verdict | ShareVerdict) -> str:
    """Return the alert of a verdict; the test of the rules shows that there is one."""
    severity = SHARE_SEVERITY[verdict] if isinstance(verdict, ShareVerdict) else SEVERITY[verdict]
    labels = {"verdict": str(verdict), "severity": severity.name.lower()}
    (found,) = (
        name
        for name, alert in ALERTS.items()
        for each in asked(alert["expr"])
        if each.metric == "lagwarden:group_verdict:owned" and selects(each, labels)
    )
    return found


@pytest.mark.parametrize("verdict", Verdict)
def test_pages_link_to_the_runbook_of_the_alert(verdict: Verdict) -> None:
    """The page of a group names the alert that the rules have for a fault. Other verdicts have no alert."""
    named = alert_of_verdict(str(verdict), SEVERITY[verdict].name.lower())
    assert named == (alert_of(verdict) if verdict in FAULTS else None)


@pytest.mark.parametrize("verdict", ShareVerdict)
def test_pages_link_to_the_runbook_of_a_share_groups_alert(verdict: ShareVerdict) -> None:
    """The page of a share group names the alert of its verdict in the rules."""
    assert alert_of_verdict(str(verdict), SHARE_SEVERITY[verdict].name.lower()) == alert_of(verdict)


@pytest.mark.parametrize("verdict", ShareVerdict)
def test_a_share_group_has_the_verdict(verdict: ShareVerdict) -> None:
    """A story of the rules has the verdict, and real members have it unless it needs long locks."""
    assert verdict in {expected for *_, expected in SHARE_STORIES}
    assert (verdict in SICK.values()) == (verdict not in LONG_LOCKS)


def stories_of(verdict: Verdict | ShareVerdict, kind: Kind) -> list[Case]:
    """Return the stories of this kind of the verdict's alert in which a group or a partition has the verdict."""
    alert, series = alert_of(verdict), f'verdict="{verdict}"'
    return [
        case
        for case in CASES
        if case.alert == alert and case.kind is kind and any(series in each for each in case.series)
    ]


@pytest.mark.parametrize("verdict", [*FAULTS, *ShareVerdict])
def test_each_fault_has_stories_just_before_and_just_after_its_alert_fires(verdict: Verdict | ShareVerdict) -> None:
    """The alert of a fault fires in no story just before and in one just after, and has a healthy look-alike."""
    before, after = stories_of(verdict, Kind.BEFORE), stories_of(verdict, Kind.AFTER)
    assert before
    assert not any(case.fires for case in before)
    assert any(case.fires for case in after)
    assert any(case.kind is Kind.ODD for case in CASES if case.alert == alert_of(verdict))


@pytest.mark.parametrize("verdict", [*FAULTS, *ShareVerdict])
def test_the_runbook_of_a_fault_names_it(verdict: Verdict | ShareVerdict) -> None:
    """The section about the meaning has the name that `lagwarden explain` prints."""
    text = (ROOT / "docs" / "runbooks" / f"{alert_of(verdict)}.md").read_text()
    meaning = text.partition("## Meaning")[2].partition("\n## ")[0]
    words = " ".join(meaning.split()).lower()
    assert re.search(rf"\*{verdict.replace('_', ' ')}\*", words)


@pytest.mark.parametrize("verdict", [*FAULTS, *NOTICES])
def test_a_group_of_the_play_has_the_verdict(verdict: Verdict) -> None:
    """A scenario of the play expects the verdict, unless its limits are too long for the play."""
    expected = {each for scenario in SCENARIOS for step in scenario.expected for each in step.verdicts}
    names = {scenario.name for scenario in SCENARIOS}
    known = verdict in expected or ELSEWHERE.get(verdict) in names
    assert known == (verdict not in TOO_SLOW_FOR_THE_PLAY)


@pytest.mark.parametrize("verdict", [*FAULTS, *NOTICES])
def test_a_simulated_group_has_the_verdict(verdict: Verdict) -> None:
    """The simulation has a group that is expected to have the verdict."""
    simulated = {each.wanted for each in (*situations.SICK, *situations.NOTICED)}
    assert verdict in simulated


@pytest.mark.parametrize("verdict", FAULTS)
def test_a_fault_has_healthy_look_alikes(verdict: Verdict) -> None:
    """Each fault has look-alikes, and each of them is a healthy group of the play or the simulation."""
    healthy = {each.name for each in SCENARIOS if each.kind == "healthy"}
    healthy |= {each.story for each in situations.HEALTHY}
    assert LOOK_ALIKES[verdict]
    assert set(LOOK_ALIKES[verdict]) <= healthy
