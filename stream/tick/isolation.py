"""Finds the groups that make an evaluation of many groups fail, by bisection with a bounded number of trials. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_TRIALS: Final = 256
"""Trials of one search. One faulty group of 100,000 takes 35, which together evaluate each group about three times."""


def faulty_groups(
    groups: Sequence[str], fails: Callable[[Sequence[str]], Exception | None], max_trials: int = MAX_TRIALS
) -> dict[str, Exception]:
    """Return the groups whose evaluation fails, each with its error; empty if all groups together do not fail.

    `fails` evaluates some groups and returns what was raised. A block that fails is halved until single groups are
    left. When no trials are left, all groups of the blocks that still fail are returned.
    """
    found: dict[str, Exception] = {}
    blocks = [list(groups)]
    for _ in range(max_trials):
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
