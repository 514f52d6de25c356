"""The benchmark's traffic: what its figures are about must be what it says."""

from __future__ import annotations

import numpy as np
import pytest

from bench import traffic as made
from bench.traffic import HOT_KEYS, HOT_TRAFFIC, Kind, Traffic, chunks, one_commit_each

SIZE = Traffic(60_000, groups=200)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make chunks so small that the traffic has several, the last one not full."""
    monkeypatch.setattr(made, "CHUNK", 25_000)


@pytest.mark.usefixtures("small_chunks")
def test_the_same_traffic_twice() -> None:
    """Two runs write the same records, so that figures of two days can be compared."""
    for one, other in zip(chunks(SIZE), chunks(SIZE), strict=True):
        for column in ("kind", "key", "offset", "time"):
            np.testing.assert_array_equal(getattr(one, column), getattr(other, column))


@pytest.mark.usefixtures("small_chunks")
def test_chunks_are_the_whole_traffic_in_order() -> None:
    """No record is lost or made twice at the borders of chunks."""
    times = np.concatenate([chunk.time for chunk in chunks(SIZE)])
    np.testing.assert_array_equal(times, made.START_MS + np.arange(SIZE.records))


def test_shares_are_those_it_promises() -> None:
    """Half of the commits fall on a tenth of the keys; memberships and tombstones are one record in two hundred."""
    (chunk,) = chunks(SIZE)
    commits = chunk.key[chunk.kind == Kind.COMMIT]
    hot = commits % round(1 / HOT_KEYS) == 0
    assert hot.mean() == pytest.approx(HOT_TRAFFIC, abs=0.02)
    assert len(np.unique(commits[hot])) == SIZE.keys * HOT_KEYS
    assert (chunk.kind == Kind.MEMBERSHIP).mean() == pytest.approx(made.MEMBERSHIPS, abs=0.002)
    assert (chunk.kind >= Kind.OFFSET_TOMBSTONE).mean() == pytest.approx(made.TOMBSTONES, abs=0.002)


def test_no_commit_is_above_the_end_of_its_partition() -> None:
    """Else its lag would not be known, and the benchmark's answer would have holes."""
    (chunk,) = chunks(SIZE)
    commits = chunk.kind == Kind.COMMIT
    assert 0 <= chunk.offset[commits].min() <= chunk.offset[commits].max() <= SIZE.log_end
    assert max(one_commit_each(SIZE, 50, number).offset.max() for number in range(300)) <= SIZE.log_end


def test_keys_are_of_groups_that_exist() -> None:
    """A key's number is below the number of keys, a membership's below the number of groups."""
    (chunk,) = chunks(SIZE)
    of_group = (chunk.kind == Kind.MEMBERSHIP) | (chunk.kind == Kind.GROUP_TOMBSTONE)
    assert chunk.key.min() >= 0
    assert chunk.key[~of_group].max() < SIZE.keys
    assert chunk.key[of_group].max() < SIZE.groups
