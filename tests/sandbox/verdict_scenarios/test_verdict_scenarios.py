"""The verdict scenarios are consistent, and a run is assessed as on the page about it."""

import dataclasses
from typing import Final

import pytest

from sandbox.clients.group_names import RESERVED_PARTITION
from sandbox.clients.traffic import ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.assess import ScenarioOutcome, assess, outcomes, unexplained_alarms, verdicts_of
from sandbox.verdict_scenarios.burrow import burrow_outcomes
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.group_runner import OFFSETS_PARTITIONS, scenario_group
from sandbox.verdict_scenarios.memberships import LostMemberships
from sandbox.verdict_scenarios.monitor import settings
from sandbox.verdict_scenarios.pace import RunPace
from sandbox.verdict_scenarios.record import GroupVerdict, RecordedCommit, RecordedEnds, RunRecord, VerdictSnapshot
from sandbox.verdict_scenarios.report import page, summary
from sandbox.verdict_scenarios.scenario import END, FINE, ExpectedVerdict, VerdictScenario
from stream.config.loader import load as load_config
from stream.groups.placement import partition_for
from stream.health.limits import HealthLimits
from stream.health.verdict import SEVERITY, Severity, Verdict
from stream.service.wiring import health_limits

BEGAN: Final = 1_000_000.0
FAULT: Final = 60.0
TOPICS: Final = {"in": ScenarioTopic()}
STOPS: Final = VerdictScenario("stops", "sick", "it stops", TOPICS, (), expected=(ExpectedVerdict(("stopped",), 3.0),))
TWICE: Final = dataclasses.replace(
    STOPS,
    expected=(ExpectedVerdict(("stopped",), 3.0), ExpectedVerdict(("no_members",), 15.0)),
    true_as_well=("expiring",),
)
KEEPS_UP: Final = VerdictScenario("keeps-up", "healthy", "it keeps up", TOPICS, ())


def recorded(
    verdicts: dict[float, str], name: str = "stops", *, marked: bool = True, stretch: float = 1.0
) -> RunRecord:
    """Return the record of a run of 120 s in which a group has these verdicts from these seconds of the run on."""
    snapshots = []
    for number in range(1, 61):
        now = number * pace.TICK
        verdict = Verdict(next(verdict for since, verdict in reversed(verdicts.items()) if since <= now))
        shown = GroupVerdict(verdict, SEVERITY[verdict].name.lower())
        snapshots.append(VerdictSnapshot(BEGAN + now * stretch, {name: shown}))
    marks = {name: {"fault": BEGAN + FAULT * stretch}} if marked else {}
    return RunRecord(BEGAN, BEGAN + 120 * stretch, {name: name}, marks, snapshots, [], [], stretch=stretch)


# --- the catalogue


def faults_of(scenario: VerdictScenario) -> list[str]:
    """Return what is inconsistent in a scenario, as sentences."""
    marks = {step.mark: step.time for step in scenario.script if step.mark}
    times = [step.time for step in scenario.script]
    is_reserved = partition_for(scenario_group(scenario), OFFSETS_PARTITIONS) == RESERVED_PARTITION
    outside = {"leader dies", "broker is back", "monitor is back"}
    checks = [
        ("its steps must be in order of time", times == sorted(times)),
        ("only sick groups have expected verdicts", bool(scenario.expected) == (scenario.kind == "sick")),
        # Open transactions hide commits in the reserved partition.
        ("only reserved scenarios are in the reserved offsets partition", is_reserved == scenario.reserved),
    ]
    for each in scenario.expected:
        due = marks.get(each.mark, 0.0) + each.after + 4 * pace.TICK
        checks += [
            (f"{each.verdicts} must be verdicts of the monitor", set(each.verdicts) <= set(Verdict)),
            (f"something must set the mark {each.mark}", each.mark in {*marks, *outside}),
            (f"{each.verdicts} must be due before the end", due < END),
        ]
    return [f"{scenario.name}: {rule}" for rule, is_kept in checks if not is_kept]


def test_the_catalogue_is_consistent() -> None:
    """Every scenario is consistent, each kind has at least 15, names are unique, and every alarming verdict occurs."""
    assert [fault for each in SCENARIOS for fault in faults_of(each)] == []
    assert len({each.name for each in SCENARIOS}) == len({scenario_group(each) for each in SCENARIOS}) == len(SCENARIOS)
    assert min(sum(each.kind == kind for each in SCENARIOS) for kind in ("sick", "healthy")) >= 15
    causes = {verdict for each in SCENARIOS for verdict in each.causes}
    assert {each for each in Verdict if SEVERITY[each] >= Severity.WARNING} <= causes


# --- assessment


