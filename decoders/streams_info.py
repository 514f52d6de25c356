"""Decoders for data that Kafka Streams writes with Java's DataOutput: AssignmentInfo.

Sources: AssignmentInfo and ConsumerProtocolUtils. A string here is Java's
modified UTF-8 after a uint16 length, or UTF-16 after a count of characters; counts are int32. The readers raise
`MalformedBytes`; the public functions are in `decoders.blobs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders import wire
from decoders.errors import DecodeReason, MalformedBytes
from decoders.schema import Versions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from decoders.records import Fields
    from decoders.wire import Reader

ASSIGNMENT_VERSIONS: Final = Versions(1, 11)


def read_assignment(version: int, buffer: bytes, at: int) -> Fields:
    """Read the body of an AssignmentInfo of this version, starting after the version.

    Hosts map to `{topic: [partition ...]}`; v2 to v5 have only the active partitions (`partitions_by_host`). As in
    Kafka Streams, bytes of a newer writer after the last known field are ignored.
    """
    fields: Fields = {}
    for name, lowest, highest, reader in _ASSIGNMENT:
        if lowest <= version <= highest:
            try:
                fields[name], at = reader(version)(buffer, at)
            except MalformedBytes as fault:
                raise fault.within(name) from None
    topics = fields.pop("topics", None)
    if topics is not None:
        for name in ("partitions_by_host", "standby_partitions_by_host"):
            if name in fields:
                fields[name] = _by_topic_name(fields[name], dict(topics), at)
    return fields


def _by_topic_name(
    by_host: Mapping[str, Any], topics: Mapping[int, str], at: int
) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return the partitions of each host by topic name instead of the number in the topic dictionary."""
    named = {}
    for host, partitions in by_host.items():
        if any(topic not in topics for topic, _ in partitions):
            raise MalformedBytes(DecodeReason.LENGTH_PAST_END, at).within("topics")
        named[host] = _grouped((topics[topic], partition) for topic, partition in partitions)
    return named


def _grouped(pairs: Any) -> dict[str, tuple[int, ...]]:
    """Return the partitions of each topic, in the order written."""
    partitions: dict[str, list[int]] = {}
    for topic, partition in pairs:
        partitions.setdefault(topic, []).append(partition)
    return {topic: tuple(numbers) for topic, numbers in partitions.items()}


def _pair(first: Reader, second: Reader) -> Reader:
    """Return the reader of two consecutive values."""

    def read(buffer: bytes, at: int) -> tuple[tuple[Any, Any], int]:
        left, at = first(buffer, at)
        right, at = second(buffer, at)
        return (left, right), at

    return read


def _mapped(read: Reader, convert: Callable[[Any], Any]) -> Reader:
    """Return a reader that converts the value of another one."""

    def read_mapped(buffer: bytes, at: int) -> tuple[Any, int]:
        value, at = read(buffer, at)
        return convert(value), at

    return read_mapped


def _counted(element: Reader) -> Reader:
    """Return the reader of elements after an int32 count."""
    return wire.array(wire.int32, element, nullable=False)


def _utf(buffer: bytes, at: int) -> tuple[str, int]:
    """Read Java's modified UTF-8: NUL takes two bytes, a supplementary character is two surrogates of three bytes."""
    length, start = wire.uint16(buffer, at)
    raw, after = wire.read_bytes(buffer, start, length)
    try:
        text = raw.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace"), after
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), after


def _utf16(buffer: bytes, at: int) -> tuple[str, int]:
    """Read UTF-16 after an int32 count of code units, as written by Java's writeChars."""
    count, start = wire.int32(buffer, at)
    raw, after = wire.read_bytes(buffer, start, 2 * wire.not_null(count, at))
    return raw.decode("utf-16-be", "replace"), after


def _task(version: int) -> Reader:
    """Return the reader of a task id; since v10 a named topology follows it, empty for none."""
    number = _pair(wire.int32, wire.int32)
    if version < 10:
        return _mapped(number, lambda pair: {"subtopology": pair[0], "partition": pair[1], "named_topology": None})
    return _mapped(
        _pair(number, _utf16),
        lambda both: {"subtopology": both[0][0], "partition": both[0][1], "named_topology": both[1] or None},
    )


_TOPIC_PARTITIONS: Final = _mapped(_counted(_pair(_utf, wire.int32)), _grouped)
_HOST: Final = _mapped(_pair(_utf, wire.int32), lambda pair: f"{pair[0]}:{pair[1]}")
_HOSTS_BY_NAME: Final = _mapped(_counted(_pair(_HOST, _TOPIC_PARTITIONS)), dict)
_HOSTS_BY_NUMBER: Final = _mapped(_counted(_pair(_HOST, _counted(_pair(wire.int32, wire.int32)))), dict)


def _standby(version: int) -> Reader:
    """Return the reader of standby tasks with the partitions that each of them reads."""
    return _mapped(
        _counted(_pair(_task(version), _TOPIC_PARTITIONS)),
        lambda pairs: tuple({**task, "partitions": partitions} for task, partitions in pairs),
    )


_ASSIGNMENT: Final[tuple[tuple[str, int, int, Callable[[int], Reader]], ...]] = (
    # name, from version, to version, reader
    ("commonly_supported_version", 3, 11, lambda _: wire.int32),
    ("active_tasks", 1, 11, lambda version: _counted(_task(version))),
    ("standby_tasks", 1, 11, _standby),
    ("partitions_by_host", 2, 4, lambda _: _HOSTS_BY_NAME),
    ("topics", 5, 11, lambda _: _counted(_pair(wire.int32, _utf))),
    ("partitions_by_host", 5, 11, lambda _: _HOSTS_BY_NUMBER),
    ("standby_partitions_by_host", 6, 11, lambda _: _HOSTS_BY_NUMBER),
    ("error_code", 4, 11, lambda _: wire.int32),
    ("next_rebalance_ms", 7, 11, lambda _: wire.int64),
)
