"""Tests of opening a checkpoint: it is continued, set aside, or refused."""

import contextlib
import dataclasses
import errno
import fcntl
import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from unittest.mock import ANY

import pytest

from stream.checkpoint.continuity import KeptRead, OffsetsTopicEnds
from stream.checkpoint.directory import CheckpointDirectory, last_offsets, open_checkpoint
from stream.checkpoint.manifest import FORMAT, NOT_YET_LIVE, Layout
from stream.checkpoint.spark_offsets import SourceOffsets
from stream.cluster.offsets_topic import OffsetsTopic
from stream.errors import ExitCode, Refusal
from stream.groups.placement import EVERY_GROUP, InstancePart

TOPIC_ID: Final = uuid.UUID(int=7)
TOPIC: Final = OffsetsTopic("cluster-a", TOPIC_ID, (0, 1))
LAYOUT: Final = Layout(sub_shards=32, offsets_partitions=2, shuffle_partitions=2, slot_ms=30_000, keep_slots=10)
BOUNDS: Final = {0: (0, 100), 1: (0, 100)}


def ends(bounds: dict[int, tuple[int, int]], now: float | None = None) -> OffsetsTopicEnds:
    """Return the ends of the topic without open transactions; tombstones are kept for an hour."""
    known = {number: (first, high, high) for number, (first, high) in bounds.items()}
    return OffsetsTopicEnds(known, now or time.time(), 3600.0)


@contextlib.contextmanager
def opened(
    root: Path,
    topic: OffsetsTopic = TOPIC,
    layout: Layout = LAYOUT,
    bounds: dict[int, tuple[int, int]] = BOUNDS,
    now: float | None = None,
    *,
    part: InstancePart = EVERY_GROUP,
) -> Iterator[CheckpointDirectory]:
    with contextlib.closing(open_checkpoint(root, topic, layout, ends(bounds, now), part)) as checkpoint:
        yield checkpoint


def spark_of(root: Path) -> Path:
    return root / f"v{FORMAT}" / "spark"


def finish_batch(root: Path, number: int, read: dict[int, int], *, ended: bool = True) -> None:
    ends = json.dumps({"__consumer_offsets": {str(partition): offset for partition, offset in read.items()}})
    files = {
        "metadata": '{"id":"8a1b"}',
        "state/0/_metadata/v2/0": 'v2\n{"stateStoreInfo":[{"numPartitions":0}]}',
        "state/0/_stateSchema/0": "v3",
        f"offsets/{number}": f'v1\n{{"batchWatermarkMs":0}}\n{ends}',
        **({f"commits/{number}": 'v1\n{"nextBatchWatermarkMs":0}'} if ended else {}),
    }
    (spark_of(root) / "commits").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (spark_of(root) / name).parent.mkdir(parents=True, exist_ok=True)
        (spark_of(root) / name).write_text(text)


def with_a_batch(root: Path, read: dict[int, int]) -> None:
    with opened(root):
        finish_batch(root, 0, read)


def refusal(root: Path, topic: OffsetsTopic = TOPIC) -> Refusal:
    with pytest.raises(Refusal) as refused:
        open_checkpoint(root, topic, LAYOUT, ends(BOUNDS))
    return refused.value


def manifest(root: Path) -> Path:
    return root / f"v{FORMAT}" / "lagwarden.json"


def test_first_run_makes_a_fresh_checkpoint(tmp_path: Path) -> None:
    """The folders are created, the manifest names cluster, topic and layout, and the checkpoint has no position yet."""
    root = tmp_path / "not" / "there" / "yet"
    with opened(root) as checkpoint:
        assert (checkpoint.fresh, checkpoint.positions, checkpoint.set_aside) == (True, {}, None)
        assert checkpoint.manifest.layout == LAYOUT
    assert json.loads(manifest(root).read_text()) == {
        "format": FORMAT,
        "cluster_id": "cluster-a",
        "topic_id": str(TOPIC_ID),
        "layout": dataclasses.asdict(LAYOUT),
        "live_from": {"0": 100, "1": 100},
        "instance": "0/1",
        "crc32": ANY,
    }


def test_next_run_continues_from_the_last_batch_that_ended(tmp_path: Path) -> None:
    """A batch that was planned but did not end does not count."""
    with opened(tmp_path):
        finish_batch(tmp_path, 8, {0: 10, 1: 20})
        finish_batch(tmp_path, 9, {0: 11, 1: 21})
        finish_batch(tmp_path, 10, {0: 99, 1: 99}, ended=False)
    with opened(tmp_path) as checkpoint:
        assert checkpoint.positions == {0: 11, 1: 21}
        assert not checkpoint.fresh