ASSESSED: Final = [
    # scenario, verdicts since second, ticks until found, exact, false alarms
    ("at the first tick after it can be known", STOPS, {0: "ok", 64: "stopped"}, 1, True, []),
    ("before it can be known, but after the fault", STOPS, {0: "ok", 62: "stopped"}, 0, True, []),
    ("too late", STOPS, {0: "ok", 70: "stopped"}, 4, True, []),
    ("verdict never shown", STOPS, {0: "ok"}, None, False, []),
    ("another verdict", STOPS, {0: "ok", 64: "stalled"}, None, False, ["stalled"]),
    ("before the fault", STOPS, {0: "stopped"}, 0, True, ["stopped"]),
    ("two verdicts in order", TWICE, {0: "ok", 64: "stopped", 76: "no_members"}, 1, True, []),
    ("the cause is never shown", TWICE, {0: "ok", 64: "stopped"}, None, False, []),
    ("another true verdict", TWICE, {0: "ok", 64: "stopped", 76: "no_members", 90: "expiring"}, 1, True, []),
    ("unusual but healthy", KEEPS_UP, {0: "ok", 20: "recovering", 40: "caught_up"}, None, False, []),
    ("false alarms", KEEPS_UP, {0: "ok", 20: "skewed", 24: "ok", 40: "skewed"}, None, False, ["skewed"] * 2),
]


def alarms_of(outcome: ScenarioOutcome) -> list[str]:
    """Return the verdicts of the false alarms."""
    return [each.verdict for each in outcome.alarms]


@pytest.mark.parametrize("stretch", [1.0, 2.0])
def test_verdicts_are_assessed_by_time_and_cause(stretch: float) -> None:
    """Ticks count from the time when the fault can be known; an alarm before the fault, or an untrue one, is false."""
    wrong = []
    for story, scenario, verdicts, late, exact, alarms in ASSESSED:
        record = recorded(verdicts, scenario.name, stretch=stretch)
        found = assess(scenario, verdicts_of(record, scenario.name), record)
        good = ((late is not None and late <= 3) or scenario is KEEPS_UP) and not alarms
        if (found.ticks, found.exact, alarms_of(found), found.good) != (late, exact, alarms, good):
            wrong.append(f"{story}: {found}")
    assert wrong == []


def test_a_fault_without_its_mark_is_not_found() -> None:
    """No verdict counts as found if the run failed to produce the fault."""
    record = recorded({0: "ok", 64: "stopped"}, marked=False)
    (outcome,) = outcomes([STOPS], record)
    assert not outcome.found
    assert "its mark was not reached" in summary([outcome], record)


def test_a_fine_verdict_during_the_fault_is_a_lapse() -> None:
    """Each stretch of fine verdicts after the first detection counts once, unless recovery is expected."""
    rows = [({}, 0), ({80: "ok"}, 1), ({80: "ok", 84: "stopped", 90: "caught_up"}, 2), ({80: "stalled"}, 0)]
    found = [outcomes([STOPS], recorded({0: "ok", 64: "stopped", **later})) for later, _ in rows]
    assert [outcome.lapses for (outcome,) in found] == [lapses for _, lapses in rows]
    passing = dataclasses.replace(STOPS, expected=(*STOPS.expected, ExpectedVerdict(FINE, 20.0)))
    (outcome,) = outcomes([passing], recorded({0: "ok", 64: "stopped", 80: "ok"}))
    # The group was fine before the fault, too.
    assert outcome.good
    assert outcome.scenario.causes == ("stopped",)


@pytest.mark.parametrize("stretch", [1.0, 2.0])
def test_limits_of_the_judged_time_are_seconds_of_the_run(stretch: float) -> None:
    """An alarm from second 40 to second 42 of the run is judged by the limits of the scenario at any stretch."""
    record = recorded({0: "ok", 40: "skewed", 42: "ok"}, KEEPS_UP.name, stretch=stretch)
    limits = [({}, 1), ({"judged_from": 43.0}, 0), ({"judged_from": 37.0}, 1), ({"judged_until": 37.0}, 0)]
    for limit, alarms in [*limits, ({"judged_until": 43.0}, 1)]:
        (outcome,) = outcomes([dataclasses.replace(KEEPS_UP, **limit)], record)
        assert len(outcome.alarms) == alarms, limit
        assert all(record.pace.run(each.until - each.since) == pace.TICK for each in outcome.alarms)


def during(record: RunRecord, **periods: list[tuple[float, float]]) -> RunRecord:
    """Return the record with `pauses` or `lost_memberships` of its group, in seconds of the run."""
    (name,) = record.groups
    walls = {
        kind: {name: [(BEGAN + a * record.stretch, BEGAN + b * record.stretch) for a, b in each]}
        for kind, each in periods.items()
    }
    return dataclasses.replace(record, **walls)


