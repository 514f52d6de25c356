"""Hypothesis profiles: few, fixed examples in the quick profile; twenty times as many, random ones in the long one."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, settings

QUICK: Final = 100
"""Examples per property test in the quick profile, unless the test sets another number."""


def load_profile() -> None:
    """Load the profile that `HYPOTHESIS_PROFILE` names; `quick` by default."""
    settings.register_profile("quick", deadline=None, derandomize=True, max_examples=QUICK)
    # `.ci/run` gives this profile the time that other tests leave, so a slow clock says nothing about a strategy.
    ignored = [HealthCheck.too_slow]
    settings.register_profile("long", deadline=None, max_examples=20 * QUICK, suppress_health_check=ignored)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def examples(quick: int) -> settings:
    """Return settings with `quick` examples in the quick profile, and proportionally more in a longer one."""
    return settings(max_examples=quick * settings().max_examples // QUICK)
