"""Hypothesis profiles, by the environment variable HYPOTHESIS_PROFILE.

- `quick`: few, fixed examples: 60 % of the numbers in the tests
- `long`: ten times the numbers in the tests, random examples; that of `make full`
- `fuzz`: four times as many as in the long profile; that of `make fuzz`
"""

import os
import random
from typing import Final

from hypothesis import HealthCheck, settings

_QUICK: Final = 60
"""Examples per property test in the quick profile, unless the test sets another number."""
_STATED: Final = 100
"""The number of a test that sets none."""
_FUZZ_FACTOR: Final = 4
"""Examples and inputs of the fuzz profile for each one of the long profile."""


def load_profile() -> None:
    """Load the profile that `HYPOTHESIS_PROFILE` names; `quick` by default."""
    settings.register_profile("quick", deadline=None, derandomize=True, max_examples=_QUICK)
    # Slow tests run beside this profile, so a slow clock says nothing about a strategy.
    ignored = [HealthCheck.too_slow]
    for name, factor in (("long", 10), ("fuzz", 10 * _FUZZ_FACTOR)):
        settings.register_profile(name, deadline=None, max_examples=factor * _STATED, suppress_health_check=ignored)
    settings.load_profile(_profile())


def _profile() -> str:
    return os.environ.get("HYPOTHESIS_PROFILE", "quick")


def examples(stated: int) -> settings:
    """Return settings with the examples of the profile for a stated number; 100 is that of a test that states none."""
    return settings(max_examples=max(stated * settings().max_examples // _STATED, 1))


def inputs(fuzz: int) -> int:
    """Return the number of random inputs of a long test: `fuzz` in the fuzz profile, a quarter of it in the others."""
    return fuzz if _profile() == "fuzz" else fuzz // _FUZZ_FACTOR


def new_random() -> random.Random:
    """Return a generator with another seed in each run. Print the seed, which pytest shows on a failure."""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201  # to reproduce the failure
    return random.Random(seed)  # noqa: S311  # test data, not cryptography
