"""Tests of opening a checkpoint in an object store: it is continued, set aside or refused, as in a directory."""

import contextlib
import io
import json
import time
import uuid
import zipfile
from collections.abc import Iterator
from typing import Final

import pytest

from stream.checkpoint.audit import check_state
from stream.checkpoint.continuity import OffsetsTopicEnds
from stream.checkpoint.directory import CheckpointDirectory, open_checkpoint
from stream.checkpoint.files import DamagedError
from stream.checkpoint.manifest import Layout
from stream.checkpoint.objects.path import ObjectPath
from stream.checkpoint.objects.store import ObjectStore, StoreUnavailableError
from stream.checkpoint.usage import checkpoint_space
from stream.cluster.offsets_topic import OffsetsTopic
from stream.errors import ExitCode, Refusal
from stream.tick.verdicts.store import StoredVerdicts, VerdictStore

TOPIC: Final = OffsetsTopic("cluster-a", uuid.UUID(int=7), (0, 1))
LAYOUT: Final = Layout(sub_shards=32, offsets_partitions=2, shuffle_partitions=2, slot_ms=30_000, keep_slots=10)
OFFSETS: Final = "v1\n{}\n" + json.dumps({"__consumer_offsets": {"0": 5, "1": 7}})


@contextlib.contextmanager
def opened(root: ObjectPath, topic: OffsetsTopic = TOPIC) -> Iterator[CheckpointDirectory]:
    ends = OffsetsTopicEnds({0: (0, 100, 100), 1: (0, 100, 100)}, time.time(), 3600.0)
    with contextlib.closing(open_checkpoint(root, topic, LAYOUT, ends)) as checkpoint:
        yield checkpoint


@pytest.fixture
def batch(root: ObjectPath) -> ObjectPath:
    """Return the folder of a checkpoint with the objects that Spark writes in the first batch."""
    with opened(root) as checkpoint:
        assert checkpoint.fresh
        folder = checkpoint.folder
    spark = root / "v2" / "spark"
    (spark / "metadata").write_bytes(b'{"id":"8a1b"}')
    (spark / "offsets" / "0").write_bytes(OFFSETS.encode())
    (spark / "commits" / "0").write_bytes(b"v1\n{}")
    about = {"stateStoreInfo": [{"numPartitions": 1}]}
    (spark / "state" / "0" / "_metadata" / "metadata").write_bytes(f"v1\n{json.dumps(about)}".encode())
    (spark / "state" / "0" / "_stateSchema" / "default" / "0_a").write_bytes(b"schema")
    (spark / "state" / "0" / "0" / "1.changelog").write_bytes(b"changes")
    assert str(folder) == str(root / "v2")
    return root / "v2"


def test_checkpoint_continues_after_a_finished_batch(root: ObjectPath, batch: ObjectPath) -> None:
    """The checkpoint has the positions of the batch, nothing is set aside, and the lock is held."""
    with opened(root) as checkpoint:
        assert (checkpoint.positions, checkpoint.set_aside) == ({0: 5, 1: 7}, None)
        assert checkpoint.spark == f"{batch}/spark"
        assert checkpoint.lock.lost() is None


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("spark/offsets/0", b"v1\n{}\n", "offsets/0 has no positions of __consumer_offsets"),
        ("spark/offsets/0", None, "offsets/0 is missing, although batch 0 has ended"),
        ("spark/commits/0", b"v1", "commits/0 is truncated"),
        ("spark/metadata", b"", "metadata is empty"),
        ("spark/metadata", None, "metadata is missing"),
        ("spark/state/0/0/1.changelog", None, "1.changelog is missing"),
        ("spark/state/0/0/1.zip", b"not a zip", "1.zip is not a state snapshot"),
        ("spark/state/0/_metadata/metadata", None, "_metadata is missing"),
        ("lagwarden.json", b"{", "lagwarden.json cannot be read"),
        ("lagwarden.json", None, "lagwarden.json is missing"),
    ],
)
def test_checkpoint_with_a_damaged_object_is_set_aside(
    root: ObjectPath, batch: ObjectPath, name: str, content: bytes | None, reason: str
) -> None:
    """All objects of the checkpoint are set aside with the reason, and none is deleted. None means a missing object."""
    if content is None:
        (batch / name).unlink()
    else:
        (batch / name).write_bytes(content)
    before = {each: size for each, size in batch.sizes().items() if each != "lock"}
    with opened(root) as checkpoint:
        assert reason in str(checkpoint.set_aside)
        assert str(checkpoint.kept) == f"{batch}/set-aside-1"
        assert checkpoint.fresh
    assert (batch / "set-aside-1").sizes().keys() == before.keys()
    assert sorted(each for each in batch.sizes() if not each.startswith("set-aside")) == ["lagwarden.json", "lock"]


def test_missing_file_of_a_snapshot_is_damage(batch: ObjectPath) -> None:
    """The check of the state fails while a file that a snapshot lists is missing."""
    state = batch / "spark" / "state" / "0" / "0"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("metadata", 'v1\n{"sstFiles": [{"dfsSstFileName": "a.sst"}]}')
    (state / "1.zip").write_bytes(content.getvalue())
    with pytest.raises(DamagedError, match=r"SSTs/a\.sst is missing"):
        check_state(batch / "spark", 1)
    (state / "SSTs" / "a.sst").write_bytes(b"rows")
    check_state(batch / "spark", 1)


@pytest.mark.parametrize("call", ["read", "list"])
def test_store_that_fails_during_the_checks_sets_nothing_aside(
    root: ObjectPath, batch: ObjectPath, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start is refused and no object is moved, because the checkpoint may be undamaged."""
    before = batch.sizes().keys()

    def away(*_: object) -> None:
        raise StoreUnavailableError(113, "no route")

    with monkeypatch.context() as context:
        context.setattr(ObjectStore, call, away)
        with pytest.raises(Refusal, match=r"cannot be used: no route.*") as refused, opened(root):
            pass
    assert refused.value.code == ExitCode.CHECKPOINT_UNUSABLE
    assert batch.sizes().keys() == before


def test_space_is_that_of_the_objects(batch: ObjectPath) -> None:
    """The number and the total size of the objects are reported. The volume is unknown.

    The time of a snapshot of the state is that of its object; the verdicts are no snapshot.
    """
    (batch / "verdicts.zip").write_bytes(b"verdicts")
    space = checkpoint_space(batch)
    assert (space.files, space.used) == (len(batch.sizes()), sum(each.st_size for each in batch.sizes().values()))
    assert (space.volume_free, space.volume_size, space.state_snapshot_at) == (None, None, None)
    (batch / "spark" / "state" / "0" / "0" / "2.zip").write_bytes(b"snapshot")
    assert checkpoint_space(batch).state_snapshot_at == batch.sizes()["spark/state/0/0/2.zip"].st_mtime


def test_verdicts_are_stored_and_read_again(root: ObjectPath) -> None:
    """Stored verdicts are read again, and a damaged object is set aside."""
    store = VerdictStore(root)
    assert store.read() is None
    store.write(StoredVerdicts(b"shown"))
    assert store.read() == StoredVerdicts(b"shown")
    (root / "verdicts.zip").write_bytes(b"no archive")
    assert store.read() is None
    assert sorted(root.sizes()) == ["verdicts.zip.set-aside"]