@pytest.mark.parametrize("part", ["0/2", "0/3", "0/1"])
def test_a_state_with_the_groups_of_another_instance_is_set_aside(tmp_path: Path, part: str) -> None:
    """The message names both instances. The same instance continues from its state."""
    with opened(tmp_path, part=InstancePart(1, 2)):
        finish_batch(tmp_path, 0, {1: 10})
    with opened(tmp_path, part=InstancePart(1, 2)) as checkpoint:
        assert (checkpoint.positions, checkpoint.set_aside) == ({1: 10}, None)
    with opened(tmp_path, part=InstancePart.parse(part)) as checkpoint:
        assert checkpoint.fresh
        assert checkpoint.set_aside == f"the checkpoint has the groups of instance 1/2, and job.instance is {part}"
        assert checkpoint.manifest.instance == part
    with opened(tmp_path, part=InstancePart.parse(part)) as checkpoint:
        assert checkpoint.set_aside is None


def test_a_state_without_an_instance_has_all_groups(tmp_path: Path) -> None:
    """A checkpoint without the field `instance`, as earlier versions wrote it, is continued by the only instance."""
    with_a_batch(tmp_path, {0: 10, 1: 20})
    without_field(tmp_path, "instance")
    with opened(tmp_path) as checkpoint:
        assert (checkpoint.positions, checkpoint.set_aside) == ({0: 10, 1: 20}, None)


def without_field(root: Path, name: str) -> None:
    """Remove a field of the manifest, and the checksum: the versions without the field had none."""
    read = json.loads(manifest(root).read_text())
    del read[name], read["crc32"]
    manifest(root).write_text(json.dumps(read))


def test_a_fresh_checkpoint_may_have_a_planned_batch(tmp_path: Path) -> None:
    """A checkpoint whose first batch has not ended is fresh and planned.

    Without a batch it is not set aside after the tombstone retention, even if it has a heartbeat.
    """
    with opened(tmp_path) as checkpoint:
        checkpoint.record_current()
    with opened(tmp_path, now=time.time() + 7_200) as checkpoint:
        assert checkpoint.set_aside is None
        assert not checkpoint.planned
        finish_batch(tmp_path, 0, {0: 10, 1: 20}, ended=False)
        assert (checkpoint.fresh, checkpoint.planned) == (True, True)


def earlier(root: Path, cluster_id: str = "cluster-a") -> Path:
    """Write a checkpoint of the first format and return its folder."""
    folder = root / "v1"
    (folder / "spark").mkdir(parents=True)
    (folder / "spark" / "metadata").write_text('{"id":"8a1b"}')
    (folder / "lagwarden.json").write_text(json.dumps({"format": 1, "cluster_id": cluster_id}))
    return folder


