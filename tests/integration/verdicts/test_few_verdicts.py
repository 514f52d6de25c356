"""A few groups of the verdict scenarios, sick ones and their healthy look-alikes, in two and a half minutes.

Results that depend on the machine do not count: neither the time until a verdict, for which the run is extended while
one is missing, nor an alarm after the test's own clients had no turn. `make play` judges both, with all groups and
outages. The run has no cause that needs the commits around it to be read in time, such as a skip.
"""

import re
from typing import Final

import pytest

from sandbox.verdict_scenarios.assess import ScenarioOutcome, outcomes, unexplained_alarms
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.record import RunRecord
from sandbox.verdict_scenarios.runner import run_scenarios
from tests.support.processes import patience

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(600))]

LOOK_ALIKES: Final = {
    "left-members": "deploy",
    "hung": "rolling-restart",
    "zombie": "at-a-distance",
    "poison": "quiet",
    "open-transaction": "marker",
    "falling-behind": "recovering",
    "rewound": "planned-reset",
    "abandoned": "topic-deleted",
}
"""Sick group -> a healthy one that looks similar."""
CHOSEN: Final = tuple(each for each in SCENARIOS if each.name in {*LOOK_ALIKES, *LOOK_ALIKES.values()})
SECONDS: Final = 115.0
"""The end of the run, in its seconds: before all outages, and ten ticks after the last fault can be known."""
PATIENCE: Final = 100.0
"""Seconds of the run that it goes on while an expected verdict is missing, because the machine is busy."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """Return the record of the run, which is written to pytest's folder."""
    record = run_scenarios(CHOSEN, tmp_path_factory.mktemp("few-verdicts"), print, SECONDS, patience=PATIENCE)
    record.save(tmp_path_factory.mktemp("results") / "play.json")
    return record


@pytest.fixture(scope="module")
def found(played: RunRecord) -> dict[str, ScenarioOutcome]:
    """Return the outcomes by scenario."""
    return {each.scenario.name: each for each in outcomes(CHOSEN, played)}


def test_problems_are_found_with_their_causes(found: dict[str, ScenarioOutcome]) -> None:
    """Every expected verdict is shown before the end of the run."""
    sick = [found[name] for name in LOOK_ALIKES]
    assert [
        f"{each.scenario.name}: {' > '.join(each.verdicts)}" for each in sick if not (each.found and each.exact)
    ] == []


def test_no_untrue_alarm(found: dict[str, ScenarioOutcome], played: RunRecord) -> None:
    """A healthy look-alike gets no alarm, and a sick group gets only alarms that are true of it."""
    alarmed = [found[name] for name in (*LOOK_ALIKES, *LOOK_ALIKES.values()) if unexplained_alarms(found[name], played)]
    assert [f"{each.scenario.name}: {' > '.join(each.verdicts)}" for each in alarmed] == []


def test_all_actions_of_the_scenarios_succeeded(played: RunRecord) -> None:
    """Every group has the behavior that its scenario describes."""
    assert not [fault for fault in played.faults if re.search(r" s [A-Z]\w+\(", fault)]
    assert all(step.mark in played.marks[each.name] for each in CHOSEN for step in each.script if step.mark)
