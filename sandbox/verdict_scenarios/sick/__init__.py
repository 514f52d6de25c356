"""The sick groups, each with the verdicts that must be shown and the time from which they can be known."""

from typing import Final

from sandbox.verdict_scenarios.sick.moving import MOVING
from sandbox.verdict_scenarios.sick.restless import RESTLESS
from sandbox.verdict_scenarios.sick.shared_group_id import SHARED
from sandbox.verdict_scenarios.sick.silent import SILENT
from sandbox.verdict_scenarios.sick.standing import STANDING
from sandbox.verdict_scenarios.sick.stored_offsets import OFFSETS

SICK: Final = (*SILENT, *STANDING, *MOVING, *RESTLESS, *SHARED, *OFFSETS)
