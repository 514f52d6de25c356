"""All scenarios of the play, the sick before the healthy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sandbox.verdicts.healthy import HEALTHY
from sandbox.verdicts.sick import SICK
from sandbox.verdicts.violent import VIOLENT

if TYPE_CHECKING:
    from sandbox.verdicts.scenario import Scenario

SCENARIOS: Final[tuple[Scenario, ...]] = tuple(
    sorted((*SICK, *HEALTHY, *VIOLENT), key=lambda each: each.kind, reverse=True)
)
