"""The checkpoint: where it lies, whose it is, and whether this run may go on from it.

`ROOT/v<FORMAT>/` holds one checkpoint of Spark (`spark/`), a lock, and a manifest (`lagwarden.json`) that says which
cluster and topic it belongs to and how its state is laid out. A checkpoint that no longer fits the topic is never
deleted: it is set aside, and the topic, which is compacted and therefore complete, is read again from its start. A
checkpoint of another *cluster* is refused: two monitors with one directory is a mistake to be told.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
from typing import IO, TYPE_CHECKING, Any, Final

from stream.cluster.offsets_topic import NAME
from stream.continuity import Past, Present, gap
from stream.exits import ExitCode, Refusal
from stream.groups.placement import Placement
from stream.progress import source_positions

if TYPE_CHECKING:
    from pathlib import Path

    from stream.cluster.offsets_topic import OffsetsTopic

FORMAT: Final = 1
"""Number of the layout of checkpoints; raised when state written before cannot be read on."""
_MANIFEST: Final = "lagwarden.json"
VERDICTS: Final = "verdicts.zip"
"""What is kept of verdicts (`stream.verdict_file`); it goes where the state goes."""
_CURRENT: Final = "current"
"""An empty file whose time says when the reader last had read all there was."""


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """What is fixed for the life of a checkpoint."""

    sub_shards: int
    offsets_partitions: int
    shuffle_partitions: int
    slot_ms: int
    keep_slots: int

    @property
    def placement(self) -> Placement:
        """Where groups live in this checkpoint."""
        return Placement(self.offsets_partitions, self.sub_shards)


@dataclasses.dataclass(frozen=True, slots=True)
class Manifest:
    """What stands in `lagwarden.json`."""

    format: int
    cluster_id: str
    topic_id: str | None
    layout: Layout
    live_from: dict[int, int]
    """Ends (last stable offsets) of the offsets partitions when it was made: what is before them is replayed history.

    Empty in checkpoints of before this was noted: then all that is read on is live.
    """


@dataclasses.dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint this run may use, and holds the lock of."""

    folder: Path
    manifest: Manifest
    positions: dict[int, int]
    """Next offset to read per offsets partition, as of the last finished batch; empty if there is none."""
    set_aside: str | None
    """Why a former checkpoint was set aside, as a sentence; None if none was."""
    _lock: IO[str] = dataclasses.field(repr=False)

    @property
    def spark(self) -> str:
        """Folder of Spark's own checkpoint."""
        return str(self.folder / "spark")

    @property
    def fresh(self) -> bool:
        """Whether nothing has been finished in it yet."""
        return not self.positions

    def note_current(self) -> None:
        """Note that all there was has been read up to now; a later start tells from it how long nobody read."""
        (self.folder / _CURRENT).touch()

    def close(self) -> None:
        """Give the lock back."""
        self._lock.close()


@dataclasses.dataclass(frozen=True, slots=True)
class Ends:
    """The offsets topic at start: (log start, high watermark, last stable offset) per partition, and when (Unix s)."""

    logs: dict[int, tuple[int, int, int]]
    now: float
    tombstone_seconds: float | None = None


def open_checkpoint(root: Path, topic: OffsetsTopic, wanted: Layout, ends: Ends) -> Checkpoint:
    """Open or make the checkpoint for this topic.

    Positions outside of the logs of now are of a topic that was made anew or cut back, and a reader that was away for
    longer than tombstones stay has missed some: then the old state is set aside. Raises Refusal if the directory cannot
    be used, or belongs to something else.
    """
    folder = root / f"v{FORMAT}"
    lock = _lock(folder)
    try:
        found = _read(folder)
        reason = None
        if found is not None:
            _check_cluster(folder, found, topic)
            past = Past(found.topic_id, positions(folder / "spark"), _current_at(folder))
            bounds = {partition: (first, high) for partition, (first, high, _) in ends.logs.items()}
            reason = gap(past, Present(_text(topic.topic_id), bounds, ends.now, ends.tombstone_seconds))
        if reason is not None:
            _set_aside(folder)
            found = None
        if found is None:
            live_from = {partition: stable for partition, (_, _, stable) in ends.logs.items()}
            found = Manifest(FORMAT, topic.cluster_id, _text(topic.topic_id), wanted, live_from)
            _write(folder, found)
        return Checkpoint(folder, found, positions(folder / "spark"), reason, lock)
    except BaseException:
        lock.close()
        raise


