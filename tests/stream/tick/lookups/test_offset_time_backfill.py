"""The past of the ends: asked for where it matters, bounded, and never taken for more than it says."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pytest

from stream.cluster.offsets_for_times import OFFSETS_FOR_TIMES
from stream.cluster.transport.errors import Unreachable
from stream.health.features.end_history import NO_LATER_RECORD, NOT_ANSWERED
from stream.health.features.partition_history import PartitionHistory
from stream.tick.lookups import offset_time_backfill as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.offset_time_backfill import COARSE, FINE, backfill
from tests.support.fleets import World, ends_of
from tests.support.health_inputs import health_inputs
from tests.support.raw import commit_key, commit_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.health.inputs import HealthInputs

NOON = 1_700_000_000
MS = 1_000


class Log:
    """Brokers whose partitions get a record every second since offset 0 was written, `lasts` seconds before noon."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lasts = 10_000
        self.log_start = 0
        self.asked: list[pa.Table] = []
        self.errors: dict[tuple[str, int], str] = {}
        self.away_after = 10**6
        self.time = 0.0
        self.takes = 0.0
        monkeypatch.setattr(lookup, "read_offsets_for_times", self._read)

    def _read(self, _: object, wanted: pa.Table) -> pa.Table:
        if len(self.asked) >= self.away_after:
            raise Unreachable("away", "")
        self.time += self.takes
        self.asked.append(wanted)
        rows = []
        for row in wanted.to_pylist():
            offset = max(self.log_start, (row["time"] - (NOON - self.lasts) * MS) // MS)
            error = self.errors.get((row["topic"], row["partition"]))
            told = offset if error is None and offset < self.lasts else None
            rows.append({**row, "offset": told, "error": error})
        return pa.Table.from_pylist(rows, schema=OFFSETS_FOR_TIMES)

    def seed(self, seen: HealthInputs, **bounds: Any) -> tuple[Any, Any] | None:
        """Ask for the seed."""
        return backfill(cast("Any", None), seen, LookupLimits(**bounds), lambda: self.time)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    """Give brokers with almost three hours of records."""
    return Log(monkeypatch)


def moment(committed: dict[tuple[str, int], int], end: int = 10_000, log_start: int = 0) -> HealthInputs:
    """Give a moment at which one group has committed this by (topic, partition)."""
    world = World()
    world.read(
        [(commit_key("g", *place), commit_value(offset, NOON * MS)) for place, offset in committed.items()],
        time=NOON * MS,
    )
    ends = ends_of([(topic, partition, end, end, log_start, None) for topic, partition in committed])
    return health_inputs(world.fleet.columns(), ends, float(NOON))


def test_the_history_covers_hours(log: Log) -> None:
    """Every answer is the end as it was then; before the first record there was nothing."""
    told = log.seed(moment({("t", 0): 5}))
    assert told is not None
    times, offsets = told
    ages = (NOON * MS - times) // MS
    assert (np.diff(times) > 0).all()
    assert sorted(ages.tolist()) == [age // MS for age in FINE]
    assert offsets.tolist() == [[max(0, 10_000 - age) for age in ages.tolist()]]


def test_a_memory_takes_it(log: Log) -> None:
    """What was written an hour ago is known to have been, to a share of the hour."""
    seen = moment({("t", 0): 5})
    memory = PartitionHistory()
    rows = memory.observe(seen)
    told = log.seed(seen)
    assert told is not None
    memory.seed(seen, *told)
    time, _ = memory.high_watermark.time_of(rows, np.array([10_000 - 5_000]))
    assert abs(int(time[0]) - (NOON - 5_000) * MS) < 10 * MS


def test_where_retention_has_deleted_nothing_is_known(log: Log) -> None:
    """The first record that is left is no answer for a time before it was written."""
    log.log_start = 9_000
    told = log.seed(moment({("t", 0): 5}, log_start=9_000))
    assert told is not None
    times, offsets = told
    ages = (NOON * MS - times) // MS
    assert offsets[0].tolist() == [10_000 - age if age < 1_000 else NOT_ANSWERED for age in ages.tolist()]


def test_no_later_record_and_no_answer(log: Log) -> None:
    """A quiet partition has its end since long; one that cannot be asked has no past."""
    log.lasts = 10_000
    log.errors = {("t", 1): "no_leader"}
    seen = moment({("t", 0): 5, ("t", 1): 5})
    quiet = dataclasses.replace(seen, now=(NOON + 30 * 86_400) * MS)
    told = log.seed(quiet)
    assert told is not None
    assert set(told[1][0].tolist()) == {NO_LATER_RECORD}
    assert set(told[1][1].tolist()) == {NOT_ANSWERED}


def test_what_has_something_unread_comes_first(log: Log) -> None:
    """With more partitions than may be asked for, the times are fewer, and the others go without."""
    seen = moment({("t", p): 10_000 if p % 2 else 5 for p in range(8)})
    told = log.seed(seen, backfill_lookups=6 * len(COARSE))
    assert told is not None
    assert len(told[0]) == len(COARSE)
    asked = (told[1] != NOT_ANSWERED).all(axis=1).tolist()
    assert asked == [True, True, True, True, True, False, True, False]
    assert sum(table.num_rows for table in log.asked) == 6 * len(COARSE)


def test_empty_partitions_are_not_asked(log: Log) -> None:
    """They have no past."""
    assert log.seed(moment({("t", 0): 0}, end=0)) is None
    assert log.asked == []


@pytest.mark.parametrize(
    ("spoil", "answered"),
    [
        pytest.param(lambda log: setattr(log, "takes", 4.0), 3, id="slow: what was asked until the limit stands"),
        pytest.param(lambda log: setattr(log, "away_after", 2), 2, id="away after two answers"),
        pytest.param(lambda log: setattr(log, "away_after", 0), 0, id="away from the start"),
    ],
)
def test_the_newest_times_first(log: Log, spoil: Callable[[Log], None], answered: int) -> None:
    """Whatever ends the asking, the recent past is known."""
    spoil(log)
    told = log.seed(moment({("t", 0): 5}))
    if not answered:
        assert told is None
        return
    assert told is not None
    known = (told[1][0] != NOT_ANSWERED).tolist()
    assert known == [False] * (len(FINE) - answered) + [True] * answered
