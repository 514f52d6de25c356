"""All verdict scenarios, sick ones first."""

from typing import Final

from sandbox.verdict_scenarios.healthy import HEALTHY
from sandbox.verdict_scenarios.outages import OUTAGES
from sandbox.verdict_scenarios.scenario import VerdictScenario
from sandbox.verdict_scenarios.sick import SICK

SCENARIOS: Final[tuple[VerdictScenario, ...]] = tuple(
    sorted((*SICK, *HEALTHY, *OUTAGES), key=lambda each: each.kind, reverse=True)
)