PAUSES: Final = [
    ("no pause", [], ["skewed"]),
    ("during a pause", [(35.0, 41.0)], []),
    ("soon after a pause", [(30.0, 33.0)], []),
    ("long after a pause", [(20.0, 31.0)], ["skewed"]),
    ("before a pause", [(42.0, 50.0)], ["skewed"]),
]
BLOCKS: Final = [
    ("blocked before the alarm, to the end", [(30.0, 120.0)], []),
    ("returned before the end", [(30.0, 60.0)], ["skewed"]),
    ("blocked after the alarm", [(45.0, 120.0)], ["skewed"]),
    ("second pause to the end", [(20.0, 25.0), (30.0, 120.0)], []),
]


@pytest.mark.parametrize("stretch", [1.0, 2.0])
def test_alarms_after_pauses_of_the_clients(stretch: float) -> None:
    """An alarm during a pause of the group's clients, or within four ticks after it, is explained.

    From a call that does not return until the end, no verdict on its group is a false alarm; the page names it.
    """
    alarm = recorded({0: "ok", 40: "skewed", 44: "ok"}, KEEPS_UP.name, stretch=stretch)
    for story, pauses, unexplained in PAUSES:
        record = during(alarm, pauses=pauses)
        (outcome,) = outcomes([KEEPS_UP], record)
        assert [each.verdict for each in unexplained_alarms(outcome, record)] == unexplained, story
    for story, pauses, alarms in BLOCKS:
        record = during(alarm, pauses=pauses)
        found = outcomes([KEEPS_UP], record)
        assert alarms_of(found[0]) == alarms, story
        text = page(found, burrow_outcomes([KEEPS_UP], record), record)
        assert ("- keeps-up: blocked from" in text) == (pauses[-1][1] == 120.0), story


ONCE: Final = {0: "ok", 40: "stopped", 48: "ok"}
AGAIN: Final = {0: "ok", 40: "stopped", 44: "ok", 80: "stopped", 84: "ok"}
LOST: Final = [
    ("during", KEEPS_UP, ONCE, [(30.0, 45.0)], [], True),
    ("soon after", KEEPS_UP, ONCE, [(20.0, 33.0)], [], True),
    ("long after", KEEPS_UP, ONCE, [(15.0, 31.0)], ["stopped"], False),
    ("before", KEEPS_UP, ONCE, [(41.0, 60.0)], ["stopped"], False),
    ("during, and again later", KEEPS_UP, AGAIN, [(30.0, 45.0)], ["stopped"], False),
    ("two periods", KEEPS_UP, AGAIN, [(30.0, 42.0), (75.0, 90.0)], [], True),
    ("sick", STOPS, {0: "ok", 40: "stopped", 44: "ok", 64: "stopped"}, [(30.0, 42.0)], [], True),
    ("sick, never found", STOPS, {0: "ok", 40: "stopped", 44: "ok"}, [(30.0, 120.0)], [], False),
    ("sick, found late", STOPS, {0: "ok", 80: "stopped"}, [(55.0, 120.0)], [], False),
    ("another verdict during", STOPS, {0: "ok", 64: "stopped", 70: "stalled", 74: "stopped"}, [(66.0, 72.0)], [], True),
    ("long after", STOPS, {0: "ok", 64: "stopped", 90: "stalled", 94: "stopped"}, [(66.0, 72.0)], ["stalled"], False),
]


@pytest.mark.parametrize("stretch", [1.0, 2.0])
def test_an_alarm_of_a_lost_membership_is_not_judged(stretch: float) -> None:
    """An alarm that begins in such a period of its own group, or soon after, is true. All others count.

    The expected verdict of a sick group must be shown in time nevertheless.
    """
    for story, scenario, verdicts, periods, alarms, good in LOST:
        record = during(recorded(verdicts, scenario.name, stretch=stretch), lost_memberships=periods)
        (outcome,) = outcomes([scenario], record)
        assert (alarms_of(outcome), outcome.good) == (alarms, good), story
        (outcome,) = outcomes([scenario], dataclasses.replace(record, lost_memberships={"another": [(0.0, 2e6)]}))
        (unexplained,) = outcomes([scenario], dataclasses.replace(record, lost_memberships={}))
        assert outcome.alarms == unexplained.alarms, story


