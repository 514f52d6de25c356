"""All parts that belong to a verdict: a verdict without one of them fails here with the name of the part."""

import functools
import re
from pathlib import Path
from typing import Final

from exporters.page.links import alert_of_verdict
from sandbox.verdict_scenarios.everything import SCENARIOS
from stream.health.verdict import SEVERITY, Severity, Verdict
from tests.chart.alerts.case import Case, Kind, alerts
from tests.chart.alerts.cases import CASES
from tests.chart.promql import asked, selects
from tests.integration.verdicts.test_share_verdicts import SICK
from tests.stream.health import situations
from tests.stream.health.share.polls import SHARE_VERDICTS
from tests.stream.health.share.test_rules import STORIES as SHARE_STORIES

ROOT: Final = Path(__file__).resolve().parents[2]
V: Final = Verdict
FAULTS: Final = [
    verdict for verdict in Verdict if SEVERITY[verdict] >= Severity.WARNING and verdict not in SHARE_VERDICTS
]
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
    V.TWO_COMMITTERS: ("planned-reset",),
    V.SKIPPED: ("reset-forward", "compacted", "a compacted topic"),
    V.REWOUND: ("planned-reset",),
    V.FALLING_BEHIND: ("spike", "bursty", "a spike that is worked off"),
    V.SKEWED: ("a hot partition whose member keeps up",),
    V.TWO_APPLICATIONS: ("subscription-deploy", "a rolling deploy to another subscription"),
}
"""Healthy groups that look like sick ones: of the play by name, of the simulation by story."""
ELSEWHERE: Final[dict[Verdict, str]] = {V.RESET: "planned-reset", V.RECOVERING: "recovering"}
"""Notices that groups of the play have, which are healthy and are not expected to have any verdict."""
TOO_SLOW_FOR_THE_PLAY: Final = {V.HABIT_UNKNOWN}
"""The limits of this verdict are tens of minutes and do not scale with the tick; `test_calm.py` simulates hours."""


@functools.cache
def alert_of(verdict: Verdict) -> str:
    """Return the alert of a verdict; the test of the rules shows that there is one."""
    labels = {"verdict": str(verdict), "severity": severity_of(verdict)}
    (found,) = (
        name
        for name, alert in ALERTS.items()
        for each in asked(alert["expr"])
        if each.metric == "lagwarden:group_verdict:owned" and selects(each, labels)
    )
    return found


def severity_of(verdict: Verdict) -> str:
    return SEVERITY[verdict].name.lower()


def test_pages_link_to_the_runbook_of_the_alert() -> None:
    """The page of a group or a share group names the alert that the rules have for a fault. Others have no alert."""
    alerting = {each: alert_of(each) for each in (*FAULTS, *SHARE_VERDICTS)}
    found = {each: alert_of_verdict(str(each), severity_of(each)) for each in Verdict}
    assert found == {each: alerting.get(each) for each in found}


def test_a_share_group_has_each_verdict() -> None:
    """A story of the rules has the verdict, and a group with real members has it."""
    assert {expected for *_, expected in SHARE_STORIES} >= set(SHARE_VERDICTS)
    assert set(SICK.values()) == set(SHARE_VERDICTS)


def stories_of(verdict: Verdict, kind: Kind) -> list[Case]:
    """Return the stories of this kind of the verdict's alert in which a group or a partition has the verdict."""
    alert, series = alert_of(verdict), f'verdict="{verdict}"'
    return [
        case
        for case in CASES
        if case.alert == alert and case.kind is kind and any(series in each for each in case.series)
    ]


def test_each_fault_has_stories_just_before_and_just_after_its_alert_fires() -> None:
    """The alert of a fault fires in no story just before and in one just after, and has a healthy look-alike."""
    odd = {case.alert for case in CASES if case.kind is Kind.ODD}
    wrong = []
    for verdict in (*FAULTS, *SHARE_VERDICTS):
        before = [case.fires for case in stories_of(verdict, Kind.BEFORE)]
        after = [case.fires for case in stories_of(verdict, Kind.AFTER)]
        if not before or any(before) or not any(after) or alert_of(verdict) not in odd:
            wrong.append(f"{verdict}: before {before}, after {after}")
    assert wrong == []


def test_the_runbook_of_a_fault_names_it() -> None:
    """The section about the meaning has the name that `lagwarden explain` prints."""
    wrong = []
    for verdict in (*FAULTS, *SHARE_VERDICTS):
        text = (ROOT / "exporters" / "page" / "runbooks" / f"{alert_of(verdict)}.md").read_text()
        meaning = text.partition("## Meaning")[2].partition("\n## ")[0]
        if not re.search(rf"\*{verdict.replace('_', ' ')}\*", " ".join(meaning.split()).lower()):
            wrong.append(f"{alert_of(verdict)}.md does not name {verdict}")
    assert wrong == []


def test_each_verdict_has_sick_groups_and_look_alikes() -> None:
    """Play and simulation have a group for each verdict, and healthy groups that look like those with a fault."""
    expected = {verdict for scenario in SCENARIOS for step in scenario.expected for verdict in step.verdicts}
    names = {scenario.name for scenario in SCENARIOS}
    expected |= {verdict for verdict, name in ELSEWHERE.items() if name in names}
    simulated = {each.wanted for each in (*situations.SICK, *situations.NOTICED)}
    assert {each for each in (*FAULTS, *NOTICES) if each not in expected} == TOO_SLOW_FOR_THE_PLAY
    assert {*FAULTS, *NOTICES} - simulated == set()
    healthy = {each.name for each in SCENARIOS if each.kind == "healthy"}
    healthy |= {each.story for each in situations.HEALTHY}
    assert [verdict for verdict in FAULTS if not LOOK_ALIKES.get(verdict)] == []
    assert {name for verdict in FAULTS for name in LOOK_ALIKES[verdict]} - healthy == set()
