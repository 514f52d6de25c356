"""Groups sick and healthy but odd on a real broker: each verdict comes in time, by its cause, and none in vain.

One play for all tests (`sandbox.verdict_scenarios`), of about five minutes.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Final

import pytest

from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.assess import MAX_TICKS_LATE, outcomes
from sandbox.verdict_scenarios.burrow import burrow_outcomes
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.report import page
from sandbox.verdict_scenarios.runner import run_scenarios

if TYPE_CHECKING:
    from sandbox.verdict_scenarios.assess import ScenarioOutcome
    from sandbox.verdict_scenarios.record import RunRecord

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.play, pytest.mark.timeout(900)]

SICK: Final = [each.name for each in SCENARIOS if each.kind == "sick"]
HEALTHY: Final = [each.name for each in SCENARIOS if each.kind == "healthy"]
MEDIAN: Final = 15.0
"""Seconds of production, after a fault can be known, within which half of them must have been told.

Two ticks. At the pace of production it is less: here the seconds that a micro-batch takes count five times.
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """Play everything."""
    return run_scenarios(SCENARIOS, tmp_path_factory.mktemp("verdicts"), print)


@pytest.fixture(scope="module")
def found(played: RunRecord, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ScenarioOutcome]:
    """Judge what was said, by scenario; the play and the page about it are kept in pytest's folder."""
    judged = outcomes(SCENARIOS, played)
    folder = tmp_path_factory.mktemp("judged")
    played.save(folder / "play.json")
    (folder / "verdicts.md").write_text(page(judged, burrow_outcomes(SCENARIOS, played), played))
    return {each.scenario.name: each for each in judged}


@pytest.mark.parametrize("name", SICK)
def test_a_sick_group_is_found_in_time_and_by_its_cause(found: dict[str, ScenarioOutcome], name: str) -> None:
    """Every verdict that is wanted of it is there within three ticks after it can be known."""
    outcome = found[name]
    late = {"/".join(each.expected.verdicts): each.ticks for each in outcome.met if not each.in_time}
    assert not late, f"ticks late, at most {MAX_TICKS_LATE} are allowed; it was {' > '.join(outcome.verdicts)}"
    assert outcome.exact


@pytest.mark.parametrize("name", [*HEALTHY, *SICK])
def test_nobody_is_called_in_vain(found: dict[str, ScenarioOutcome], name: str) -> None:
    """Not for a group that is only odd, at no tick, and of a sick one nothing is said that is not true."""
    outcome = found[name]
    assert not outcome.alarms, " > ".join(outcome.verdicts)


@pytest.mark.parametrize("name", ["still-stalled", "zombie", "hung", "poison", "falling-behind"])
def test_what_is_sick_is_said_to_be_until_the_end(found: dict[str, ScenarioOutcome], name: str) -> None:
    """Through the restarts of the broker and of the monitor, without a lapse."""
    outcome = found[name]
    assert outcome.found
    assert not outcome.lapses, " > ".join(outcome.verdicts)


def test_half_of_the_sick_are_found_soon(found: dict[str, ScenarioOutcome]) -> None:
    """The median over all that were found, in seconds of production."""
    late = [each.seconds for each in found.values() if each.scenario.kind == "sick" and each.seconds is not None]
    assert statistics.median(late) * pace.FASTER <= MEDIAN


def test_the_play_went_as_written(played: RunRecord) -> None:
    """Restarted brokers make faults that pass; before them everything that was to be done worked."""
    before = [fault for fault in played.faults if _seconds(fault) < 150]
    assert not before
    assert {"leader dies", "broker is back", "monitor is back"} <= played.marks[""].keys()


def _seconds(fault: str) -> float:
    return float(fault.partition(": ")[2].partition(" ")[0])
