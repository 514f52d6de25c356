"""The checkpoint directory: opened, checked, and set aside if it cannot be continued.

`ROOT` is a directory or an address in an object store. `ROOT/v<FORMAT>/` has one checkpoint of Spark (`spark/`), a
lock, and a manifest (`lagwarden.json`) with its cluster, its topic and the layout of its state. A checkpoint that does
not match the topic, or is damaged, is never deleted: it is set aside, and the topic, which is compacted and therefore
complete, is read again from its start. One of an earlier format stays where it is and counts as set aside. A checkpoint
of another *cluster* is refused, because two monitors with the same directory is a configuration error.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from stream.checkpoint.audit import batches, check_log, check_state, read_offsets
from stream.checkpoint.continuity import FOLDER as FIRST_READ
from stream.checkpoint.continuity import KeptRead, OffsetsTopicEnds, ReadPositions, gap
from stream.checkpoint.files import CheckpointPath, DamagedError, check_regular, rename
from stream.checkpoint.lock import CheckpointLock, take_lock, unusable
from stream.checkpoint.manifest import (
    FORMAT,
    MANIFEST,
    NOT_YET_LIVE,
    Layout,
    Manifest,
    check_cluster,
    read_manifest,
    replace_json,
    write_manifest,
)
from stream.checkpoint.spark_offsets import SourceOffsets
from stream.cluster.offsets_topic import OffsetsTopic
from stream.groups.placement import EVERY_GROUP, InstancePart

VERDICTS: Final = "verdicts.zip"
"""The stored verdicts (`stream.tick.verdicts.store`); set aside together with the state."""
_CURRENT: Final = "current"
"""An empty file. Its modification time is when the reader last reached the end of the topic."""
_FAILED_STARTS: Final = "failed-starts.json"
"""The number of consecutive query failures before a batch ended, with the cause; removed when a batch has ended."""
_MOST_FAILED_STARTS: Final = 2


@dataclasses.dataclass(frozen=True, slots=True)
class CheckpointDirectory:
    """A checkpoint that this process uses and has locked."""

    folder: CheckpointPath
    manifest: Manifest
    positions: Mapping[int, int]
    """Next offset to read per offsets partition, as of the last finished batch; empty if there is none."""
    set_aside: str | None
    """The reason why an earlier checkpoint was set aside, as a sentence; None if none was."""
    kept: CheckpointPath | None
    """The folder of the checkpoint that was set aside."""
    _fresh: Manifest = dataclasses.field(repr=False)
    lock: CheckpointLock = dataclasses.field(repr=False)
    first_read: KeptRead | None = None
    """The first read of an earlier process whose first batch has not ended; None if there is none."""

    @property
    def spark(self) -> str:
        """Folder of Spark's own checkpoint."""
        return str(self.folder / "spark")

    @property
    def fresh(self) -> bool:
        """True if no batch has ended yet."""
        return not self.positions

    @property
    def planned(self) -> bool:
        """True if the ends of a batch are fixed, whether it has ended or not."""
        return bool(batches(self.folder / "spark" / "offsets"))

    def record_current(self) -> None:
        """Record that the whole topic has been read; a later start computes the length of the interruption from it."""
        (self.folder / _CURRENT).touch()

    def start_over(self, reason: str) -> CheckpointDirectory:
        """Set the state aside and return an empty checkpoint under the same lock. Raises Refusal."""
        try:
            return _begin(self.folder, self._fresh, reason, self.lock)
        except OSError as error:
            raise unusable(self.folder, error) from error

    def record_failed_start(self, cause: str, *, final: bool = False) -> None:
        """Record that the query failed before a batch ended: after two in a row, the next start sets the state aside.

        `final`: the cause is the state itself, and one failure is enough. A fresh checkpoint has no state as a cause.
        """
        if self.fresh and not final:
            return
        times = _MOST_FAILED_STARTS if final else _failed_starts(self.folder)[0] + 1
        with contextlib.suppress(OSError):  # the process ends with this cause anyway
            replace_json(self.folder / _FAILED_STARTS, {"times": times, "cause": cause})

    @property
    def keeps_first_read(self) -> bool:
        """True while what was read before the query started is in files of the checkpoint."""
        return isinstance(self.folder, Path) and (self.folder / FIRST_READ).exists()

    def record_batch(self) -> None:
        """Record that a batch has ended: resets the number of failures, and removes the first read."""
        if isinstance(self.folder, Path):
            shutil.rmtree(self.folder / FIRST_READ, ignore_errors=True)
        with contextlib.suppress(OSError):
            (self.folder / _FAILED_STARTS).unlink(missing_ok=True)

    def close(self) -> None:
        """Release the lock."""
        self.lock.close()


