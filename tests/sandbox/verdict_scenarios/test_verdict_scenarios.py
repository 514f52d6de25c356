"""The verdict scenarios are consistent, and a run is assessed as on the page about it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import pytest

from sandbox.clients.group_names import RESERVED_PARTITION
from sandbox.clients.traffic import ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.assess import assess, outcomes, unexplained_alarms, verdicts_of
from sandbox.verdict_scenarios.burrow import burrow_outcomes
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.group_runner import OFFSETS_PARTITIONS, scenario_group
from sandbox.verdict_scenarios.monitor import settings
from sandbox.verdict_scenarios.pace import RunPace
from sandbox.verdict_scenarios.record import (
    GroupVerdict,
    RecordedCommit,
    RecordedEnds,
    RunRecord,
    VerdictSnapshot,
    load,
)
from sandbox.verdict_scenarios.report import page, summary
from sandbox.verdict_scenarios.scenario import END, FINE, ExpectedVerdict, VerdictScenario
from stream.config.loader import load as load_config
from stream.groups.placement import partition_for
from stream.health.limits import HealthLimits
from stream.health.verdict import SEVERITY, Severity, Verdict
from stream.service.wiring import health_limits

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_expected_verdicts_exist_and_are_due_before_the_end(scenario: VerdictScenario) -> None:
    """The verdicts are those of the monitor, the marks are set by the script, and all are due before the run ends."""
    marks = {step.mark: step.time for step in scenario.script if step.mark}
    outside = {"leader dies", "broker is back", "monitor is back"}
    for each in scenario.expected:
        assert set(each.verdicts) <= set(Verdict)
        assert each.mark in {*marks, *outside}
        assert marks.get(each.mark, 0.0) + each.after + 4 * pace.TICK < END
    assert [step.time for step in scenario.script] == sorted(step.time for step in scenario.script)


def test_the_catalogue_has_enough_scenarios_of_both_kinds_with_unique_names() -> None:
    """Each kind has at least 15, names and groups are unique, and only sick groups have expected verdicts."""
    assert len({each.name for each in SCENARIOS}) == len({scenario_group(each) for each in SCENARIOS}) == len(SCENARIOS)
    assert sum(each.kind == "sick" for each in SCENARIOS) >= 15
    assert sum(each.kind == "healthy" for each in SCENARIOS) >= 15
    assert all(bool(each.expected) == (each.kind == "sick") for each in SCENARIOS)


def test_every_alarming_verdict_is_the_cause_of_a_scenario() -> None:
    """Every verdict of severity warning or critical is expected by a scenario."""
    causes = {verdict for each in SCENARIOS for verdict in each.causes}
    assert {each for each in Verdict if SEVERITY[each] >= Severity.WARNING} <= causes


def test_only_reserved_scenarios_are_in_the_reserved_offsets_partition() -> None:
    """All other scenarios are elsewhere, because open transactions hide commits in the reserved partition."""
    for each in SCENARIOS:
        assert (partition_for(scenario_group(each), OFFSETS_PARTITIONS) == RESERVED_PARTITION) == each.reserved


# --- assessment


@pytest.mark.parametrize(
    ("scenario", "verdicts", "late", "exact", "alarms"),
    [
        pytest.param(STOPS, {0: "ok", 64: "stopped"}, 1, True, [], id="at the first tick after it can be known"),
        pytest.param(STOPS, {0: "ok", 62: "stopped"}, 0, True, [], id="before it can be known, but after the fault"),
        pytest.param(STOPS, {0: "ok", 70: "stopped"}, 4, True, [], id="too late"),
        pytest.param(STOPS, {0: "ok"}, None, False, [], id="verdict never shown"),
        pytest.param(STOPS, {0: "ok", 64: "stalled"}, None, False, ["stalled"], id="another verdict"),
        pytest.param(STOPS, {0: "stopped"}, 0, True, ["stopped"], id="before the fault"),
        pytest.param(TWICE, {0: "ok", 64: "stopped", 76: "no_members"}, 1, True, [], id="two verdicts in order"),
        pytest.param(TWICE, {0: "ok", 64: "stopped"}, None, False, [], id="the cause is never shown"),
        pytest.param(
            TWICE, {0: "ok", 64: "stopped", 76: "no_members", 90: "expiring"}, 1, True, [], id="another true verdict"
        ),
        pytest.param(KEEPS_UP, {0: "ok", 20: "recovering", 40: "caught_up"}, None, False, [], id="unusual but healthy"),
        pytest.param(
            KEEPS_UP, {0: "ok", 20: "skewed", 24: "ok", 40: "skewed"}, None, False, ["skewed"] * 2, id="false alarms"
        ),
    ],
)
@pytest.mark.parametrize("stretch", [1.0, 2.0])
def test_verdicts_are_assessed_by_time_and_cause(
    scenario: VerdictScenario,
    verdicts: dict[float, str],
    late: int | None,
    alarms: list[str],
    stretch: float,
    *,
    exact: bool,
) -> None:
    """Ticks count from the time when the fault can be known; an alarm before the fault, or an untrue one, is false."""
    record = recorded(verdicts, scenario.name, stretch=stretch)
    outcome = assess(scenario, verdicts_of(record, scenario.name), record)
    assert outcome.ticks == late
    assert outcome.exact == exact
    assert [each.verdict for each in outcome.alarms] == alarms
    assert outcome.good == ((late is not None and late <= 3) or scenario is KEEPS_UP) * (not alarms)


def test_a_fault_without_its_mark_is_not_found() -> None:
    """No verdict counts as found if the run failed to produce the fault."""
    record = recorded({0: "ok", 64: "stopped"}, marked=False)
    (outcome,) = outcomes([STOPS], record)
    assert not outcome.found
    assert "its mark was not reached" in summary([outcome], record)


@pytest.mark.parametrize(
    ("verdicts", "lapses"),
    [
        pytest.param({0: "ok", 64: "stopped"}, 0, id="until the end"),
        pytest.param({0: "ok", 64: "stopped", 80: "ok"}, 1, id="withdrawn"),
        pytest.param({0: "ok", 64: "stopped", 80: "ok", 84: "stopped", 90: "caught_up"}, 2, id="twice"),
        pytest.param({0: "ok", 64: "stopped", 80: "stalled"}, 0, id="another verdict"),
    ],
)
def test_a_fine_verdict_during_the_fault_is_a_lapse(verdicts: dict[float, str], lapses: int) -> None:
    """Each stretch of fine verdicts after the first detection counts once."""
    (outcome,) = outcomes([STOPS], recorded(verdicts))
    assert outcome.lapses == lapses


def test_recovery_can_be_expected() -> None:
    """A scenario can expect a fine verdict after its fault; the fine verdict is no cause."""
    passing = dataclasses.replace(STOPS, expected=(*STOPS.expected, ExpectedVerdict(FINE, 20.0)))
    (outcome,) = outcomes([passing], recorded({0: "ok", 64: "stopped", 80: "ok"}))
    # The group was fine before the fault, too.
    assert outcome.good
    assert outcome.scenario.causes == ("stopped",)


@pytest.mark.parametrize("stretch", [1.0, 2.0])
@pytest.mark.parametrize(
    ("limits", "alarms"),
    [
        pytest.param({}, 1, id="always judged"),
        pytest.param({"judged_from": 43.0}, 0, id="begins to be judged after the alarm"),
        pytest.param({"judged_from": 37.0}, 1, id="begins to be judged before the alarm"),
        pytest.param({"judged_until": 37.0}, 0, id="judged until before the alarm"),
        pytest.param({"judged_until": 43.0}, 1, id="judged until after the alarm"),
    ],
)
def test_limits_of_the_judged_time_are_seconds_of_the_run(
    limits: dict[str, float], alarms: int, stretch: float
) -> None:
    """An alarm from second 40 to second 42 of the run is judged by the limits of the scenario at any stretch."""
    record = recorded({0: "ok", 40: "skewed", 42: "ok"}, KEEPS_UP.name, stretch=stretch)
    (outcome,) = outcomes([dataclasses.replace(KEEPS_UP, **limits)], record)
    assert len(outcome.alarms) == alarms
    assert all(record.pace.run(each.until - each.since) == pace.TICK for each in outcome.alarms)


@pytest.mark.parametrize("stretch", [1.0, 2.0])
@pytest.mark.parametrize(
    ("pauses", "unexplained"),
    [
        pytest.param([], ["skewed"], id="no pause"),
        pytest.param([(35.0, 41.0)], [], id="during a pause"),
        pytest.param([(30.0, 33.0)], [], id="soon after a pause"),
        pytest.param([(20.0, 31.0)], ["skewed"], id="long after a pause"),
        pytest.param([(42.0, 50.0)], ["skewed"], id="before a pause"),
    ],
)
def test_an_alarm_after_a_pause_of_the_clients_is_explained(
    pauses: list[tuple[float, float]], unexplained: list[str], stretch: float
) -> None:
    """An alarm during a pause of the group's clients, or within four ticks after it, is explained."""
    record = dataclasses.replace(
        recorded({0: "ok", 40: "skewed", 44: "ok"}, KEEPS_UP.name, stretch=stretch),
        pauses={KEEPS_UP.name: [(BEGAN + since * stretch, BEGAN + until * stretch) for since, until in pauses]},
    )
    (outcome,) = outcomes([KEEPS_UP], record)
    assert [each.verdict for each in unexplained_alarms(outcome, record)] == unexplained