def files_in(folder: Path) -> dict[str, str]:
    """Return the content of each file below a folder, without the lock."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(folder)): path.read_text() for path in found}


def test_checkpoint_of_an_earlier_format_is_set_aside_once(tmp_path: Path) -> None:
    """The old folder is unchanged, the topic is read from its start, and the next run continues without a message."""
    old = earlier(tmp_path)
    before = files_in(old)
    with opened(tmp_path) as checkpoint:
        assert (checkpoint.fresh, checkpoint.kept) == (True, old)
        assert checkpoint.set_aside == f"{old} has the format of an earlier version"
        finish_batch(tmp_path, 0, {0: 1, 1: 1})
    assert files_in(old) == before
    with opened(tmp_path) as checkpoint:
        assert (checkpoint.fresh, checkpoint.set_aside, checkpoint.kept) == (False, None, None)


def test_layout_is_that_of_the_first_run(tmp_path: Path) -> None:
    """An existing checkpoint keeps its layout although another one is configured.

    The next fresh checkpoint has the configured layout.
    """
    other = dataclasses.replace(LAYOUT, sub_shards=128, shuffle_partitions=64)
    with_a_batch(tmp_path, {0: 1, 1: 1})
    with opened(tmp_path, layout=other) as checkpoint:
        assert checkpoint.manifest.layout == LAYOUT
        assert checkpoint.start_over("the state cannot be read").manifest.layout == other
    with opened(tmp_path, layout=LAYOUT) as checkpoint:
        assert checkpoint.manifest.layout == other


AGAIN: Final = dataclasses.replace(TOPIC, topic_id=uuid.UUID(int=8))


@pytest.mark.parametrize(
    ("topic", "bounds", "reason"),
    [
        (AGAIN, BOUNDS, "created again"),
        (TOPIC, {0: (0, 49), 1: (0, 100)}, "ends at 49, before 50"),
        (TOPIC, {0: (0, 100), 1: (71, 100)}, "records from 70 on were missed"),
    ],
)
def test_checkpoint_that_does_not_match_the_topic_is_set_aside(
    tmp_path: Path, topic: OffsetsTopic, bounds: dict[int, tuple[int, int]], reason: str
) -> None:
    """The new checkpoint is fresh, the message has the reason, and the old files are kept."""
    with_a_batch(tmp_path, {0: 50, 1: 70})
    before = manifest(tmp_path).read_text()
    with opened(tmp_path, topic, bounds=bounds) as checkpoint:
        assert checkpoint.fresh
        assert reason in str(checkpoint.set_aside)
        assert checkpoint.manifest.topic_id == str(topic.topic_id)
    aside = tmp_path / f"v{FORMAT}" / "set-aside-1"
    assert (aside / "lagwarden.json").read_text() == before
    assert last_offsets(aside / "spark").positions == {0: 50, 1: 70}
    with opened(tmp_path, topic, bounds=bounds) as checkpoint:
        assert checkpoint.set_aside is None


def test_checkpoint_of_a_log_that_lost_its_end_is_set_aside(tmp_path: Path) -> None:
    """The log ends past the position again, under a later leader epoch, but what was read is not in it (KIP-320).

    Only partitions with another leader epoch are asked for; without an answer the checkpoint is continued.
    """
    with_a_batch(tmp_path, {0: 50, 1: 70})
    log, numbers = (
        spark_of(tmp_path) / "offsets" / "0",
        '{"__consumer_offsets":{"0":50,"1":70},"leader_epochs":{"0":3}}',
    )
    log.write_text("\n".join([*log.read_text().splitlines()[:2], numbers]))
    asked = []
    for epoch, answer, reason in (
        (3, {}, None),
        (4, {}, None),
        (4, {0: 50}, None),
        (4, {0: 40}, "under leader epoch 3"),
    ):

        def epoch_ends(epochs: Mapping[int, int], answer: Any = answer) -> Any:
            asked.append(dict(epochs))
            return answer

        now = dataclasses.replace(ends(BOUNDS), epochs={0: epoch, 1: 9}, epoch_ends=epoch_ends)
        with contextlib.closing(open_checkpoint(tmp_path, TOPIC, LAYOUT, now)) as checkpoint:
            assert (reason is None) == (checkpoint.set_aside is None)
            assert str(reason) in str(checkpoint.set_aside)
    assert asked == [{}, {0: 3}, {0: 3}, {0: 3}]


def test_a_partition_without_an_end_at_creation_is_live_from_the_first_known_end(tmp_path: Path) -> None:
    """Until then none of its records is live: all may be older than the monitor."""
    with opened(tmp_path, bounds={0: (0, 100)}) as checkpoint:
        assert checkpoint.manifest.live_from == {0: 100, 1: NOT_YET_LIVE}
    finish_batch(tmp_path, 0, {0: 50})
    for bounds, known in (({0: (0, 200)}, NOT_YET_LIVE), ({1: (0, 70)}, 70), ({1: (0, 90)}, 70)):
        with opened(tmp_path, bounds=bounds) as checkpoint:
            assert checkpoint.manifest.live_from == {0: 100, 1: known}


@pytest.mark.parametrize(
    ("planned", "bounds", "after", "reason"),
    [
        (None, BOUNDS, 0, None),
        ({0: 50, 1: 70}, BOUNDS, 0, None),
        (None, {0: (0, 40), 1: (0, 100)}, 0, "ends at 40, before 50"),
        (None, BOUNDS, 3_700, "nothing was read for"),
        ({0: 50, 1: 71}, BOUNDS, 0, None),
        ({0: 49, 1: 70}, BOUNDS, 3_700, None),
    ],
)
def test_a_first_read_is_continued_as_a_batch(
    tmp_path: Path, planned: dict[int, int] | None, bounds: dict[int, tuple[int, int]], after: float, reason: str | None
) -> None:
    """What an earlier process read counts until a batch has ended, or is planned that does not have all of it."""
    with opened(tmp_path):
        pass
    kept = KeptRead({0: 0, 1: 0}, SourceOffsets({0: 50, 1: 70}), ())
    folder = tmp_path / f"v{FORMAT}" / "first-read"
    folder.mkdir()
    kept.write(folder)
    if planned is not None:
        finish_batch(tmp_path, 0, planned, ended=False)
    with opened(tmp_path, bounds=bounds, now=time.time() + after) as checkpoint:
        is_used = reason is None and planned in (None, {0: 50, 1: 70}, {0: 50, 1: 71})
        assert checkpoint.first_read == (kept if is_used else None)
        assert (checkpoint.set_aside is None) == (reason is None)
        assert str(reason) in str(checkpoint.set_aside)
        checkpoint.record_batch()
        assert not folder.exists()


def test_checkpoint_that_matches_the_topic_is_kept(tmp_path: Path) -> None:
    """An unknown value, an added partition or a position at the limit is no reason to set a checkpoint aside."""
    with_a_batch(tmp_path, {0: 50, 1: 70})
    at_both_ends, added = {0: (50, 50), 1: (70, 100)}, {0: (0, 100), 1: (0, 100), 2: (0, 5)}
    without_id = dataclasses.replace(TOPIC, topic_id=None)
    for topic, bounds in ((TOPIC, at_both_ends), (TOPIC, {}), (TOPIC, added), (without_id, BOUNDS)):
        with opened(tmp_path, topic, bounds=bounds) as checkpoint:
            assert (checkpoint.positions, checkpoint.set_aside) == ({0: 50, 1: 70}, None)


def test_checkpoint_of_another_cluster_is_refused_and_unchanged(tmp_path: Path) -> None:
    """The refusal names both clusters and releases the lock. The checkpoint's own cluster can continue."""
    with_a_batch(tmp_path, {0: 1})
    before = manifest(tmp_path).read_text()
    refused = refusal(tmp_path, dataclasses.replace(TOPIC, cluster_id="cluster-b"))
    assert "belongs to cluster cluster-a, this is cluster cluster-b" in refused.what
    assert refused.code == ExitCode.CHECKPOINT_CLUSTER
    assert manifest(tmp_path).read_text() == before
    assert last_offsets(spark_of(tmp_path)).positions == {0: 1}
    with opened(tmp_path) as checkpoint:
        assert checkpoint.positions == {0: 1}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "is missing"),
        ("", "cannot be read"),  # as a full disk leaves it
        ("[1]", "cannot be read"),
        (f'{{"format": {FORMAT}}}', "cannot be read"),
        ("\x00\x00", "cannot be read"),  # as a power cut leaves it
    ],
)
def test_damaged_manifest_sets_the_state_aside(tmp_path: Path, text: str | None, problem: str) -> None:
    """The message names the manifest and its damage. The state is kept but not read."""
    with_a_batch(tmp_path, {0: 1})
    manifest(tmp_path).write_text(text or "")
    if text is None:
        manifest(tmp_path).unlink()
    with opened(tmp_path) as checkpoint:
        assert str(checkpoint.set_aside).startswith(f"{manifest(tmp_path)} {problem}")
        assert checkpoint.fresh
        assert checkpoint.kept is not None
        assert last_offsets(checkpoint.kept / "spark").positions == {0: 1}
    with opened(tmp_path) as checkpoint:
        assert checkpoint.set_aside is None


