"""Labels describe the performed faults of a run, with the time from which they can be known, and the healthy phases."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import pytest

from bench.incidents.labels import WARM_UP, LabelledFault, RecordingLabels, label_run, load_labels
from sandbox.clients.traffic import ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.record import RunRecord
from sandbox.verdict_scenarios.scenario import FINE, ExpectedVerdict, VerdictScenario
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

BEGAN: Final = 1_000_000.0
STOPS: Final = VerdictScenario(
    "stops", "sick", "it stops", {"in": ScenarioTopic()}, (), expected=(ExpectedVerdict(("stopped",), 3.0),)
)
KEEPS_UP: Final = VerdictScenario("keeps-up", "healthy", "it keeps up", {"in": ScenarioTopic()}, ())


def labelled(
    scenario: VerdictScenario,
    marks: dict[str, float],
    outages: dict[str, float] | None = None,
    *,
    stretch: float = 1.0,
) -> RecordingLabels:
    """Return the labels of a run of 120 s with these marks, in seconds of the run."""
    times = {name: BEGAN + time * stretch for name, time in marks.items()}
    shared = {name: BEGAN + time * stretch for name, time in (outages or {}).items()}
    own = {scenario.name: times, "": shared}
    run = RunRecord(BEGAN, BEGAN + 120 * stretch, {scenario.name: "g"}, own, [], [], [], stretch=stretch)
    return label_run([scenario], run)


def test_a_fault_is_knowable_some_time_after_it_began() -> None:
    """The times are those of the run's marks. A sick group is healthy until its fault."""
    (label,) = labelled(STOPS, {"fault": 60.25}).groups
    assert label.faults == (LabelledFault(("stopped",), BEGAN + 60.25, BEGAN + 63.25),)
    assert label.healthy == ((BEGAN + WARM_UP, BEGAN + 60.25),)
    assert (label.group, label.fate, label.topics) == ("g", "sick", ("g-in",))


def test_other_causes_at_a_later_mark_are_another_fault() -> None:
    """A later expectation of the same causes belongs to the same fault; other causes are another fault."""
    scenario = dataclasses.replace(
        STOPS,
        expected=(
            ExpectedVerdict(("stopped",), 3.0),
            ExpectedVerdict(("stopped",), 11.0, sentence_contains="heartbeats"),
            ExpectedVerdict(("losing_data",), 1.0, "loss"),
        ),
    )
    (label,) = labelled(scenario, {"fault": 60.0, "loss": 90.0}).groups
    assert [each.causes for each in label.faults] == [("stopped",), ("losing_data",)]
    assert label.faults[0].knowable == BEGAN + 63
    assert label.faults[1].began == BEGAN + 90


def test_a_group_that_recovers_is_healthy_again_until_the_end() -> None:
    """An alarm is false from three ticks after the time when the recovery must be shown."""
    scenario = dataclasses.replace(STOPS, expected=(*STOPS.expected, ExpectedVerdict(FINE, 20.0)))
    (label,) = labelled(scenario, {"fault": 60.0}).groups
    assert label.recovered == BEGAN + 80 + 3 * pace.TICK
    assert label.healthy[-1] == (label.recovered, BEGAN + 120)
    assert len(label.faults) == 1


def test_labels_of_a_slower_run_are_times_of_the_wall_clock() -> None:
    """All times since the beginning are twice as long at stretch 2; times `faster`, they are those of production."""
    scenario = dataclasses.replace(STOPS, expected=(*STOPS.expected, ExpectedVerdict(FINE, 20.0)))
    once, twice = (labelled(scenario, {"fault": 60.0}, stretch=stretch) for stretch in (1.0, 2.0))
    assert (once.faster, once.tick, once.offsets_retention) == (5.0, 2.0, 240.0)
    assert (twice.faster, twice.tick, twice.offsets_retention) == (2.5, 4.0, 480.0)
    (one,), (two,) = once.groups, twice.groups
    assert two.faults[0].knowable - BEGAN == 2 * (one.faults[0].knowable - BEGAN) == 126.0
    assert [(a - BEGAN, b - BEGAN) for a, b in two.healthy] == [
        (2 * (a - BEGAN), 2 * (b - BEGAN)) for a, b in one.healthy
    ]


@pytest.mark.parametrize(
    ("limits", "healthy"),
    [
        pytest.param({}, (WARM_UP, 120.0), id="whole run without the warm-up"),
        pytest.param({"judged_from": 50.0}, (50.0, 120.0), id="start of the judged time"),
        pytest.param({"judged_until": 70.0}, (WARM_UP, 70.0), id="end of the judged time"),
    ],
)
def test_a_healthy_group_has_one_healthy_phase(limits: dict[str, float], healthy: tuple[float, float]) -> None:
    """Marks of the scenario, such as a planned reset, do not end the healthy phase."""
    (label,) = labelled(dataclasses.replace(KEEPS_UP, **limits), {"reset": 30.0}).groups
    assert label.healthy == ((BEGAN + healthy[0], BEGAN + healthy[1]),)
    assert not label.faults


def test_the_silence_before_a_fault_is_no_healthy_phase() -> None:
    """The first mark of the scenario ends the healthy phase, even if the fault counts from another one."""
    (label,) = labelled(STOPS, {"silence": 50.0, "fault": 60.0}).groups
    assert label.healthy == ((BEGAN + WARM_UP, BEGAN + 50),)


def test_outages_of_all_groups_can_begin_a_fault() -> None:
    """A fault can begin at the mark of an outage that all groups share, and the labels list the outage."""
    scenario = dataclasses.replace(STOPS, expected=(ExpectedVerdict(("no_leader",), 6.0, "leader dies"),))
    labels = labelled(scenario, {}, {"leader dies": 70.0})
    assert labels.groups[0].faults[0].began == BEGAN + 70
    assert labels.outages == {"leader dies": BEGAN + 70}


def test_a_scenario_whose_fault_was_not_produced_has_no_label() -> None:
    """A group whose mark was not reached has no label."""
    assert labelled(STOPS, {}).groups == ()


def test_saved_labels_are_loaded_unchanged(tmp_path: Path) -> None:
    """Saving and loading gives equal labels. A file of another format is refused."""
    labels = labelled(STOPS, {"fault": 60.0}, {"broker stops": 90.0})
    file = tmp_path / "labels.json"
    labels.save(file)
    assert load_labels(file) == labels
    file.write_text(file.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(ValueError, match="format 1"):
        load_labels(file)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_every_scenario_can_be_labelled(scenario: VerdictScenario) -> None:
    """A sick group has a healthy phase and faults whose causes are verdicts. A healthy one has no fault."""
    marks = {each.mark: 60.0 + 10 * number for number, each in enumerate(scenario.expected)}
    (label,) = labelled(scenario, marks).groups
    assert bool(label.faults) == (scenario.kind == "sick")
    assert {cause for fault in label.faults for cause in fault.causes} <= set(Verdict) - set(FINE)
    assert label.healthy
