"""All verdict scenarios, sick ones first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sandbox.verdict_scenarios.healthy import HEALTHY
from sandbox.verdict_scenarios.outages import OUTAGES
from sandbox.verdict_scenarios.sick import SICK

if TYPE_CHECKING:
    from sandbox.verdict_scenarios.scenario import VerdictScenario

SCENARIOS: Final[tuple[VerdictScenario, ...]] = tuple(
    sorted((*SICK, *HEALTHY, *OUTAGES), key=lambda each: each.kind, reverse=True)
)
