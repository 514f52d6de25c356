"""Packed evaluations: the findings of a group are those of the whole evaluation."""

import numpy as np
import pytest

from stream.health.evaluator import EvaluationResult, Evaluator
from stream.health.inputs import FailedReplica
from stream.health.packed_evaluation import PackedEvaluation
from tests.stream.health.panes import Row, judged, pane
from tests.stream.health.random_inputs import sequence


def _findings(evaluation: EvaluationResult, group: int) -> list[object]:
    first, last = np.searchsorted(evaluation.window.inputs.group, (group, group + 1)).tolist()
    rows = [(evaluation.partition_name(row), evaluation.row_finding(row)) for row in range(first, last)]
    return [repr(evaluation.group_finding(group)), *map(repr, rows)]


@pytest.mark.parametrize("seed", range(6))
def test_every_finding_of_a_group_is_that_of_the_whole_evaluation(seed: int) -> None:
    """The findings of the group and of each of its rows are equal in all fields."""
    evaluator, compared = Evaluator(), 0
    for number, inputs in enumerate(sequence(seed)):
        if inputs is None:
            evaluator.record_missed_tick()
            continue
        evaluation = evaluator.evaluate(inputs)
        if number % 4 == 0:
            packed = PackedEvaluation(evaluation)
            for group in range(len(inputs.groups.names)):
                found = _findings(packed.of_group(group - group % 2, group % 2 * 3), group)
                assert found == _findings(evaluation, group)
                compared += len(found)
    assert compared >= 20


def test_aborted_commits_and_failed_replicas_stay_with_their_row() -> None:
    """They are found by row, and the rows of a group are counted from its first row."""
    streak = Row(group="b", aborts=3, aborts_ago=(9_000, 1_000))
    failed = Row(group="b", known=False, reason="no_leader", failed=(FailedReplica(2, ("/data/2",)),))
    evaluation = judged(
        pane(Row(group="a", aborts=5), Row(group="b"), streak, failed), ["ok", "ok", "aborting", "no_leader"]
    )
    packed = PackedEvaluation(evaluation)
    for group, counts in ((0, {0: 5}), (1, {1: 3})):
        part = packed.of_group(group)
        assert {row: found.count for row, found in part.window.inputs.aborts.items()} == counts
        assert _findings(part, group) == _findings(evaluation, group)
    assert packed.of_group(1).row_finding(1).evidence["aborted_transactions"] == 3
    assert "/data/2" in packed.of_group(1).row_finding(2).next_step