def open_checkpoint(
    root: CheckpointPath, topic: OffsetsTopic, wanted: Layout, ends: OffsetsTopicEnds, part: InstancePart = EVERY_GROUP
) -> CheckpointDirectory:
    """Open or create the checkpoint for the groups of `part` in this topic.

    The old state is set aside if it has the groups of another instance, if its files are damaged or inconsistent, if
    positions are outside of the current logs (the topic was created again or truncated), or if the interruption was
    longer than the tombstone retention. Raises Refusal if the directory cannot be used, or belongs to another cluster
    or version.
    """
    folder = root / f"v{FORMAT}"
    lock = take_lock(folder)
    try:
        topic_id = _id_text(topic.topic_id)
        live_from = dict.fromkeys(part.owned(topic.partitions), NOT_YET_LIVE) | ends.last_stable
        fresh = Manifest(FORMAT, topic.cluster_id, topic_id, wanted, live_from, str(part))
        try:
            found = read_manifest(folder)
            if found is None:
                earlier = _earlier(root, topic.cluster_id)
                begun = _begin(folder, fresh, None, lock)
                why = None if earlier is None else f"{earlier} has the format of an earlier version"
                return dataclasses.replace(begun, set_aside=why, kept=earlier)
            check_cluster(folder, found.cluster_id, topic.cluster_id)
            first_read = _kept_read(folder)
            if found.instance == str(part):
                reason = _reason_to_set_aside(folder, found, topic, ends, first_read)
            else:
                reason = f"the checkpoint has the groups of instance {found.instance}, and job.instance is {part}"
        except DamagedError as error:
            reason = str(error)
        else:
            if reason is None:
                found = _with_known_ends(folder, found, ends)
                read = last_offsets(folder / "spark").positions
                return CheckpointDirectory(folder, found, read, None, None, fresh, lock, first_read)
        return _begin(folder, fresh, reason, lock)
    except OSError as error:
        lock.close()
        raise unusable(folder, error) from error
    except BaseException:
        lock.close()
        raise


def _begin(folder: CheckpointPath, manifest: Manifest, reason: str | None, lock: CheckpointLock) -> CheckpointDirectory:
    """Create an empty checkpoint; with a `reason`, the existing one is set aside."""
    kept = None if reason is None else _set_aside(folder)
    write_manifest(folder, manifest)
    return CheckpointDirectory(folder, manifest, {}, reason, kept, manifest, lock)


def _with_known_ends(folder: CheckpointPath, manifest: Manifest, ends: OffsetsTopicEnds) -> Manifest:
    """Return the manifest of a checkpoint, completed by ends that were not known when it was created."""
    late = {each: end for each, end in ends.last_stable.items() if manifest.live_from.get(each) == NOT_YET_LIVE}
    if not late:
        return manifest
    completed = dataclasses.replace(manifest, live_from=manifest.live_from | late)
    write_manifest(folder, completed)
    return completed


def _earlier(root: CheckpointPath, cluster_id: str) -> CheckpointPath | None:
    """Return the folder of the newest checkpoint of an earlier format; None if there is none.

    Raises Refusal if it belongs to another cluster, or is in use.
    """
    for number in range(FORMAT - 1, 0, -1):
        folder = root / f"v{number}"
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            owner = str(json.loads((folder / MANIFEST).read_text())["cluster_id"])
            check_cluster(folder, owner, cluster_id)
            take_lock(folder).close()
            return folder
    return None


def _reason_to_set_aside(
    folder: CheckpointPath, found: Manifest, topic: OffsetsTopic, ends: OffsetsTopicEnds, first_read: KeptRead | None
) -> str | None:
    """Return the reason, as a sentence, why the state cannot be continued, or None. Raises DamagedError."""
    check_log(folder / "spark")
    ended = batches(folder / "spark" / "commits")
    if ended:
        check_state(folder / "spark", max(ended) + 1)
    times, cause = _failed_starts(folder)
    if times >= _MOST_FAILED_STARTS:
        return f"the query could not be continued from {folder / 'spark'}; last cause: {cause}"
    read = last_offsets(folder / "spark") if first_read is None else first_read.ends
    past = ReadPositions(found.topic_id, read.positions, _current_at(folder), read.epochs)
    return gap(past, _id_text(topic.topic_id), ends, ends.epoch_ends(read.epochs_other_than(ends.epochs)))


def _kept_read(folder: CheckpointPath) -> KeptRead | None:
    """Return the first read, unless a batch has ended or is planned with earlier ends. Raises DamagedError."""
    kept = None if batches(folder / "spark" / "commits") else KeptRead.read(folder)
    planned = batches(folder / "spark" / "offsets")
    if kept is None or not planned:
        return kept
    ends = read_offsets(folder / "spark" / "offsets" / str(max(planned)))
    return kept if ends.are_past(kept.ends.positions) else None


def last_offsets(spark: CheckpointPath) -> SourceOffsets:
    """Return the offsets at the end of the last finished batch, from Spark's log; none if there is no such batch.

    `offsets/N` is written before batch N runs, `commits/N` after it has ended. Raises DamagedError.
    """
    ended = batches(spark / "commits")
    return read_offsets(spark / "offsets" / str(max(ended))) if ended else SourceOffsets({})


def _current_at(folder: CheckpointPath) -> float | None:
    """Return when the reader last reached the end of the topic; else when its last batch, or first read, ended."""
    sources = [folder / _CURRENT] if (folder / _CURRENT).exists() else [*(folder / "spark" / "commits").glob("[0-9]*")]
    if not sources and isinstance(folder, Path):
        sources = [*(folder / FIRST_READ).glob("*.json")]
    return max((path.stat().st_mtime for path in sources), default=None)


def _failed_starts(folder: CheckpointPath) -> tuple[int, str]:
    """Return the number of consecutive query failures before a batch ended, and the last cause."""
    try:
        check_regular(folder / _FAILED_STARTS)
        read = json.loads((folder / _FAILED_STARTS).read_text())
        return int(read["times"]), str(read["cause"])
    except (OSError, ValueError, TypeError, KeyError, DamagedError):
        return 0, ""


def _set_aside(folder: CheckpointPath) -> CheckpointPath:
    """Move the checkpoint to a new folder beside it, and return that folder."""
    number = 1
    while (aside := folder / f"set-aside-{number}").exists():
        number += 1
    aside.mkdir()
    for name in (MANIFEST, "spark", _CURRENT, VERDICTS, _FAILED_STARTS, FIRST_READ):
        if (folder / name).exists():
            rename(folder / name, aside / name)
    return aside


def _id_text(topic_id: object) -> str | None:
    return None if topic_id is None else str(topic_id)