def test_manifest_of_a_later_format_is_refused(tmp_path: Path) -> None:
    """The refusal has the format and advice, and the positions are unchanged."""
    with_a_batch(tmp_path, {0: 1})
    path = manifest(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99, "layout": "unknown"}))
    refused = refusal(tmp_path)
    assert "has format 99" in refused.what
    assert refused.code == ExitCode.CHECKPOINT_FORMAT
    assert "move the directory" in refused.advice
    assert last_offsets(spark_of(tmp_path)).positions == {0: 1}


def test_damaged_log_sets_the_state_aside(tmp_path: Path) -> None:
    """The reason is the message of `stream.checkpoint.audit`."""
    with opened(tmp_path):
        finish_batch(tmp_path, 0, {0: 1, 1: 1})
        finish_batch(tmp_path, 1, {0: 2, 1: 2})
    damaged = tmp_path / f"v{FORMAT}" / "spark" / "offsets" / "1"
    damaged.write_text("")
    with opened(tmp_path) as checkpoint:
        assert checkpoint.set_aside == f"{damaged} is empty"
        assert checkpoint.fresh


def test_state_can_be_set_aside_by_the_holder_of_the_lock(tmp_path: Path) -> None:
    """State found unreadable later is set aside without releasing the lock."""
    with_a_batch(tmp_path, {0: 50, 1: 50})
    with opened(tmp_path, bounds={0: (0, 300), 1: (0, 300)}) as checkpoint:
        again = checkpoint.start_over("the state cannot be read")
        assert (again.fresh, again.set_aside) == (True, "the state cannot be read")
        assert again.manifest.live_from == {0: 300, 1: 300}
        assert again.kept is not None
        assert last_offsets(again.kept / "spark").positions == {0: 50, 1: 50}
        assert "in use by another lagwarden" in refusal(tmp_path).what


