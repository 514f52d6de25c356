"""The play of the verdicts: its data make sense, and it judges a monitor as its page says."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import pytest

from sandbox.kafka.log_truncation import truncate_log
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.assess import assess, outcomes, verdicts_of
from sandbox.verdict_scenarios.burrow import burrow_outcomes
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.group_runner import OFFSETS_PARTITIONS, RESERVED_PARTITION, group_name
from sandbox.verdict_scenarios.record import (
    GroupVerdict,
    RecordedCommit,
    RecordedEnds,
    RunRecord,
    VerdictSnapshot,
    load,
)
from sandbox.verdict_scenarios.report import page, summary
from sandbox.verdict_scenarios.scenario import END, FINE, ExpectedVerdict, Flow, ScenarioTopic, VerdictScenario
from stream.groups.placement import partition_for
from stream.health.verdict import SEVERITY, Severity, Verdict

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
LIVES: Final = VerdictScenario("lives", "healthy", "it lives", TOPICS, ())


def recorded(said: dict[float, str], name: str = "stops", *, marked: bool = True) -> RunRecord:
    """Record a play of 120 s in which a group is said to be this from these seconds on."""
    snapshots = []
    for number in range(1, 61):
        now = number * pace.TICK
        verdict = Verdict(next(verdict for since, verdict in reversed(said.items()) if since <= now))
        word = GroupVerdict(verdict, SEVERITY[verdict].name.lower())
        snapshots.append(VerdictSnapshot(BEGAN + now, {name: word}))
    marks = {name: {"fault": BEGAN + FAULT}} if marked else {}
    return RunRecord(BEGAN, BEGAN + 120, {name: name}, marks, snapshots, [], [])


# --- the data


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_what_is_expected_can_be_said_and_is_there_to_be_found(scenario: VerdictScenario) -> None:
    """Its verdicts are words of the monitor, its marks are made, and all of it happens before the play ends."""
    marks = {step.mark: step.time for step in scenario.script if step.mark}
    outside = {"broker is back", "monitor is back"}
    for each in scenario.expected:
        assert set(each.verdicts) <= set(Verdict)
        assert each.mark in {*marks, *outside}
        assert marks.get(each.mark, 0.0) + each.after + 4 * pace.TICK < END
    assert [step.time for step in scenario.script] == sorted(step.time for step in scenario.script)


def test_there_are_enough_of_both_kinds_with_a_name_each() -> None:
    """At least 24, names and groups are unique, the healthy expect nothing and the sick something."""
    assert len({each.name for each in SCENARIOS}) == len({group_name(each) for each in SCENARIOS}) == len(SCENARIOS)
    assert sum(each.kind == "sick" for each in SCENARIOS) >= 15
    assert sum(each.kind == "healthy" for each in SCENARIOS) >= 15
    assert all(bool(each.expected) == (each.kind == "sick") for each in SCENARIOS)


def test_every_verdict_that_calls_somebody_is_the_cause_of_some_scenario() -> None:
    """No rule goes unproven."""
    causes = {verdict for each in SCENARIOS for verdict in each.causes}
    assert {each for each in Verdict if SEVERITY[each] >= Severity.WARNING} <= causes


def test_whoever_holds_an_offsets_partition_back_is_in_the_corner() -> None:
    """And nobody else: the others must not suffer from it."""
    for each in SCENARIOS:
        assert (partition_for(group_name(each), OFFSETS_PARTITIONS) == RESERVED_PARTITION) == each.corner


@pytest.mark.parametrize(
    ("flow", "time", "records"),
    [
        pytest.param(Flow(20.0), 10.0, 200, id="steady"),
        pytest.param(Flow(20.0), 0.4, 0, id="before the first pulse"),
        pytest.param(Flow(40.0, every=30.0), 59.0, 1_200, id="bursts"),
        pytest.param(Flow(1 / 24, every=24.0), 48.0, 2, id="a record now and then"),
        pytest.param(Flow(100.0, start=60.0, until=72.0), 100.0, 1_200, id="for a while"),
    ],
)
def test_a_flow_writes_in_pulses(flow: Flow, time: float, records: int) -> None:
    """As many records as its rate makes, at its pulses."""
    assert flow.written(time) == records


# --- judging


@pytest.mark.parametrize(
    ("scenario", "said", "late", "exact", "alarms"),
    [
        pytest.param(STOPS, {0: "ok", 64: "stopped"}, 1, True, [], id="at the first tick after it can be known"),
        pytest.param(STOPS, {0: "ok", 62: "stopped"}, 0, True, [], id="before it can be known, but after the fault"),
        pytest.param(STOPS, {0: "ok", 70: "stopped"}, 4, True, [], id="too late"),
        pytest.param(STOPS, {0: "ok"}, None, False, [], id="never"),
        pytest.param(STOPS, {0: "ok", 64: "stalled"}, None, False, ["stalled"], id="by another name"),
        pytest.param(STOPS, {0: "stopped"}, 0, True, ["stopped"], id="before the fault"),
        pytest.param(TWICE, {0: "ok", 64: "stopped", 76: "no_members"}, 1, True, [], id="one after the other"),
        pytest.param(TWICE, {0: "ok", 64: "stopped"}, None, False, [], id="the cause is never named"),
        pytest.param(TWICE, {0: "ok", 64: "stopped", 76: "no_members", 90: "expiring"}, 1, True, [], id="true as well"),
        pytest.param(LIVES, {0: "ok", 20: "recovering", 40: "caught_up"}, None, False, [], id="healthy and odd"),
        pytest.param(LIVES, {0: "ok", 20: "skewed", 24: "ok", 40: "skewed"}, None, False, ["skewed"] * 2, id="in vain"),
    ],
)
def test_what_is_said_is_held_against_what_had_to_be_said(
    scenario: VerdictScenario, said: dict[float, str], late: int | None, alarms: list[str], *, exact: bool
) -> None:
    """Ticks count from the moment at which it can be known; an alarm before the fault, or untrue, is a false one."""
    record = recorded(said, scenario.name)
    outcome = assess(scenario, verdicts_of(record, scenario.name), record)
    assert outcome.ticks == late
    assert outcome.exact == exact
    assert [each.verdict for each in outcome.alarms] == alarms
    assert outcome.good == ((late is not None and late <= 3) or scenario is LIVES) * (not alarms)


def test_what_never_happened_is_not_found() -> None:
    """A fault that the play failed to make is no success of the monitor, whatever it says."""
    (outcome,) = outcomes([STOPS], recorded({0: "ok", 64: "stopped"}, marked=False))
    assert not outcome.found
    assert "never happened" in summary([outcome])


@pytest.mark.parametrize(
    ("said", "lapses"),
    [
        pytest.param({0: "ok", 64: "stopped"}, 0, id="until the end"),
        pytest.param({0: "ok", 64: "stopped", 80: "ok"}, 1, id="withdrawn"),
        pytest.param({0: "ok", 64: "stopped", 80: "ok", 84: "stopped", 90: "caught_up"}, 2, id="twice"),
        pytest.param({0: "ok", 64: "stopped", 80: "stalled"}, 0, id="by another name"),
    ],
)
def test_a_sick_group_that_is_shown_well_is_a_lapse(said: dict[float, str], lapses: int) -> None:
    """As long as its fault lasts, whatever it is called."""
    (outcome,) = outcomes([STOPS], recorded(said))
    assert outcome.lapses == lapses


def test_being_well_again_can_be_expected() -> None:
    """A fault that ends must be withdrawn."""
    passing = dataclasses.replace(STOPS, expected=(*STOPS.expected, ExpectedVerdict(FINE, 20.0)))
    (gone,) = outcomes([passing], recorded({0: "ok", 64: "stopped", 80: "ok"}))
    # Fine is also what it was before the fault was found.
    assert gone.good
    assert gone.scenario.causes == ("stopped",)


# --- Burrow, records, the page


def stopping(*, stops: bool) -> RunRecord:
    """Record a group that commits every second, up to the fault or for ever."""
    name = "stops" if stops else "lives"
    ends = [RecordedEnds(BEGAN + time, [("t", 0, 20 * time)]) for time in range(0, 120, 2)]
    commits = [
        RecordedCommit(name, "t", 0, max(20 * time - 5, 0), time, int((BEGAN + time) * 1_000))
        for time in range(1, 120)
        if time <= FAULT or not stops
    ]
    return dataclasses.replace(
        recorded({0: "ok", 64: "stopped"} if stops else {0: "ok"}, name), ends=ends, commits=commits
    )


def test_burrow_finds_a_group_that_stops_when_its_window_of_ends_has_passed() -> None:
    """As long as one of its ten end offsets shows the group at the end it is sound: 20 s of the play, 3 are allowed."""
    (found,) = burrow_outcomes([STOPS], stopping(stops=True))
    assert found.said == ("STOP",)
    assert found.exact
    assert found.outcome.seconds == pytest.approx(20 - 3, abs=pace.TICK)


def test_a_record_is_judged_again_as_it_was(tmp_path: Path) -> None:
    """What was saved is what is read."""
    record = stopping(stops=True)
    record.save(tmp_path / "record.json")
    assert load(tmp_path / "record.json") == record


def test_the_page_has_a_row_for_every_group() -> None:
    """With what was late, what was said in vain, and the sums."""
    sick, healthy = stopping(stops=True), stopping(stops=False)
    both = dataclasses.replace(
        sick,
        groups=sick.groups | healthy.groups,
        commits=[*sick.commits, *healthy.commits],
        snapshots=[
            VerdictSnapshot(one.taken_at, one.groups | other.groups)
            for one, other in zip(sick.snapshots, healthy.snapshots, strict=True)
        ],
    )
    scenarios = [STOPS, LIVES]
    found = outcomes(scenarios, both)
    told = page(found, burrow_outcomes(scenarios, both), both)
    assert "| stops | it stops | stopped | 15 s | 1 | 5 s | exact | STOP |" in told
    assert "| lives | it lives | none | ok |" in told
    assert "| sick groups found (of 1) | 1 | 1 |" in told
    assert summary(found) == "all 2 groups as they must be"


def test_a_log_is_cut_at_the_border_of_a_batch(tmp_path: Path) -> None:
    """About the share that is wanted stays, whole batches only, and no index beside it."""

    def batch(offset: int) -> bytes:
        return offset.to_bytes(8, "big") + (50).to_bytes(4, "big") + bytes(50)

    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"".join(batch(number) for number in range(10)))
    log.with_suffix(".index").write_bytes(b"")
    end = truncate_log(tmp_path, 0.5)
    assert 4 <= end <= 5
    assert log.read_bytes() == b"".join(batch(number) for number in range(end))
    assert not log.with_suffix(".index").exists()
