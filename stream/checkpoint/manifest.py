"""The manifest of a checkpoint: which cluster and topic it belongs to, and how its state is laid out."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any, Final

from stream.checkpoint.files import DamagedError
from stream.errors import ExitCode, Refusal
from stream.groups.placement import Placement

if TYPE_CHECKING:
    from pathlib import Path

FORMAT: Final = 1
"""Number of the layout of checkpoints; raised when state written before cannot be read on."""
MANIFEST: Final = "lagwarden.json"


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


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of a checkpoint; None where there is no checkpoint.

    Raises DamagedError, Refusal if another version wrote it, and PermissionError.
    """
    path = folder / MANIFEST
    try:
        read: dict[str, Any] = json.loads(path.read_text())
        _check_format(path, read["format"])
        live_from = {int(partition): offset for partition, offset in read.get("live_from", {}).items()}
        found = Manifest(read["format"], read["cluster_id"], read["topic_id"], Layout(**read["layout"]), live_from)
    except FileNotFoundError:
        if (folder / "spark").exists():
            raise DamagedError(path, "is missing") from None
        return None
    except PermissionError:
        raise
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedError(path, f"cannot be read ({error})") from error
    return found


def _check_format(path: Path, found: int) -> None:
    if found != FORMAT:
        raise Refusal(
            f"{path} says format {found}, this version reads format {FORMAT}: not a checkpoint of this version",
            "start the version that wrote it, or move the directory away: the topic is then read again from its start",
            ExitCode.CHECKPOINT_FORMAT,
        )


def check_cluster(folder: Path, found: Manifest, cluster_id: str) -> None:
    """Raise Refusal if a checkpoint belongs to another cluster."""
    if found.cluster_id != cluster_id:
        raise Refusal(
            f"the checkpoint {folder} belongs to cluster {found.cluster_id}, this is cluster {cluster_id}",
            "check --bootstrap-servers, or give this cluster a directory of its own with --checkpoint-dir",
            ExitCode.CHECKPOINT_CLUSTER,
        )


def replace_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file, whole or not at all."""
    draft = path.with_name(f"{path.name}.new")
    with draft.open("w") as handle:
        json.dump(content, handle, indent=1)
        handle.flush()
        os.fsync(handle.fileno())
    draft.rename(path)
