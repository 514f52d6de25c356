"""How many examples a law is held against: few in the quick profile, fifty times as many, and new ones, in the long."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import settings

QUICK: Final = 100
"""Examples of a law that says nothing else, in the quick profile."""


def load_profile() -> None:
    """Take the profile that the environment names."""
    settings.register_profile("quick", deadline=None, derandomize=True, max_examples=QUICK)
    settings.register_profile("long", deadline=None, max_examples=50 * QUICK)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def examples(quick: int) -> settings:
    """Let a law whose examples are dear have so many in the quick profile, and more by as much in a longer one."""
    return settings(max_examples=quick * settings().max_examples // QUICK)
