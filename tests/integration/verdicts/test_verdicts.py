"""Verdicts on a real broker: problems are found in time with their cause, and unusual healthy groups cause none."""

import statistics
from typing import Final

import pytest

from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.assess import MAX_TICKS_LATE, ScenarioOutcome, blocked_since, outcomes
from sandbox.verdict_scenarios.burrow import burrow_outcomes
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.group_runner import PAUSE
from sandbox.verdict_scenarios.record import RunRecord
from sandbox.verdict_scenarios.report import write_page
from sandbox.verdict_scenarios.runner import run_scenarios
from sandbox.verdict_scenarios.scenario import END
from tests.support.processes import patience

LIMIT: Final = 600 + pace.CHOSEN.wall(END + 50.0)
"""Seconds of the wall clock for the run, its preparation and its end."""
pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.play, pytest.mark.timeout(patience(LIMIT))]

SICK: Final = [each.name for each in SCENARIOS if each.kind == "sick"]
HEALTHY: Final = [each.name for each in SCENARIOS if each.kind == "healthy"]
MEDIAN: Final = 15.0
"""Production seconds within which half of the detectable problems must be found.

Two ticks. Real latency is lower: here the duration of a micro-batch counts `RunPace.faster` times.
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """Return the record of a run of all scenarios."""
    return run_scenarios(SCENARIOS, tmp_path_factory.mktemp("verdicts"), print)


@pytest.fixture(scope="module")
def found(played: RunRecord, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ScenarioOutcome]:
    """Return the outcomes by scenario; the run and its report are written to pytest's folder."""
    results = outcomes(SCENARIOS, played)
    folder = tmp_path_factory.mktemp("results")
    played.save(folder / "play.json")
    write_page(folder / "verdicts.md", results, burrow_outcomes(SCENARIOS, played), played)
    return {each.scenario.name: each for each in results}


def test_problems_are_found_in_time_with_their_causes(found: dict[str, ScenarioOutcome]) -> None:
    """Every expected verdict appears within three ticks after it can be known."""
    wrong = []
    for name in SICK:
        outcome = found[name]
        late = {"/".join(each.expected.verdicts): each.ticks for each in outcome.met if not each.in_time}
        if late or not outcome.exact:
            was = " > ".join(outcome.verdicts)
            wrong.append(f"{name}: ticks late {late}, at most {MAX_TICKS_LATE} are allowed; it was {was}")
    assert wrong == []


def test_no_false_alarm(found: dict[str, ScenarioOutcome]) -> None:
    """No tick has an alarm for an unusual healthy group, or a wrong verdict for one with a problem."""
    alarmed = [name for name in (*HEALTHY, *SICK) if found[name].alarms]
    assert {name: " > ".join(found[name].verdicts) for name in alarmed} == {}


def test_verdicts_stay_until_the_end(found: dict[str, ScenarioOutcome]) -> None:
    """The verdict has no gap during the restarts of the broker and the monitor."""
    outcomes_of = {name: found[name] for name in ("still-stalled", "zombie", "hung", "poison", "falling-behind")}
    wrong = {name: " > ".join(each.verdicts) for name, each in outcomes_of.items() if each.lapses or not each.found}
    assert wrong == {}


def test_median_time_to_verdict(found: dict[str, ScenarioOutcome]) -> None:
    """The median over all found problems is within the limit, in production seconds."""
    late = [each.seconds for each in found.values() if each.scenario.kind == "sick" and each.seconds is not None]
    assert pace.production(statistics.median(late)) <= MEDIAN


def test_run_went_as_planned(played: RunRecord) -> None:
    """Before the broker restarts, all actions succeed, no client is blocked or loses its membership for good.

    Only named errors occur before it.
    """
    before = [fault for fault in played.faults if _seconds(fault) < 150]
    assert not [fault for fault in before if not _is_named(fault)]
    assert {"leader dies", "broker is back", "monitor is back"} <= played.marks[""].keys()
    undisturbed = played.marks[""]["broker stops"] - played.pace.wall(PAUSE)
    assert not [name for name in played.groups if blocked_since(played, name) < undisturbed]
    lost = [(name, since) for name, periods in played.lost_memberships.items() for since, _ in periods]
    assert not [name for name, since in lost if since < undisturbed]


def _is_named(fault: str) -> bool:
    error = next(each.client_error for each in SCENARIOS if each.name == fault.partition(":")[0])
    return error is not None and error in fault


def _seconds(fault: str) -> float:
    """Return the time of a fault in seconds of the run."""
    return float(fault.partition(": ")[2].partition(" ")[0])