@pytest.mark.parametrize(
    ("pauses", "alarms"),
    [
        pytest.param([(30.0, 120.0)], [], id="blocked before the alarm, to the end"),
        pytest.param([(30.0, 60.0)], ["skewed"], id="returned before the end"),
        pytest.param([(45.0, 120.0)], ["skewed"], id="blocked after the alarm"),
        pytest.param([(20.0, 25.0), (30.0, 120.0)], [], id="second pause to the end"),
    ],
)
def test_a_group_with_blocked_clients_is_not_judged(pauses: list[tuple[float, float]], alarms: list[str]) -> None:
    """From a call that does not return until the end, no verdict on its group is a false alarm; the page names it."""
    record = dataclasses.replace(
        recorded({0: "ok", 40: "skewed", 44: "ok"}, KEEPS_UP.name),
        pauses={KEEPS_UP.name: [(BEGAN + since, BEGAN + until) for since, until in pauses]},
    )
    found = outcomes([KEEPS_UP], record)
    assert [each.verdict for each in found[0].alarms] == alarms
    is_blocked = pauses[-1][1] == 120.0
    text = page(found, burrow_outcomes([KEEPS_UP], record), record)
    assert ("- keeps-up: blocked from" in text) == is_blocked


@pytest.mark.parametrize("stretch", [1.0, 2.0])
@pytest.mark.parametrize(
    ("scenario", "verdicts", "periods", "alarms", "good"),
    [
        pytest.param(KEEPS_UP, {0: "ok", 40: "stopped", 48: "ok"}, [(30.0, 45.0)], [], True, id="during"),
        pytest.param(KEEPS_UP, {0: "ok", 40: "stopped", 48: "ok"}, [(20.0, 33.0)], [], True, id="soon after"),
        pytest.param(KEEPS_UP, {0: "ok", 40: "stopped", 48: "ok"}, [(15.0, 31.0)], ["stopped"], False, id="long after"),
        pytest.param(KEEPS_UP, {0: "ok", 40: "stopped", 48: "ok"}, [(41.0, 60.0)], ["stopped"], False, id="before"),
        pytest.param(
            KEEPS_UP,
            {0: "ok", 40: "stopped", 48: "ok", 80: "stopped", 84: "ok"},
            [(30.0, 45.0)],
            ["stopped"],
            False,
            id="during, and again later",
        ),
        pytest.param(
            KEEPS_UP,
            {0: "ok", 40: "stopped", 44: "ok", 80: "skewed", 84: "ok"},
            [(30.0, 42.0), (75.0, 90.0)],
            [],
            True,
            id="two periods",
        ),
        pytest.param(STOPS, {0: "ok", 40: "stopped", 44: "ok", 64: "stopped"}, [(30.0, 42.0)], [], True, id="sick"),
        pytest.param(STOPS, {0: "ok", 40: "stopped", 44: "ok"}, [(30.0, 120.0)], [], False, id="sick, never found"),
        pytest.param(STOPS, {0: "ok", 80: "stopped"}, [(55.0, 120.0)], [], False, id="sick, found late"),
        pytest.param(
            STOPS,
            {0: "ok", 64: "stopped", 70: "stalled", 74: "stopped"},
            [(66.0, 72.0)],
            [],
            True,
            id="sick, another verdict during",
        ),
        pytest.param(
            STOPS,
            {0: "ok", 64: "stopped", 90: "stalled", 94: "stopped"},
            [(66.0, 72.0)],
            ["stalled"],
            False,
            id="sick, another verdict long after",
        ),
    ],
)
def test_an_alarm_of_a_lost_membership_is_not_judged(
    scenario: VerdictScenario,
    verdicts: dict[float, str],
    periods: list[tuple[float, float]],
    alarms: list[str],
    stretch: float,
    *,
    good: bool,
) -> None:
    """An alarm that begins in such a period of its group, or soon after, is true. All others count.

    The expected verdict of a sick group must be shown in time nevertheless.
    """
    lost = [(BEGAN + since * stretch, BEGAN + until * stretch) for since, until in periods]
    record = recorded(verdicts, scenario.name, stretch=stretch)
    (outcome,) = outcomes([scenario], dataclasses.replace(record, lost_memberships={scenario.name: lost}))
    assert [each.verdict for each in outcome.alarms] == alarms
    assert outcome.good == good


