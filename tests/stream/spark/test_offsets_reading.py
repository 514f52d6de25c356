"""The parameters, memory and rows of a worker. The records that a task reads are compared in tests/integration."""

import base64
import gc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from stream.cluster.records.read import FetchedRecords
from stream.config.kafka_login import KafkaLogin, PasswordLogin
from stream.config.secret_sources import Secret, SecretFile, SecretValue
from stream.groups.codec import unpack_delta
from stream.groups.decode_stats import DecodeStats
from stream.groups.fold import Fold
from stream.groups.placement import Placement
from stream.groups.record_columns import RecordColumns
from stream.groups.reduce import reduce
from stream.groups.shard import empty_state
from stream.spark import offsets_reading
from stream.spark.reading_options import ClusterAccess, ReadingOptions
from tests.stream.spark.readings import reading_options
from tests.support.commits import KEEP, SLOT_MS
from tests.support.raw import commit_key, commit_value

OPTIONS = reading_options(starts={0: 0}, tasks=1, placement=Placement.build(1, 1))
KEY = b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00"
VALUE = b"\x00\x01" + bytes(7) + b"\x05\x00\x00" + bytes(16)


def one_commit(*_: object, **__: object) -> Iterator[FetchedRecords]:
    number = np.zeros(1, np.int64)
    keys, values = pa.array([KEY], pa.binary()), pa.array([VALUE], pa.binary())
    yield FetchedRecords(np.zeros(1, np.int32), number, number, keys, values, {0: 1})


def folds() -> list[Fold]:
    return [each for each in gc.get_objects() if isinstance(each, Fold)]


def test_memory_is_released_after_the_read_and_after_the_last_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are reused: memory is released again when all rows are taken and the fold is deleted, and not before."""
    folds_at_release: list[int] = []
    before = len(folds())
    monkeypatch.setattr(offsets_reading, "cluster_of", lambda _: None)
    monkeypatch.setattr(offsets_reading, "read_records", one_commit)
    monkeypatch.setattr(offsets_reading, "release_memory", lambda: folds_at_release.append(len(folds()) - before))
    rows = offsets_reading.read_deltas(OPTIONS, [(0, 0, 1)])
    assert next(rows).num_rows == 1
    assert folds_at_release == [1]
    assert not list(rows)
    assert folds_at_release == [1, 0]


def test_serialized_options_have_no_secret(tmp_path: Path) -> None:
    """The text has the file of a secret instead of its value. A secret without a file raises an error."""

    def text(secret: Secret) -> str:
        login = KafkaLogin(PasswordLogin("PLAIN", "u", secret))
        return reading_options(access=ClusterAccess(("b:9092",), login, 10.0)).to_text()

    place = tmp_path / "password"
    place.write_text("hunter2")
    written = text(SecretFile(place))
    assert b"hunter2" not in base64.b64decode(written)
    read = ReadingOptions.of_text(written).access.login.credentials
    assert isinstance(read, PasswordLogin)
    assert read.password.reveal() == "hunter2"
    with pytest.raises(TypeError, match="cannot leave its process"):
        text(SecretValue("hunter2"))


def rows_of(placement: Placement, records: list[tuple[int, int, bytes | None, bytes | None]]) -> list[pa.RecordBatch]:
    """Fold records (partition, offset, key, value) and return the rows."""
    partition, offset, key, value = zip(*records, strict=True) if records else ((), (), (), ())
    fold = Fold(placement, slot_ms=SLOT_MS, keep_slots=KEEP)
    fold.add(
        RecordColumns(
            np.array(partition, np.int32),
            np.array(offset, np.int64),
            np.full(len(records), 1_000, np.int64),
            pa.array(key, pa.binary()),
            pa.array(value, pa.binary()),
        )
    )
    return list(offsets_reading.delta_rows(fold, placement))


def test_the_tally_is_in_one_row() -> None:
    """A task that changes many shards returns its tally once, in the row of the first delta."""
    records = [(n, 5, commit_key("g", "t", 0), commit_value(1, 1)) for n in range(4)]
    rows = rows_of(Placement(4, 1), [*records])
    assert [row.column("shard")[0].as_py() for row in rows] == [0, 1, 2, 3]
    assert [row.column("tally")[0].is_valid for row in rows] == [True, False, False, False]
    state, _ = reduce(empty_state(), [unpack_delta(rows[0].column("delta")[0].as_py())], KEEP)
    assert state.position == 5


def test_skipped_offsets_are_counted() -> None:
    """A task whose whole range was deleted returns the number of skipped offsets to the driver."""
    fold = Fold(Placement(4, 1), slot_ms=SLOT_MS, keep_slots=KEEP)
    fold.stats.skipped["deleted"] += 9
    (row,) = offsets_reading.delta_rows(fold, Placement(4, 1))
    assert DecodeStats.from_json(row.column("tally")[0].as_py()).skipped == {"deleted": 9}
