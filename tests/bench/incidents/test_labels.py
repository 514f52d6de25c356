"""Labels describe the performed faults of a run, with the time from which they can be known, and the healthy phases."""

import dataclasses
from typing import Final

from bench.incidents.labels import WARM_UP, LabelledFault, RecordingLabels, label_run
from sandbox.clients.traffic import ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.record import RunRecord
from sandbox.verdict_scenarios.scenario import FINE, ExpectedVerdict, VerdictScenario
from stream.health.verdict import Verdict

BEGAN: Final = 1_000_000.0
STOPS: Final = VerdictScenario(
    "stops", "sick", "it stops", {"in": ScenarioTopic()}, (), expected=(ExpectedVerdict(("stopped",), 3.0),)
)
KEEPS_UP: Final = VerdictScenario("keeps-up", "healthy", "it keeps up", {"in": ScenarioTopic()}, ())


def labelled(scenario: VerdictScenario, marks: dict[str, float], stretch: float = 1.0) -> RecordingLabels:
    """Return the labels of a run of 120 s with these marks, in seconds of the run."""
    times = {name: BEGAN + time * stretch for name, time in marks.items()}
    run = RunRecord(
        BEGAN, BEGAN + 120 * stretch, {scenario.name: "g"}, {scenario.name: times}, [], [], [], stretch=stretch
    )
    return label_run([scenario], run)


def test_a_fault_is_knowable_some_time_after_it_began() -> None:
    """The times are those of the run's marks. A sick group is healthy until the first mark of its scenario."""
    (label,) = labelled(STOPS, {"silence": 50.0, "fault": 60.25}).groups
    assert label.faults == (LabelledFault(("stopped",), BEGAN + 60.25, BEGAN + 63.25),)
    assert label.healthy == ((BEGAN + WARM_UP, BEGAN + 50),)
    assert (label.group, label.fate, label.topics) == ("g", "sick", ("g-in",))
    assert labelled(STOPS, {}).groups == ()


def test_labels_of_a_slower_run_are_times_of_the_wall_clock() -> None:
    """All times since the beginning are longer in a slower run; times `faster`, they are those of production.

    A group that recovers is healthy again until the end, from three ticks after its recovery must be shown.
    """
    scenario = dataclasses.replace(STOPS, expected=(*STOPS.expected, ExpectedVerdict(FINE, 20.0)))
    for stretch in (1.0, 2.0):
        labels = labelled(scenario, {"fault": 60.0}, stretch)
        assert (labels.faster, labels.tick, labels.offsets_retention) == (5 / stretch, 2 * stretch, 240 * stretch)
        ((label,), recovered) = labels.groups, BEGAN + (80 + 3 * pace.TICK) * stretch
        assert label.healthy == ((BEGAN + WARM_UP * stretch, BEGAN + 60 * stretch), (recovered, BEGAN + 120 * stretch))
        assert (label.recovered, label.faults[0].knowable, len(label.faults)) == (recovered, BEGAN + 63 * stretch, 1)


def test_every_scenario_can_be_labelled() -> None:
    """A sick group has a healthy phase and faults whose causes are verdicts. A healthy one has no fault."""
    wrong = []
    for scenario in SCENARIOS:
        marks = {each.mark: 60.0 + 10 * number for number, each in enumerate(scenario.expected)}
        (label,) = labelled(scenario, marks).groups
        causes = {cause for fault in label.faults for cause in fault.causes}
        if not label.healthy or bool(causes) != (scenario.kind == "sick") or not causes <= set(Verdict) - set(FINE):
            wrong.append(f"{scenario.name}: {label}")
    assert wrong == []