def positions(spark: Path) -> dict[int, int]:
    """Read the positions of the last finished batch from Spark's own log; empty if there is none.

    `offsets/N` is written before batch N runs, `commits/N` after it has ended.
    """
    commits = [int(entry.name) for entry in (spark / "commits").glob("[0-9]*") if entry.name.isdigit()]
    if not commits:
        return {}
    lines = (spark / "offsets" / str(max(commits))).read_text().splitlines()
    return source_positions(lines[2], NAME) if len(lines) > 2 else {}


def _current_at(folder: Path) -> float | None:
    """Tell when the reader last had read all there was; where nothing says so, when its last batch ended."""
    noted = [folder / _CURRENT] if (folder / _CURRENT).exists() else (folder / "spark" / "commits").glob("[0-9]*")
    return max((path.stat().st_mtime for path in noted), default=None)


def _lock(folder: Path) -> IO[str]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / "lock").open("a")
    except OSError as error:
        raise Refusal(
            f"the checkpoint directory {folder} cannot be used: {error.strerror}",
            "give another one with --checkpoint-dir, or let this user write there",
            ExitCode.CHECKPOINT_UNUSABLE,
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        handle.close()
        raise Refusal(
            f"the checkpoint directory {folder} is in use by another lagwarden",
            "stop that one, or give this one a directory of its own with --checkpoint-dir",
            ExitCode.CHECKPOINT_UNUSABLE,
        ) from error
    return handle


def _read(folder: Path) -> Manifest | None:
    path = folder / _MANIFEST
    try:
        read: dict[str, Any] = json.loads(path.read_text())
        live_from = {int(partition): offset for partition, offset in read.get("live_from", {}).items()}
        found = Manifest(read["format"], read["cluster_id"], read["topic_id"], Layout(**read["layout"]), live_from)
    except FileNotFoundError:
        if (folder / "spark").exists():
            raise _alien(path, "is missing") from None
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _alien(path, f"cannot be read ({error})") from error
    if found.format != FORMAT:
        raise _alien(path, f"says format {found.format}, this version reads format {FORMAT}")
    return found


def _alien(path: Path, problem: str) -> Refusal:
    return Refusal(
        f"{path} {problem}: not a checkpoint of this version",
        "start the version that wrote it, or move the directory away: the topic is then read again from its start",
        ExitCode.CHECKPOINT_FORMAT,
    )


def _check_cluster(folder: Path, found: Manifest, topic: OffsetsTopic) -> None:
    if found.cluster_id != topic.cluster_id:
        raise Refusal(
            f"the checkpoint {folder} belongs to cluster {found.cluster_id}, this is cluster {topic.cluster_id}",
            "check --bootstrap-servers, or give this cluster a directory of its own with --checkpoint-dir",
            ExitCode.CHECKPOINT_CLUSTER,
        )


def _set_aside(folder: Path) -> None:
    """Move what does not fit out of the way, without losing it."""
    number = 1
    while (aside := folder / f"set-aside-{number}").exists():
        number += 1
    aside.mkdir()
    for name in ("spark", _MANIFEST, _CURRENT, VERDICTS):
        if (folder / name).exists():
            (folder / name).rename(aside / name)


def _write(folder: Path, manifest: Manifest) -> None:
    draft = folder / f"{_MANIFEST}.new"
    with draft.open("w") as handle:
        json.dump(dataclasses.asdict(manifest), handle, indent=1)
        handle.flush()
        os.fsync(handle.fileno())
    draft.rename(folder / _MANIFEST)


def _text(topic_id: object) -> str | None:
    return None if topic_id is None else str(topic_id)
