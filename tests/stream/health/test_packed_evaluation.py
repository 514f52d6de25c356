"""Packed evaluations: the findings of a group are those of the whole evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream.health.burrow.evaluator import BurrowEvaluator
from stream.health.evaluator import Evaluator
from stream.health.packed_evaluation import PackedEvaluation
from tests.stream.health.random_inputs import sequence

if TYPE_CHECKING:
    from stream.health.evaluation import Evaluation, EvaluationRules


def _findings(evaluation: Evaluation, group: int) -> list[object]:
    first, last = np.searchsorted(evaluation.window.inputs.group, (group, group + 1)).tolist()
    rows = [(evaluation.partition_name(row), evaluation.row_finding(row)) for row in range(first, last)]
    return [repr(evaluation.group_finding(group)), *map(repr, rows)]


@pytest.mark.parametrize("rules", [Evaluator, BurrowEvaluator])
@pytest.mark.parametrize("seed", range(6))
def test_every_finding_of_a_group_is_that_of_the_whole_evaluation(rules: type[EvaluationRules], seed: int) -> None:
    """Sentence, evidence, since and next step of the group and of each of its rows, by both sets of rules."""
    evaluator, compared = rules(), 0
    for number, inputs in enumerate(sequence(seed)):
        if inputs is None:
            evaluator.record_missed_tick()
            continue
        evaluation = evaluator.evaluate(inputs)
        if number % 4 == 0:
            packed = PackedEvaluation(evaluation)
            for group in range(len(inputs.groups.names)):
                found = _findings(packed.of_group(group), group)
                assert found == _findings(evaluation, group)
                compared += len(found)
    assert compared >= 20
