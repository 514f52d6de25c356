"""Tests of odd commit times: none in the future or before 1970 reaches health, and the read model marks them."""

import dataclasses
from typing import Any

import pytest

from exporters.readmodel import Snapshot
from exporters.text.exposition import ExpositionFormat, render
from stream.health.inputs import HealthInputs
from stream.tick.context import UNKNOWN_CLUSTER
from stream.tick.inputs.builder import InputBuilder
from stream.tick.snapshot.build import build_evaluated
from stream.tick.verdicts.evaluate import VerdictEvaluator
from tests.stream.groups import written
from tests.stream.tick.health_inputs import derived
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value

NOW = 1_700_000_000_000
"""The first tick (ms)."""
TICK = 10_000
LATEST = 253_402_300_799_999
ODD = [NOW + 3_600_000, LATEST, LATEST + 1, 2**63 - 1, -2, -62_135_596_800_001, -(2**63)]


def snapshot_at(evaluator: VerdictEvaluator, shard: ShardReader, now: int, end: int) -> Snapshot:
    """Evaluate a tick at which partition 0 of t has this end offset; return the snapshot."""
    state = shard.driver_state.columns()
    return build_evaluated(evaluator.evaluate(derived(state, ends_of([("t", 0, end, end, 0, None)]), now / 1000)))


def inputs_at(builder: InputBuilder, shard: ShardReader, now: int) -> HealthInputs:
    """Return the inputs of health at `now` (ms), without any end offset."""
    return builder.build(derived(shard.driver_state.columns(), ends_of([]), now / 1000))[1]


def read_one_commit(shard: ShardReader, group: str, commit_time: int) -> None:
    """Read a group with one member that committed once, at offset 5, with this stored time."""
    member = written.classic_member("m", wants=written.subscription("t"), has=written.assignment({"t": (0,)}))
    shard.read([written.classic(member, group=group, time=NOW)], time=NOW)
    shard.read([(commit_key(group, "t", 0), commit_value(5, commit_time))], time=NOW)


def one_group(commit_time: int) -> ShardReader:
    shard = ShardReader()
    read_one_commit(shard, "g", commit_time)
    return shard


def test_no_commit_time_hides_that_a_group_stopped() -> None:
    """A group that makes no progress while records arrive is stopped, for any stored time of its last commit."""
    evaluator, shard = VerdictEvaluator(), ShardReader()
    for group, commit_time in enumerate((NOW, NOW + 86_400_000, 2**63 - 1, -(2**63), -1)):
        read_one_commit(shard, f"g{group}", commit_time)
    for tick in range(120):
        shown = snapshot_at(evaluator, shard, NOW + tick * TICK, 5 + 10 * tick)
    assert shown.groups.column("verdict").to_pylist() == ["stopped"] * 5


@pytest.mark.parametrize("commit_time", ODD)
def test_an_odd_commit_time_is_marked_and_replaced(commit_time: int) -> None:
    """The commit time is the time of the first tick with it, or null; partition, group and metric mark it as odd."""
    evaluator, shard = VerdictEvaluator(), one_group(commit_time)
    for tick in range(3):
        shown = snapshot_at(evaluator, shard, NOW + tick * TICK, 10)
    row = first(shown.partitions)
    assert row["commit_time"] == (NOW if commit_time > 0 else None)
    assert row["odd_time"] is True
    assert first(shown.groups)["odd_times"] == 1
    text = b"".join(part for part in render(shown).plain(ExpositionFormat.TEXT) if isinstance(part, bytes))
    assert b'lagwarden_group_odd_times{group="g"} 1\n' in text


def first(table: Any) -> dict[str, Any]:
    """Return the first row of a table, moments as Unix milliseconds."""
    return {
        name: column.cast("int64")[0].as_py() if str(column.type).startswith("timestamp") else column[0].as_py()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def test_times_that_can_be_right_are_those_of_the_state() -> None:
    """The columns of the state are not copied while no time is odd."""
    shard = one_group(NOW)
    spans, of_state = inputs_at(InputBuilder(), shard, NOW).spans, shard.driver_state.columns().runs.spans
    names = [field.name for field in dataclasses.fields(spans)]
    assert [name for name in names if getattr(spans, name) is not getattr(of_state, name)] == []


def test_a_replaced_commit_time_is_kept_while_rows_change() -> None:
    """A commit in the future keeps its time when rows are added; a new commit has a new time."""
    shard, builder = one_group(2**62), InputBuilder()

    def commit_times(now: int) -> list[int]:
        inputs = inputs_at(builder, shard, now)
        return inputs.spans.last_time.tolist()  # type: ignore[no-any-return]

    assert commit_times(NOW) == [NOW]
    shard.read([(commit_key("a", "s", 0), commit_value(5, NOW))], time=NOW)
    shard.read([(commit_key("h", "t", 7), commit_value(5, 2**62))], time=NOW)
    assert commit_times(NOW + TICK) == [NOW, NOW, NOW + TICK]
    shard.read([(commit_key("g", "t", 0), commit_value(6, 2**62))], time=NOW)
    assert commit_times(NOW + 2 * TICK) == [NOW, NOW + 2 * TICK, NOW + TICK]


def test_an_expiry_stored_by_a_client_is_clamped_and_marked() -> None:
    """Value version 1 stores an expiry of the client's choice: 2^63-1 means "never" and is the last time shown."""
    shard = ShardReader()
    value = commit_value(5, NOW, version=1)[:-8] + (2**63 - 1).to_bytes(8, "big")
    shard.read([(commit_key("g", "t", 0), value)], time=NOW)
    row = first(snapshot_at(VerdictEvaluator(), shard, NOW, 10).partitions)
    assert (row["offset_expiry_time"], row["odd_time"]) == (LATEST, True)


def test_a_commit_with_the_latest_time_never_expires_early() -> None:
    """The sum of commit time and retention does not wrap into the past."""
    around = dataclasses.replace(
        UNKNOWN_CLUSTER, retention=dataclasses.replace(UNKNOWN_CLUSTER.retention, retention_ms=604_800_000)
    )
    shard = ShardReader()
    shard.read([(commit_key("g", "t", 0), commit_value(5, 2**63 - 1))], time=NOW)
    found = derived(shard.driver_state.columns(), ends_of([]), 0.0, around)
    assert found.expiry.offset.tolist() == [2**63 - 1]
