"""The verdict scenarios are consistent, and a run is assessed as on the page about it."""

import dataclasses
from typing import Final

import pytest

from sandbox.clients.group_names import RESERVED_PARTITION
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.assess import ScenarioOutcome, assess, outcomes, verdicts_of
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.group_runner import OFFSETS_PARTITIONS, LostMemberships, scenario_group
from sandbox.verdict_scenarios.monitor import settings
from sandbox.verdict_scenarios.pace import RunPace
from sandbox.verdict_scenarios.record import GroupVerdict, RunRecord, VerdictSnapshot
from sandbox.verdict_scenarios.report import summary
from sandbox.verdict_scenarios.scenario import END, FINE, ExpectedVerdict, VerdictScenario
from stream.config.loader import load as load_config
from stream.groups.placement import partition_for
from stream.health.limits import HealthLimits
from stream.health.verdict import SEVERITY, Severity, Verdict
from stream.service.wiring import health_limits
from tests.stream.health.share.polls import SHARE_VERDICTS

BEGAN: Final = 1_000_000.0
FAULT: Final = 60.0
STOPS: Final = VerdictScenario("stops", "it stops", expected=(ExpectedVerdict(("stopped",), 3.0),))
TWICE: Final = dataclasses.replace(
    STOPS,
    expected=(ExpectedVerdict(("stopped",), 3.0), ExpectedVerdict(("no_members",), 15.0)),
    true_as_well=("expiring",),
)
KEEPS_UP: Final = VerdictScenario("keeps-up", "it keeps up")


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
    assert {each for each in Verdict if SEVERITY[each] >= Severity.WARNING} - set(SHARE_VERDICTS) <= causes


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


def during(record: RunRecord, **periods: list[tuple[float, float]]) -> RunRecord:
    """Return the record with `pauses` or `lost_memberships` of its group, in seconds of the run."""
    (name,) = record.groups
    walls = {
        kind: {name: [(BEGAN + a * record.stretch, BEGAN + b * record.stretch) for a, b in each]}
        for kind, each in periods.items()
    }
    return dataclasses.replace(record, **walls)


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


# --- the options of the monitor


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