def test_a_membership_is_lost_until_the_client_is_a_member_again() -> None:
    """A member does not end the period of another client. A client that the script removes has no period."""
    memberships = LostMemberships()
    memberships.note_member("a", 1.0)
    memberships.note_member("b", 1.5)
    memberships.note_lost("a", 13.0)
    memberships.note_member("b", 13.5)
    assert memberships.periods(20.0) == [(1.0, 20.0)]
    memberships.note_member("a", 15.0)
    memberships.note_removed("a", 16.0)
    assert memberships.periods(20.0) == [(1.0, 15.0)]
    memberships.note_lost("b", 30.0)
    assert memberships.periods(40.0) == [(1.0, 15.0), (13.5, 40.0)]


# --- Burrow, the record, the page


def stopping(*, stops: bool, stretch: float = 1.0) -> RunRecord:
    """Return the record of a group that commits every second of the run, until the fault or without end."""
    name = "stops" if stops else "keeps-up"
    ends = [RecordedEnds(BEGAN + time * stretch, [("t", 0, 20 * time)]) for time in range(0, 120, 2)]
    commits = [
        RecordedCommit(name, "t", 0, max(20 * time - 5, 0), time, int((BEGAN + time * stretch) * 1_000))
        for time in range(1, 120)
        if time <= FAULT or not stops
    ]
    return dataclasses.replace(
        recorded({0: "ok", 64: "stopped"} if stops else {0: "ok"}, name, stretch=stretch), ends=ends, commits=commits
    )


@pytest.mark.parametrize("stretch", [1.0, 1.5, 2.0])
def test_burrow_finds_a_group_that_stops_when_its_window_of_ends_has_passed(stretch: float) -> None:
    """A group is OK until all ten end offsets are above its commit: 20 s of the run, of which 3 are allowed."""
    (found,) = burrow_outcomes([STOPS], stopping(stops=True, stretch=stretch))
    assert found.statuses == ("STOP",)
    assert found.exact
    assert found.outcome.seconds == pytest.approx(20 - 3, abs=pace.TICK)


@pytest.mark.parametrize(("stretch", "speed"), [(1.0, "5"), (2.0, "2.5")])
def test_the_page_has_a_row_for_every_group(stretch: float, speed: str) -> None:
    """Rows have lateness and false alarms, and the page has the totals and the speed. A slower run changes no row."""
    sick, healthy = stopping(stops=True, stretch=stretch), stopping(stops=False, stretch=stretch)
    both = dataclasses.replace(
        sick,
        groups=sick.groups | healthy.groups,
        commits=[*sick.commits, *healthy.commits],
        snapshots=[
            VerdictSnapshot(one.taken_at, one.groups | other.groups)
            for one, other in zip(sick.snapshots, healthy.snapshots, strict=True)
        ],
    )
    scenarios = [STOPS, KEEPS_UP]
    found = outcomes(scenarios, both)
    text = page(found, burrow_outcomes(scenarios, both), both)
    assert "| stops | it stops | stopped | 15 s | 1 | 5 s | exact | STOP |" in text
    assert "| keeps-up | it keeps up | none | ok |" in text
    assert "| sick groups found (of 1) | 1 | 1 |" in text
    assert (
        f"The run is {speed} times as fast as production: the tick is {2 * stretch:g} s where the default is 10 s"
        in text
    )
    assert summary(found, both) == "all 2 groups as expected"


@pytest.mark.parametrize("stretch", [1.0, 2.0])
def test_times_on_the_page_are_seconds_of_production(stretch: float) -> None:
    """An alarm of two ticks takes 20 s at any pace. Each period without a membership has a line."""
    alarm = recorded({0: "ok", 40: "skewed", 44: "ok"}, KEEPS_UP.name, stretch=stretch)
    record = during(alarm, lost_memberships=[(60.0, 72.0)])
    found = outcomes([KEEPS_UP], record)
    text = page(found, burrow_outcomes([KEEPS_UP], record), record)
    assert "skewed at 200 s for 20 s" in text
    assert "false alarm skewed for 20 s" in summary(found, record)
    assert "- keeps-up: a client without its membership from 300 s to 360 s; alarms that begin in this time, or" in text


@pytest.mark.parametrize("stretch", [1.0, 1.5, 2.0, pace.LARGEST_STRETCH])
def test_the_options_of_the_monitor_are_the_limits_divided_by_the_pace(stretch: float) -> None:
    """The rules get every limit divided. Only three limits have no option."""
    chosen = RunPace(stretch)
    config = load_config(flags={"kafka.bootstrap_servers": "localhost:9092", **settings(chosen)})
    slot_ms = int(config.job.commit_window_slot_seconds * 1000)
    scaled, full = dataclasses.asdict(health_limits(config, slot_ms)), dataclasses.asdict(HealthLimits())
    without_option = {"unlearned", "transaction", "event_shown"}
    assert {name: full[name] / chosen.faster for name in full.keys() - without_option} == {
        name: scaled[name] for name in scaled.keys() - without_option
    }