def test_a_lost_membership_explains_no_alarm_of_another_group() -> None:
    """Alarms are judged by the periods of their own group."""
    record = dataclasses.replace(
        recorded({0: "ok", 40: "stopped", 48: "ok"}, KEEPS_UP.name),
        lost_memberships={KEEPS_UP.name: [], "another": [(BEGAN + 30.0, BEGAN + 45.0)]},
    )
    (outcome,) = outcomes([KEEPS_UP], record)
    assert [each.verdict for each in outcome.alarms] == ["stopped"]


def test_the_page_names_groups_and_periods_of_lost_memberships() -> None:
    """Each period has a line, in seconds of production from the beginning of the run."""
    record = dataclasses.replace(
        recorded({0: "ok"}, KEEPS_UP.name, stretch=2.0),
        lost_memberships={KEEPS_UP.name: [(BEGAN + 60.0, BEGAN + 84.0)]},
    )
    text = page(outcomes([KEEPS_UP], record), burrow_outcomes([KEEPS_UP], record), record)
    line = "- keeps-up: a client without its membership from 150 s to 210 s; alarms that begin in this time, or at most"
    assert f"{line} 40 s after it, are not judged" in text


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


def test_a_saved_record_is_loaded_unchanged(tmp_path: Path) -> None:
    """Saving and loading gives an equal record."""
    record = dataclasses.replace(
        stopping(stops=True),
        ends=[RecordedEnds(BEGAN, [("t", 0, 9)], [("t", 0, 7)], [("t", 0, 2)])],
        pauses={"stops": [(BEGAN, BEGAN + 2.5)]},
        lost_memberships={"stops": [(BEGAN + 4.0, BEGAN + 20.0)]},
        stretch=2.0,
    )
    record.save(tmp_path / "record.json")
    assert load(tmp_path / "record.json") == record


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


def test_durations_of_alarms_are_seconds_of_production() -> None:
    """An alarm of two ticks takes 20 s of production at any pace, on the page and in the summary."""
    for stretch in (1.0, 2.0):
        record = recorded({0: "ok", 40: "skewed", 44: "ok"}, KEEPS_UP.name, stretch=stretch)
        found = outcomes([KEEPS_UP], record)
        assert "skewed at 200 s for 20 s" in page(found, burrow_outcomes([KEEPS_UP], record), record)
        assert "false alarm skewed for 20 s" in summary(found, record)