def test_two_failed_starts_in_a_row_set_the_state_aside_once(tmp_path: Path) -> None:
    """The message has the last cause. A batch that ends in between starts the count again. A fresh checkpoint stays."""
    with opened(tmp_path) as checkpoint:
        finish_batch(tmp_path, 0, {0: 1, 1: 1})
    for _ in range(2):
        with opened(tmp_path) as checkpoint:
            checkpoint.record_failed_start("no idea")
            checkpoint.record_batch()
    with opened(tmp_path) as checkpoint:
        checkpoint.record_failed_start("no idea")
    with opened(tmp_path) as checkpoint:
        assert checkpoint.set_aside is None
        checkpoint.record_failed_start("still no idea")
    with opened(tmp_path) as checkpoint:
        assert checkpoint.set_aside is not None
        assert "last cause: still no idea" in checkpoint.set_aside
        for _ in range(3):
            checkpoint.record_failed_start("it was not the state")
    with opened(tmp_path) as checkpoint:
        assert checkpoint.set_aside is None


def test_one_final_failure_sets_the_state_aside(tmp_path: Path) -> None:
    """The next start sets the state aside after one final failure, and the message has its cause."""
    with opened(tmp_path) as checkpoint:
        finish_batch(tmp_path, 0, {0: 1, 1: 1})
        checkpoint.record_failed_start("1.changelog does not match its checksum", final=True)
    with opened(tmp_path) as checkpoint:
        assert "1.changelog does not match its checksum" in str(checkpoint.set_aside)


def test_volume_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the folder and the cause, and the exit code of an unusable checkpoint."""
    words = {errno.ENOSPC: "no space left", errno.EDQUOT: "no space left", errno.EROFS: "Read-only file system"}
    for number, cause in words.items():

        def no(*_: object, number: int = number) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "fsync", no)
        refused = refusal(tmp_path)
        assert cause in str(refused)
        assert refused.code == ExitCode.CHECKPOINT_UNUSABLE
        assert str(tmp_path) in refused.what


def test_second_process_is_refused(tmp_path: Path) -> None:
    """A second process is refused while the first holds the lock, and accepted when the first has closed."""
    with opened(tmp_path):
        refused = refusal(tmp_path)
        assert "in use by another lagwarden" in refused.what
        assert refused.code == ExitCode.CHECKPOINT_UNUSABLE
    with opened(tmp_path):
        pass


def test_live_positions_are_the_end_offsets_at_creation(tmp_path: Path) -> None:
    """The positions stay the same after a restart. A checkpoint without stored positions is continued with none."""
    with_a_batch(tmp_path, {0: 100, 1: 100})
    with opened(tmp_path, bounds={0: (0, 500), 1: (0, 500)}) as checkpoint:
        assert checkpoint.manifest.live_from == {0: 100, 1: 100}
    without_field(tmp_path, "live_from")
    with opened(tmp_path) as checkpoint:
        assert (checkpoint.manifest.live_from, checkpoint.set_aside) == ({}, None)


@pytest.mark.parametrize(("away", "kept"), [(0.0, True), (3500.0, True), (3700.0, False)])
@pytest.mark.parametrize("noted", [True, False], ids=["time of the heartbeat", "time of the last batch"])
def test_a_pause_above_the_tombstone_retention_sets_the_state_aside(
    tmp_path: Path, away: float, *, kept: bool, noted: bool
) -> None:
    """The message has the retention, and the new checkpoint has no heartbeat. A shorter pause keeps the state."""
    with opened(tmp_path) as checkpoint:
        finish_batch(tmp_path, 0, {0: 100, 1: 100})
        if noted:
            checkpoint.record_current()
    moment = 1_800_000_000.0
    for path in (checkpoint.folder / "current", *(checkpoint.folder / "spark" / "commits").iterdir()):
        if path.exists():
            # An old batch does not count if the heartbeat is newer: a quiet topic has no batches.
            os.utime(path, (moment, moment) if path.name == "current" or not noted else (1.0, 1.0))
    with opened(tmp_path, now=moment + away) as checkpoint:
        assert (checkpoint.set_aside is None) == kept
        assert checkpoint.fresh != kept
        assert kept or "keeps tombstones for 60 min" in str(checkpoint.set_aside)
        assert kept or not (checkpoint.folder / "current").exists()


def test_volume_without_locks_is_refused_with_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal has the error of the volume, for example of an NFS server without its lock service."""

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(Refusal, match="cannot be used: No locks available") as refused, opened(tmp_path):
        pass
    assert refused.value.code == ExitCode.CHECKPOINT_UNUSABLE
