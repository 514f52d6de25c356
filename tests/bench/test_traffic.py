"""The benchmark's traffic has the documented properties."""

from __future__ import annotations

import numpy as np
import pytest

from bench import traffic as made
from bench.traffic import HOT_KEYS, HOT_TRAFFIC, Kind, Traffic, chunks, one_commit_each

SIZE = Traffic(60_000, groups=200)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use small chunks: the traffic has several, and the last one is not full."""
    monkeypatch.setattr(made, "CHUNK", 25_000)


@pytest.mark.usefixtures("small_chunks")
def test_traffic_is_the_same_in_every_run() -> None:
    """Two runs write the same records, so that their measurements can be compared."""
    for one, other in zip(chunks(SIZE), chunks(SIZE), strict=True):
        for column in ("kind", "key", "offset", "time"):
            np.testing.assert_array_equal(getattr(one, column), getattr(other, column))


@pytest.mark.usefixtures("small_chunks")
def test_chunks_contain_the_whole_traffic_in_order() -> None:
    """No record is lost or duplicated at the borders of chunks."""
    times = np.concatenate([chunk.time for chunk in chunks(SIZE)])
    np.testing.assert_array_equal(times, made.START_MS + np.arange(SIZE.records))


def test_shares_of_record_kinds_and_hot_keys_match_the_constants() -> None:
    """Half of the commits are for a tenth of the keys; memberships and tombstones are one record in 200 each."""
    (chunk,) = chunks(SIZE)
    commits = chunk.key[chunk.kind == Kind.COMMIT]
    hot = commits % round(1 / HOT_KEYS) == 0
    assert hot.mean() == pytest.approx(HOT_TRAFFIC, abs=0.02)
    assert len(np.unique(commits[hot])) == SIZE.keys * HOT_KEYS
    assert (chunk.kind == Kind.MEMBERSHIP).mean() == pytest.approx(made.MEMBERSHIPS, abs=0.002)
    assert (chunk.kind >= Kind.OFFSET_TOMBSTONE).mean() == pytest.approx(made.TOMBSTONES, abs=0.002)


def test_no_commit_is_above_the_end_of_its_partition() -> None:
    """Every commit is at most at the end offset, because a higher commit would have an unknown lag."""
    (chunk,) = chunks(SIZE)
    commits = chunk.kind == Kind.COMMIT
    assert 0 <= chunk.offset[commits].min() <= chunk.offset[commits].max() <= SIZE.log_end
    assert max(one_commit_each(SIZE, 50, number).offset.max() for number in range(300)) <= SIZE.log_end


def test_key_numbers_are_in_range() -> None:
    """A key's number is below the number of keys, a membership's below the number of groups."""
    (chunk,) = chunks(SIZE)
    of_group = (chunk.kind == Kind.MEMBERSHIP) | (chunk.kind == Kind.GROUP_TOMBSTONE)
    assert chunk.key.min() >= 0
    assert chunk.key[~of_group].max() < SIZE.keys
    assert chunk.key[of_group].max() < SIZE.groups
