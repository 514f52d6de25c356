"""The verdict evaluator: verdicts tick by tick, their history, and their storage over a restart."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters.readmodel import Snapshot
from stream.checkpoint.directory import VERDICTS
from stream.groups.driver_state import GroupColumns
from stream.health.columns import Ints
from stream.health.inputs import HealthInputs
from stream.health.verdict import Verdict
from stream.tick.context import UNKNOWN_CLUSTER
from stream.tick.hidden_commits.overlay import BlockedOffsetsPartition, HiddenCommits
from stream.tick.snapshot import build as snapshot
from stream.tick.verdicts.evaluate import VerdictEvaluator
from stream.tick.verdicts.evaluated_tick import EvaluatedTick
from stream.tick.verdicts.store import VerdictStore
from tests.stream.tick.health_inputs import derived
from tests.stream.tick.timeline import LIMITS, START, START_MS, TICK, end, generation
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value, group_key


class Story:
    """A group `g` on t-0 that reads all until some second, ticked every ten seconds."""

    def __init__(self, reads_until: int = 600, *, members: bool = True) -> None:
        self.shard = ShardReader()
        self.second = 0
        self._until = reads_until
        self.backfill: Callable[[HealthInputs], tuple[Ints, Ints]] | None = None
        self.hide: Callable[[GroupColumns], HiddenCommits] | None = None
        if members:
            self.shard.read([generation(1, "m")], START_MS)

    def read(self) -> None:
        """Advance ten seconds without a tick."""
        self.second += TICK
        now = START + self.second
        if self.second <= self._until:
            self.shard.read([(commit_key("g", "t", 0), commit_value(end(self.second - 5), now * 1000))], now * 1000)

    def evaluate(self, evaluator: VerdictEvaluator, partitions: int = 1) -> EvaluatedTick:
        """Advance ten seconds and evaluate."""
        self.read()
        now = START + self.second
        state = self.shard.driver_state.columns()
        ends = ends_of([("t", at, end(self.second), end(self.second), 0, None) for at in range(partitions)])
        cluster = dataclasses.replace(UNKNOWN_CLUSTER, partition_counts={"t": partitions} if partitions else {})
        found = derived(state, ends, now, cluster)
        if self.hide is not None:
            found = dataclasses.replace(found, hidden=self.hide(state))
        return evaluator.evaluate(found, self.backfill)

    def tick(self, evaluator: VerdictEvaluator, partitions: int = 1) -> tuple[EvaluatedTick, Snapshot]:
        """Advance ten seconds, evaluate, and build the snapshot."""
        evaluated = self.evaluate(evaluator, partitions)
        return evaluated, snapshot.build_evaluated(evaluated)

    def run(self, evaluator: VerdictEvaluator, until: int, partitions: int = 1) -> tuple[EvaluatedTick, Snapshot]:
        """Evaluate every ten seconds until `until`; build the snapshot of the last tick."""
        while self.second < until - TICK:
            self.evaluate(evaluator, partitions)
        return self.tick(evaluator, partitions)


def row(table: Any, at: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = table.slice(at, 1).to_pylist()[0]
    return found


def test_a_stopped_group_is_shown_everywhere() -> None:
    """Partition, group, topic, counts, finding and history have the same verdict."""
    evaluator = VerdictEvaluator(LIMITS)
    evaluated, shown = Story(600).run(evaluator, 900)
    partition, group, topic = row(shown.partitions), row(shown.groups), row(shown.topics)
    assert (partition["verdict"], group["verdict"], topic["verdict"]) == ("stopped",) * 3
    assert (group["severity"], group["verdict_partitions"], group["held_back"]) == ("critical", 1, False)
    assert group["verdict_since"] == partition["verdict_since"]
    assert (partition["lag"], partition["margin"], partition["lost"]) == (end(900) - end(595), end(595), 0)
    assert partition["time_lag"] == pytest.approx(305, abs=TICK)
    assert group["time_lag_max"] == topic["time_lag_max"] == partition["time_lag"]
    assert partition["offset_hidden"] is False
    counts = {each["verdict"]: each["groups"] for each in shown.verdict_groups.to_pylist()}
    assert (counts["stopped"], sum(counts.values()), set(counts)) == (1, 1, set(Verdict))
    finding = evaluated.details.finding("g")
    assert finding is not None
    assert evaluated.details.sentences(["g", "stranger"]) == [finding.sentence, None]
    assert (finding.verdict, finding.severity) == ("stopped", "critical")
    assert finding.evidence["time_lag"] == partition["time_lag"]
    assert str(finding.evidence["commit_time"]).startswith("2023-11-14T22:23:20")
    assert [each[:2] for each in evaluated.details.partition_findings("g")] == [("t", 0)]
    assert [(each.before, each.verdict) for each in evaluator.changes_of("g")] == [(None, "ok"), ("ok", "stopped")]
    assert evaluated.details.finding("stranger") is None
    changes = {each["verdict"]: each["groups"] for each in evaluator.changes_table().to_pylist()}
    assert (changes["stopped"], sum(changes.values()), set(changes)) == (1, 1, set(Verdict))


def test_a_verdict_and_its_date_survive_a_restart(tmp_path: Path) -> None:
    """The next process shows the verdict of the last one, with the same time and history, and counts no change."""
    first = VerdictEvaluator(LIMITS, store=VerdictStore(tmp_path))
    story = Story(600)
    before = row(story.run(first, 900)[1].groups)
    assert before["verdict"] == "stopped"
    first.save()
    second = VerdictEvaluator(LIMITS, store=VerdictStore(tmp_path))
    for _ in range(6):
        after = row(story.tick(second)[1].groups)
        assert (after["verdict"], after["verdict_since"]) == (before["verdict"], before["verdict_since"])
    assert second.changes_of("g") == first.changes_of("g")
    assert sum(each["groups"] for each in second.changes_table().to_pylist()) == 0


def test_verdicts_are_stored_while_the_process_runs(tmp_path: Path) -> None:
    """A process that is killed before it calls `save` has stored its verdicts, once per minute."""
    evaluator, story, file = VerdictEvaluator(LIMITS, store=VerdictStore(tmp_path)), Story(600), tmp_path / VERDICTS
    stored_at = []
    while story.second < 200:
        story.evaluate(evaluator)
        if file.exists():
            stored_at.append(story.second)
            file.unlink()
    assert stored_at == [70, 130, 190]
    story.run(evaluator, 900)
    stored = VerdictStore(tmp_path).read()
    assert stored is not None
    assert [each.verdict for each in stored.changes["g"]] == ["ok", "stopped"]


def test_discarded_verdicts_are_not_stored(tmp_path: Path) -> None:
    """After a reset, neither ticks nor `save` write a file."""
    evaluator = VerdictEvaluator(LIMITS, store=VerdictStore(tmp_path))
    story = Story(600)
    story.run(evaluator, 30)
    evaluator.reset()
    story.run(evaluator, 150)
    evaluator.save()
    assert VerdictStore(tmp_path).read() is None


def test_a_partition_without_any_commit_has_a_row() -> None:
    """Partition 1 of a subscribed topic gets records and no commit: it has no lag, but a verdict."""
    story, evaluator = Story(10_000), VerdictEvaluator(LIMITS)
    evaluated, shown = story.run(evaluator, 900, partitions=2)
    partition = row(shown.partitions, 1)
    assert (partition["partition"], partition["committed_offset"], partition["commit_time"]) == (1, None, None)
    assert (partition["lag"], partition["lag_unknown_reason"]) == (None, "never_committed")
    assert partition["verdict"] in {"never_committed", "unassigned"}
    assert partition["time_lag_exact"] is False
    assert (partition["margin"], partition["lost"], partition["produce_rate"]) == (None, None, None)
    group, topic = row(shown.groups), row(shown.topics)
    assert (group["partitions"], group["partitions_lag_unknown"], group["lag_sum"]) == (1, 1, 500)
    assert (topic["partitions"], topic["partitions_lag_unknown"], topic["verdict"]) == (1, 1, partition["verdict"])
    assert [each[:2] for each in evaluated.details.partition_findings("g")] == [("t", 1)]
    assert len(story.tick(evaluator, partitions=0)[1].partitions) == 2, "while no broker describes the topic"


def test_a_dead_group_has_no_verdict() -> None:
    """A group in its grace period is shown as dead, without a verdict."""
    evaluator, story = VerdictEvaluator(LIMITS), Story(600)
    story.run(evaluator, 700)
    story.shard.read([(group_key("g"), None), (commit_key("g", "t", 0), None)], (START + 701) * 1000)
    evaluated, shown = story.tick(evaluator)
    dead = row(shown.groups)
    columns = ("verdict", "severity", "verdict_since", "verdict_partitions", "sentence", "time_lag_max", "held_back")
    assert [dead[name] for name in columns] == [None] * len(columns)
    assert (evaluated.details.finding("g"), evaluated.details.partition_findings("g")) == (None, ())
    assert sum(each["groups"] for each in shown.verdict_groups.to_pylist()) == 0


class Backfill:
    """Answers for offsets-for-times with the true end offsets of the last hour."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, inputs: HealthInputs) -> tuple[Ints, Ints]:
        """Return the end offset of every minute."""
        self.calls += 1
        seconds = np.arange(inputs.now // 1000 - START - 3600, inputs.now // 1000 - START, 60)
        return (seconds + START) * 1000, np.array([[end(int(second)) for second in seconds]])


def test_the_end_history_is_backfilled_once() -> None:
    """With past end offsets, the age of an old record is exact from the first tick on."""
    backfill, story = Backfill(), Story(600)
    story.backfill = backfill
    while story.second < 900:
        story.read()
    evaluator = VerdictEvaluator(LIMITS)
    shown = story.tick(evaluator)[1]
    story.tick(evaluator)
    partition = row(shown.partitions)
    assert (partition["time_lag"], partition["time_lag_exact"]) == (pytest.approx(315, abs=2), True)
    assert backfill.calls == 1


def before_the_read(state: GroupColumns) -> HiddenCommits:
    """Return the state while commits of g are hidden and have not been read yet."""
    none = np.zeros(len(state.runs), np.bool_)
    return HiddenCommits(state, none, {3: BlockedOffsetsPartition(3, 5)}, unread_groups=frozenset({"g"}))


def test_a_hidden_group_gets_no_bad_verdict() -> None:
    """A hidden group may have made progress behind the open transaction, so its last verdict stays."""
    story = Story(600)
    evaluator = VerdictEvaluator(LIMITS)
    story.run(evaluator, 600)
    story.hide = before_the_read
    shown = story.run(evaluator, 900)[1]
    assert row(shown.partitions)["verdict"] == "ok"
    story.hide = None
    assert row(story.tick(evaluator)[1].partitions)["verdict"] == "stopped"
