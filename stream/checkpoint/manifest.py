"""The manifest of a checkpoint: its cluster, its topic, and the layout of its state."""

import dataclasses
import json
import zlib
from typing import Any, Final

from stream.checkpoint.files import CheckpointPath, DamagedError, check_regular, replace_bytes
from stream.checkpoint.objects.store import StoreUnavailableError
from stream.errors import ExitCode, Refusal
from stream.groups.placement import EVERY_GROUP, Placement

FORMAT: Final = 2
"""The version of the checkpoint format; incremented when older state cannot be continued. 1: Spark's Kafka source."""
MANIFEST: Final = "lagwarden.json"
_CHECKSUM: Final = "crc32"


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """The options that cannot change within a checkpoint."""

    sub_shards: int
    offsets_partitions: int
    shuffle_partitions: int
    slot_ms: int
    keep_slots: int

    @property
    def placement(self) -> Placement:
        """The mapping of groups to shards in this checkpoint."""
        return Placement(self.offsets_partitions, self.sub_shards)


NOT_YET_LIVE: Final = 2**63 - 1


@dataclasses.dataclass(frozen=True, slots=True)
class Manifest:
    """The content of `lagwarden.json`."""

    format: int
    cluster_id: str
    topic_id: str | None
    layout: Layout
    live_from: dict[int, int]
    """The last stable offsets of the offsets partitions at creation: records before them are replayed, not live.

    NOT_YET_LIVE for a partition whose end was not known: the next start that knows it sets it. Empty in checkpoints of
    versions without this field: all further records are live.
    """
    instance: str = str(EVERY_GROUP)
    """The instance, as `i/n`, whose groups the state has."""


def read_manifest(folder: CheckpointPath) -> Manifest | None:
    """Read the manifest of a checkpoint; None if there is no checkpoint.

    Raises DamagedError, Refusal if another version wrote it, PermissionError, and StoreUnavailableError.
    """
    path = folder / MANIFEST
    check_regular(path)
    try:
        read: dict[str, Any] = json.loads(path.read_text())
        if read["format"] != FORMAT:
            raise Refusal(
                f"{path} has format {read['format']}, this version reads format {FORMAT}",
                "start the version that wrote it, or move the directory; the topic is then read again from its start",
                ExitCode.CHECKPOINT_FORMAT,
            )
        if read.get(_CHECKSUM, checksum := _checksum(read)) != checksum:  # absent in those of earlier versions
            raise DamagedError(path, "does not match its checksum")
        live_from = {int(partition): offset for partition, offset in read.get("live_from", {}).items()}
        found = Manifest(
            read["format"],
            read["cluster_id"],
            read["topic_id"],
            Layout(**read["layout"]),
            live_from,
            str(read.get("instance", EVERY_GROUP)),
        )
    except FileNotFoundError:
        if (folder / "spark").exists():
            raise DamagedError(path, "is missing") from None
        return None
    except (PermissionError, StoreUnavailableError):
        raise
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedError(path, f"cannot be read ({error})") from error
    return found


def write_manifest(folder: CheckpointPath, manifest: Manifest) -> None:
    """Write the manifest of a checkpoint atomically, with the checksum of its content. Raises OSError."""
    content = json.loads(json.dumps(dataclasses.asdict(manifest)))  # with keys as they are read
    replace_json(folder / MANIFEST, content | {_CHECKSUM: _checksum(content)})


def _checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps({key: content[key] for key in content if key != _CHECKSUM}, sort_keys=True).encode())


def check_cluster(folder: CheckpointPath, owner: str, cluster_id: str) -> None:
    """Raise Refusal if a checkpoint belongs to another cluster."""
    if owner != cluster_id:
        raise Refusal(
            f"the checkpoint {folder} belongs to cluster {owner}, this is cluster {cluster_id}",
            "check --bootstrap-servers, or set another directory for this cluster with --checkpoint-dir",
            ExitCode.CHECKPOINT_CLUSTER,
        )


def replace_json(path: CheckpointPath, content: dict[str, Any]) -> None:
    """Write a JSON file atomically."""
    replace_bytes(path, json.dumps(content, indent=1).encode())
