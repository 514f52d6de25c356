"""The traffic as bytes: keys and values of `__consumer_offsets`, encoded with `struct` and numpy alone.

Independent of `decoders`, whose results the benchmark checks. Layouts: Kafka's OffsetCommitKey, OffsetCommitValue,
GroupMetadataKey and GroupMetadataValue.
"""

import dataclasses
import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.traffic import Chunk, Kind, Traffic

_EPOCH: Final = 7
TOPIC_ID: Final = bytes(range(0x10, 0x20))
"""The id of every topic unless a cluster assigned another."""
_NOTE: Final = b"checkpointed by worker 3"
_SESSION_MS: Final = 604_800_000
"""A week: a broker that loads the topic must not expire the members during the benchmark and write tombstones."""


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """One layout of a commit's value: the fields in order (big-endian, packed) and the constant fields."""

    share: float
    """The share of all commits."""
    fields: tuple[tuple[str, str], ...]
    constants: dict[str, Any]

    def encode(self, offset: NDArray[np.int64], time: NDArray[np.int64], topic_id: NDArray[np.void]) -> list[bytes]:
        """Return one value per element."""
        rows = np.zeros(len(offset), np.dtype(list(self.fields)))
        rows["offset"], rows["time"] = offset, time
        for name, constant in self.constants.items():
            rows[name] = constant
        if "topic_id" in (rows.dtype.names or ()):
            rows["topic_id"] = topic_id
        size, raw = rows.dtype.itemsize, rows.tobytes()
        return [raw[at : at + size] for at in range(0, len(raw), size)]


_HEAD: Final = (("version", ">i2"), ("offset", ">i8"))
_EPOCH_FIELD: Final = ("leader_epoch", ">i4")
_TIME: Final = ("time", ">i8")
_NOTE_FIELD: Final = ("metadata", f"S{len(_NOTE)}")

LAYOUTS: Final = (
    # Kafka 0.9 to 2.0, and clients that set their own retention.
    Layout(
        0.10,
        (*_HEAD, ("metadata_length", ">i2"), _TIME, ("expire_time", ">i8")),
        {"version": 1, "expire_time": -1},
    ),
    # Kafka 2.1 to 4.0, without and with a note in the metadata.
    Layout(0.40, (*_HEAD, _EPOCH_FIELD, ("metadata_length", ">i2"), _TIME), {"version": 3, "leader_epoch": _EPOCH}),
    Layout(
        0.05,
        (*_HEAD, _EPOCH_FIELD, ("metadata_length", ">i2"), _NOTE_FIELD, _TIME),
        {"version": 3, "leader_epoch": _EPOCH, "metadata_length": len(_NOTE), "metadata": _NOTE},
    ),
    # Kafka from 4.1 on: compact string (length + 1) and tags; with the topic id and, as in transactions, without.
    Layout(
        0.40,
        (*_HEAD, _EPOCH_FIELD, ("metadata_length", "u1"), _TIME, ("tags", "V3"), ("topic_id", "V16")),
        {
            "version": 4,
            "leader_epoch": _EPOCH,
            "metadata_length": 1,
            "tags": np.void(b"\x01\x00\x10"),
        },
    ),
    Layout(
        0.05,
        (*_HEAD, _EPOCH_FIELD, ("metadata_length", "u1"), _TIME, ("tags", "u1")),
        {"version": 4, "leader_epoch": _EPOCH, "metadata_length": 1},
    ),
)


def object_column(items: list[Any]) -> NDArray[np.object_]:
    """Return a column of objects, whatever their lengths."""
    column = np.empty(len(items), object)
    column[:] = items
    return column


def commit_keys(traffic: Traffic) -> list[bytes]:
    """Return the key (type 1) of every (group, topic, partition)."""
    return [
        struct.pack(">h", 1) + _text(traffic.group(group)) + _text(traffic.topic(group)) + struct.pack(">i", partition)
        for group in range(traffic.groups)
        for partition in range(traffic.partitions_per_group)
    ]


def group_keys(traffic: Traffic) -> list[bytes]:
    """Return the key (type 2) of every group."""
    return [struct.pack(">h", 2) + _text(traffic.group(group)) for group in range(traffic.groups)]


def values(traffic: Traffic, chunk: Chunk, topic_ids: Sequence[bytes] = ()) -> list[bytes | None]:
    """Return the value of every record of a chunk; None for tombstones. `topic_ids` has the id of every topic."""
    ids = np.array([np.void(each) for each in topic_ids or [TOPIC_ID] * traffic.topics])
    topic = chunk.key // traffic.partitions_per_group % traffic.topics
    encoded = np.full(len(chunk), None, object)
    commits = np.flatnonzero(chunk.kind == Kind.COMMIT)
    layout = layout_of(chunk.first + commits)
    for number, each in enumerate(LAYOUTS):
        rows = commits[layout == number]
        if len(rows):
            # Through a list: a numpy bytes array drops trailing zero bytes.
            encoded[rows] = np.array(
                [*each.encode(chunk.offset[rows], chunk.time[rows], ids[topic[rows]]), None], object
            )[:-1]
    for row in np.flatnonzero(chunk.kind == Kind.MEMBERSHIP).tolist():
        encoded[row] = group_value(traffic, int(chunk.key[row]), int(chunk.offset[row]), int(chunk.time[row]))
    return encoded.tolist()


def layout_of(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the layout number of each record index, in the shares of `LAYOUTS`."""
    uniform = (index * 2_654_435_761 % 2**32) / 2**32
    limits = np.cumsum([each.share for each in LAYOUTS[:-1]])
    return np.searchsorted(limits, uniform, side="right")


def group_value(traffic: Traffic, number: int, generation: int, time: int) -> bytes:
    """Return group metadata (v3) of a stable classic group of two or three members that share all its partitions."""
    name, topic = traffic.group(number), traffic.topic(number)
    members = [f"{name}-consumer-{at}-5f0c1f3e-7a54-4f0b-9f0e-2f6f1f4b1a2c" for at in range(member_count(number))]
    shares = [range(at, traffic.partitions_per_group, len(members)) for at in range(len(members))]
    head = struct.pack(">h", 3) + _text("consumer") + struct.pack(">i", generation)
    chosen = _text("range") + _text(members[0]) + struct.pack(">qi", time, len(members))
    joined = (_member(member, topic, share) for member, share in zip(members, shares, strict=True))
    return head + chosen + b"".join(joined)


def member_count(number: int) -> int:
    """Return the number of members of a group."""
    return 2 + number % 2


def _member(name: str, topic: str, share: Sequence[int]) -> bytes:
    # Consumer protocol v0: the subscribed topics, and the assigned partitions of one topic.
    subscription = struct.pack(">hi", 0, 1) + _text(topic) + struct.pack(">i", -1)
    assigned = _text(topic) + struct.pack(f">i{len(share)}i", len(share), *share)
    assignment = struct.pack(">hi", 0, 1) + assigned + struct.pack(">i", -1)
    client = struct.pack(">h", -1) + _text("consumer") + _text("/127.0.0.1") + struct.pack(">ii", 300_000, _SESSION_MS)
    return _text(name) + client + _blob(subscription) + _blob(assignment)


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack(">h", len(raw)) + raw


def _blob(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value
