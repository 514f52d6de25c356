"""The backfill of end histories: which partitions and times are requested, and what the answers mean."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stream.cluster.log_tails import TailRead, TailRequest
from stream.cluster.offsets_for_times import OFFSETS_FOR_TIMES
from stream.cluster.partition_offsets import Leaders
from stream.cluster.transport.errors import Unreachable
from stream.health.features.end_history import NO_LATER_RECORD, NOT_ANSWERED
from stream.health.inputs import HealthInputs
from stream.tick.lookups import offset_time_backfill as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.offset_time_backfill import COARSE, FINE, backfill, drop_odd_records
from tests.stream.tick.health_inputs import health_inputs
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value
from tests.support.scripted_cluster import no_cluster

NOON = 1_700_000_000
MS = 1_000


class Log:
    """Brokers whose partitions got one record per second in the last `lasts` seconds before noon."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lasts = 10_000
        self.log_start = 0
        self.written: int | None = None
        """The time of all records (ms), instead of those."""
        self.requests: list[pa.Table] = []
        self.errors: dict[tuple[str, int], str] = {}
        self.fails_after = 10**6
        self.time = 0.0
        self.takes = 0.0
        monkeypatch.setattr(lookup, "read_offsets_for_times", self._read)

    def _read(self, _: object, wanted: pa.Table, *__: object) -> pa.Table:
        if len(self.requests) >= self.fails_after:
            raise Unreachable("away", "")
        self.time += self.takes
        self.requests.append(wanted)
        rows = []
        for row in wanted.to_pylist():
            offset = max(self.log_start, (row["time"] - (NOON - self.lasts) * MS) // MS)
            error = self.errors.get((row["topic"], row["partition"]))
            answer = offset if error is None and offset < self.lasts else None
            times = {"record_time": None}
            if self.written is not None:
                answer, times = (0, {"record_time": self.written}) if self.written >= row["time"] else (None, times)
            rows.append({**row, "offset": answer, "error": error, **times})
        return pa.Table.from_pylist(rows, schema=OFFSETS_FOR_TIMES)

    def backfill(self, inputs: HealthInputs, **limits: Any) -> tuple[Any, Any] | None:
        return backfill(no_cluster(), inputs, Leaders(), LookupLimits(**limits), lambda: self.time)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    return Log(monkeypatch)


def inputs_of(
    committed: dict[tuple[str, int], int],
    end: int = 10_000,
    log_start: int = 0,
    more: dict[tuple[str, int], int] | None = None,
) -> HealthInputs:
    """Return the inputs of a tick with one group and these commits by (topic, partition), and `more` of another."""
    shard = ShardReader()
    commits = [("g", committed), ("other", more or {})]
    shard.read(
        [(commit_key(name, *at), commit_value(to, NOON * MS)) for name, some in commits for at, to in some.items()],
        time=NOON * MS,
    )
    ends = ends_of([(topic, partition, end, end, log_start, None) for topic, partition in committed])
    return health_inputs(shard.driver_state.columns(), ends, float(NOON))


def test_the_history_covers_hours(log: Log) -> None:
    """Every answer is the end offset at its time, which is 0 before the first record."""
    answers = log.backfill(inputs_of({("t", 0): 5}))
    assert answers is not None
    times, offsets = answers
    ages = (NOON * MS - times) // MS
    assert (np.diff(times) > 0).all()
    assert sorted(ages.tolist()) == [age // MS for age in FINE]
    assert offsets.tolist() == [[max(0, 10_000 - age) for age in ages.tolist()]]
    assert len(log.requests) == sum(age < 10_000 for age in ages) + 1, "before the first record all times are alike"


def test_no_later_record_and_no_answer(log: Log) -> None:
    """A partition at rest has no later record; a partition without a leader has no answer."""
    log.lasts = 10_000
    log.errors = {("t", 1): "no_leader"}
    inputs = inputs_of({("t", 0): 5, ("t", 1): 5})
    quiet = dataclasses.replace(inputs, now=(NOON + 30 * 86_400) * MS)
    answers = log.backfill(quiet)
    assert answers is not None
    assert set(answers[1][0].tolist()) == {NO_LATER_RECORD}
    assert set(answers[1][1].tolist()) == {NOT_ANSWERED}


@pytest.mark.parametrize("written", [1, NOON, NOON * MS * 1_000, (NOON + 86_400) * MS])
def test_times_that_cannot_be_true_are_no_answer(log: Log, written: int) -> None:
    """Near 1970, in seconds or microseconds, or ahead of now; a replayed archive has the times of its events."""
    log.written = written
    assert log.backfill(inputs_of({("t", 0): 5})) is None
    log.written = (NOON - 10 * 365 * 86_400) * MS
    answers = log.backfill(inputs_of({("t", 0): 5}))
    assert answers is not None
    assert set(answers[1][0].tolist()) == {NO_LATER_RECORD}


@pytest.mark.parametrize("written", [-1, 1, NOON, NOON * MS * 1_000, (NOON + 86_400) * MS])
def test_a_partition_is_not_dated_by_others_if_its_unread_record_has_no_true_time(
    log: Log, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """Of two groups, one stands before such a record. A record that waits since shortly, or of true time, is dated."""
    read: list[TailRequest] = []
    true = (NOON - 9_000) * MS

    def tails(_: object, wanted: list[TailRequest], *_args: object, **__: object) -> list[TailRead]:
        read.extend(wanted)
        odd = ("t", 0, 7)
        times = [written if (each.topic, each.partition, each.data_from) == odd else true for each in wanted]
        pairs = zip(wanted, times, strict=True)
        return [TailRead(each, times=np.array([[each.data_from], [time]])) for each, time in pairs]

    monkeypatch.setattr(lookup, "read_tails", tails)
    inputs = inputs_of({("t", 0): 5, ("t", 1): 5, ("t", 2): 9_990}, more={("t", 0): 7})
    answers = log.backfill(inputs)
    assert answers is not None
    limits = {"limits": LookupLimits(), "clock": lambda: 0.0}
    assert drop_odd_records(no_cluster(), inputs, Leaders(), answers[1], **limits) == {("t", 0)}
    assert (answers[1] == NOT_ANSWERED).all(axis=1).tolist() == [True, False, False]
    assert sorted((each.partition, each.data_from) for each in read) == [(0, 5), (0, 7), (1, 5)]


def test_partitions_with_unread_records_come_first(log: Log) -> None:
    """With more partitions than the limit allows, fewer times are requested, and some partitions have no request."""
    inputs = inputs_of({("t", p): 10_000 if p % 2 else 5 for p in range(8)})
    answers = log.backfill(inputs, backfill_lookups=6 * len(COARSE))
    assert answers is not None
    assert len(answers[0]) == len(COARSE)
    requested = (answers[1] != NOT_ANSWERED).all(axis=1).tolist()
    assert requested == [True, True, True, True, True, False, True, False]
    assert sum(table.num_rows for table in log.requests) == 6 * len(COARSE)


@pytest.mark.parametrize(
    ("fail", "answered"),
    [
        pytest.param(lambda log: setattr(log, "takes", 4.0), 3, id="slow: time limit reached after three answers"),
        pytest.param(lambda log: setattr(log, "fails_after", 2), 2, id="unreachable after two answers"),
        pytest.param(lambda log: setattr(log, "fails_after", 0), 0, id="unreachable from the start"),
    ],
)
def test_the_newest_times_are_requested_first(log: Log, fail: Callable[[Log], None], answered: int) -> None:
    """If the backfill ends early, the recent past is known."""
    fail(log)
    answers = log.backfill(inputs_of({("t", 0): 5}))
    if not answered:
        assert answers is None
        return
    assert answers is not None
    known = (answers[1][0] != NOT_ANSWERED).tolist()
    assert known == [False] * (len(FINE) - answered) + [True] * answered
