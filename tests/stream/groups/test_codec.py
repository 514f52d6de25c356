"""Shards as bytes: round trips, rejected bytes, and states of earlier versions."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given

from stream.groups.codec import FORMAT, UnknownFormatError, pack, unpack_change, unpack_delta, unpack_state
from stream.groups.commits.runs import Spans
from stream.groups.commits.tombstones import OffsetTombstones
from stream.groups.lifecycle.record import HistoryTable
from stream.groups.reduce import reduce
from stream.groups.shard import ShardChange, ShardDelta, ShardState, empty_delta, empty_state
from stream.offline.capture import CaptureFile
from stream.offline.replay import Replay
from tests.support.commits import read_run
from tests.support.driver_states import Timed, delta_of
from tests.support.group_histories import EVERYTHING, commits, forgets, histories_in
from tests.support.histories import LOGS
from tests.support.hypothesis_profiles import examples

STORED: Final = Path(__file__).parent / "stored"
"""States as the state store held them, per offsets partition, of the recorded capture. Written once by the version
whose format they have; never written again."""
CAPTURE: Final = Path(__file__).resolve().parents[2] / "captures" / "all-kinds.avro"
PARTITIONS: Final = (0, 1, 3)


def tables_of(shard: ShardState | ShardDelta | ShardChange) -> dict[str, Any]:
    """Return the tables of a shard as plain values, independent of the order of its rows."""
    histories = HistoryTable.empty() if isinstance(shard, ShardDelta) else shard.histories
    tombstones = OffsetTombstones.empty() if isinstance(shard, ShardState) else shard.tombstones
    keys = shard.runs.keys.to_pylist()
    return {
        "runs": {key: read_run(shard.runs, row) for row, key in enumerate(keys)},
        "metadata": dict(zip(keys, shard.runs.metadata.to_pylist(), strict=True)),
        "epochs": dict(zip(keys, shard.runs.leader_epoch.tolist(), strict=True)),
        "records": dict(zip(shard.records.keys.to_pylist(), shard.records.values.to_pylist(), strict=True)),
        "written": sorted(zip(shard.records.position.tolist(), shard.records.time.tolist(), strict=True)),
        "histories": dict(zip(histories.groups.to_pylist(), histories.values.to_pylist(), strict=True)),
        "died": histories.died.tolist(),
        "tombstones": tombstones.keys.to_pylist(),
        "aborts": dict(zip(shard.aborts.keys.to_pylist(), shard.aborts.count.tolist(), strict=True)),
        "position": shard.position,
        "time": shard.time,
    }


def replayed() -> dict[int, ShardState]:
    replay = Replay()
    replay.read(CaptureFile(CAPTURE).rows())
    return replay.shards


@examples(25)
@given(LOGS)
def test_shards_round_trip_through_bytes(log: list[Timed]) -> None:
    """States, deltas and changes are equal after a round trip, and so are later states."""
    delta = delta_of(log, 0) if log else empty_delta()
    state, change = reduce(empty_state(), [delta], EVERYTHING)
    assert tables_of(unpack_delta(pack(delta))) == tables_of(delta)
    assert tables_of(unpack_change(pack(change))) == tables_of(change)
    assert tables_of(unpack_state(pack(state))) == tables_of(state)
    more = delta_of([*commits(9000, 0, 1, group="z"), *forgets(9001, 0, group="a")], 1000)
    back = unpack_state(pack(state))
    assert tables_of(reduce(back, [more], EVERYTHING)[0]) == tables_of(reduce(state, [more], EVERYTHING)[0])


def test_shards_are_compressed() -> None:
    """Runs of alike commits take less than half of the bytes of their columns."""
    _, change = reduce(empty_state(), [delta_of(commits(0, *range(2000)), 0)], EVERYTHING)
    plain = sum(getattr(change.runs.spans, name).nbytes for name in Spans.__dataclass_fields__)
    assert len(pack(change)) < plain / 2


@pytest.mark.parametrize("unpack", [unpack_state, unpack_delta, unpack_change])
def test_bytes_of_another_kind_are_refused(unpack: Callable[[bytes], object]) -> None:
    """Bytes that are not a packed shard of a known format raise an error instead of giving a wrong state."""
    beginnings = (b"XWS\x02", b"LWS\xff", b"LWS\x00", b"LWS\x01")
    for alien in (b"", b"LWS", b"LWS\x02", *(beginning + bytes(20) for beginning in beginnings)):
        with pytest.raises(UnknownFormatError, match="not a packed shard"):
            unpack(alien)


def stored(number: int, partition: int) -> ShardState:
    """Return a state that an earlier version wrote."""
    return unpack_state((STORED / f"format-{number}-partition-{partition}.lws").read_bytes())


def test_states_of_formats_2_and_3_are_read_exactly() -> None:
    """Each state equals that of the capture today; partition 0 of format 3 has the aborted commits of an added key."""
    assert FORMAT == 3
    key, now = b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00", replayed()
    for number, partition in itertools.product((2, 3), PARTITIONS):
        old, new = stored(number, partition), now[partition]
        assert histories_in(old) == histories_in(new)
        is_added = (number, partition) == (3, 0)
        aborts = {"aborts": {key: 3}} if is_added else {}
        assert {**tables_of(old), "histories": None} == {**tables_of(new), "histories": None, **aborts}
        numbers = [getattr(old.aborts, name).tolist() for name in ("first_time", "last_time", "producer_id")]
        assert numbers == ([[100], [300], [4000]] if is_added else [[], [], []])
