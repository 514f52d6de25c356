"""Burrow's statuses beside the verdicts of other rules: the same as those of the evaluation by Burrow's rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream.health.burrow.evaluator import BurrowEvaluator
from stream.health.burrow.rules import INTERVALS, BurrowStatus
from stream.health.evaluator import Evaluator
from tests.stream.health.burrow.test_evaluator import NOON, TICK, At, moment

if TYPE_CHECKING:
    from stream.health.inputs import HealthInputs


def ticks(count: int) -> list[HealthInputs]:
    """Return ticks of three partitions: one keeps up, one has stopped, one has no commit."""
    return [
        moment(
            NOON + tick * TICK,
            At(90 + tick, NOON + tick * TICK - 1_000, 1 + tick, 90 + tick),
            At(50, NOON - 1_000, 1, 90 + tick),
            None,
        )
        for tick in range(count)
    ]


def test_statuses_are_those_of_the_evaluation_by_burrows_rules() -> None:
    """The statuses beside lagwarden's verdicts are Burrow's verdicts at every tick."""
    own, burrow = Evaluator(), BurrowEvaluator()
    own.track_burrow_statuses()
    for inputs in ticks(INTERVALS + 2):
        own.evaluate(inputs)
        wanted = burrow.evaluate(inputs)
        assert own.burrow_statuses is not None
        assert own.burrow_statuses.status.tolist() == wanted.verdict.tolist()
    assert set(wanted.verdict.tolist()) == {BurrowStatus.OK, BurrowStatus.STOP, BurrowStatus.NOTFOUND}


def test_a_window_is_complete_after_ten_commits() -> None:
    """Burrow shows some values only of complete windows, and one commit per tick fills one slot."""
    evaluator = Evaluator()
    evaluator.track_burrow_statuses()
    complete = []
    for inputs in ticks(INTERVALS + 1):
        evaluator.evaluate(inputs)
        assert evaluator.burrow_statuses is not None
        complete.append(evaluator.burrow_statuses.complete.tolist())
    assert complete == [[False] * 3] * (INTERVALS - 1) + [[True, False, False]] * 2


def test_statuses_that_are_not_requested_are_not_computed() -> None:
    """The statuses are not computed without a request, because windows cost memory and time at each tick."""
    evaluator = Evaluator()
    evaluator.evaluate(ticks(1)[0])
    assert evaluator.burrow_statuses is None


def test_burrows_own_evaluation_always_has_its_statuses() -> None:
    """The statuses are the verdicts with `health.rules: burrow`, whether or not they are requested."""
    evaluator = BurrowEvaluator()
    evaluator.track_burrow_statuses()
    result = evaluator.evaluate(ticks(1)[0])
    assert evaluator.burrow_statuses is not None
    assert np.array_equal(evaluator.burrow_statuses.status, result.verdict)
