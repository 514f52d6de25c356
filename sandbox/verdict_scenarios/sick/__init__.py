"""The sick groups, each with the verdicts that must be shown and the time from which they can be known."""

from typing import Final

from sandbox.verdict_scenarios.sick.moving import MOVING, OFFSETS
from sandbox.verdict_scenarios.sick.restless import RESTLESS, SHARED
from sandbox.verdict_scenarios.sick.standing import SILENT, STANDING

SICK: Final = (*SILENT, *STANDING, *MOVING, *RESTLESS, *SHARED, *OFFSETS)
