"""Which groups make an evaluation of many groups fail: found by halving, with a bound on the trials. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_TRIALS: Final = 256
"""Trials of one search. One faulty group of 100,000 takes 35, which together evaluate the fleet about three times."""


def faulty_groups(
    groups: Sequence[str], fails: Callable[[Sequence[str]], Exception | None], most: int = MOST_TRIALS
) -> dict[str, Exception]:
    """Return the groups whose evaluation fails, each with its error; empty if all groups together do not fail.

    `fails` evaluates some groups and returns what was raised. A block that fails is halved until single groups are
    left; when the trials are used up, the blocks that still fail are returned whole.
    """
    found: dict[str, Exception] = {}
    blocks = [list(groups)]
    for _ in range(most):
        if not blocks:
            return found
        block = blocks.pop(0)
        error = fails(block)
        if error is None:
            continue
        if len(block) == 1:
            found[block[0]] = error
        else:
            half = len(block) // 2
            blocks += [block[:half], block[half:]]
    for block in blocks:
        error = fails(block)
        if error is not None:
            found |= dict.fromkeys(block, error)
    return found
