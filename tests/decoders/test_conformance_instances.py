"""Random instances of Kafka's generated classes: we give Kafka's own JSON, byte for byte, and err where it errs."""

from __future__ import annotations

import collections
import functools
import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from decoders import jsonform
from decoders.compose import message_reader
from decoders.errors import DecodeError, MalformedBytes
from decoders.scalar import decode_with
from decoders.tables import BY_NUMBER, SHARE_STATE_TYPES, TRANSACTION_TYPES
from tests.decoders.conformance.official import LINES, NEWEST, compiled, schemas, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from decoders.records import Record
    from decoders.schema import Message

COUNT = 120
# Messages of 4.4 fields that the newest released classes take for unknown tags.
YOUNGER = {"StreamsGroupMetadataValue"}


Row = tuple[str, int, str, bytes, str]


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Row]]:
    """Give what the generated classes of a line write; each line's Java program runs once."""

    @functools.cache
    def of(line: str) -> list[Row]:
        classes = [schema["class"] for schema in schemas(line).values()]
        program = compiled(line, tmp_path_factory.mktemp("classes"), "Messages.java")
        done = subprocess.run([*program, "7", str(COUNT), *classes], check=True, capture_output=True, timeout=300)
        rows = (row.split("\t") for row in done.stdout.decode().split("\n")[:-1])
        return [(name, int(version), verdict, bytes.fromhex(raw), text) for name, version, verdict, raw, text in rows]

    return of


def read(message: Message, version: int, raw: bytes) -> tuple[dict[str, Any] | None, int]:
    """Read a bare message; None where it is refused."""
    try:
        fields, end = message_reader(message, version)(raw, 0)
    except MalformedBytes:
        return None, 0
    return fields, end


def agree(theirs: str, message: Message, version: int, fields: dict[str, Any]) -> bool:
    """Compare our JSON with Kafka's: byte for byte, or as values where it comes from a schema reader (the mark "~")."""
    ours = jsonform.message(message, version, fields)
    if theirs.startswith("~"):
        return bool(json.loads(ours) == camelled(json.loads(theirs[1:])))
    return ours == theirs.replace('"lastKnownELR":', '"lastKnownElr":')  # 3.7's spelling


def camelled(node: Any) -> Any:
    """Give a schema reader's JSON our converter's names."""
    if isinstance(node, dict):
        return {jsonform.camel_case(name): camelled(inner) for name, inner in node.items()}
    return [camelled(inner) for inner in node] if isinstance(node, list) else node


@pytest.mark.spark
@pytest.mark.parametrize("line", LINES)
def test_random_instances_of_every_generated_class_give_the_same_json(
    line: str, instances: Callable[[str], list[Row]]
) -> None:
    """At least 100 instances per message and version, edge values included, are read to the last byte and agree."""
    seen: collections.Counter[tuple[str, int]] = collections.Counter()
    for name, version, verdict, raw, text in instances(line):
        if verdict != "written":
            continue
        message = table(line, name)
        # Up to 4.0 a key's version was its type.
        own_version = 0 if name.endswith("Key") else version
        fields, end = read(message, own_version, raw)
        assert fields is not None, (name, version, raw.hex())
        assert end == len(raw), (name, version, raw.hex())
        assert agree(text, message, own_version, fields), (name, version, raw.hex(), text)
        seen[name, version] += 1
    assert {name for name, _ in seen} == schemas(line).keys()
    assert min(seen.values()) >= 100


@pytest.mark.spark
def test_spoiled_bytes_are_refused_where_kafka_refuses_them(instances: Callable[[str], list[Row]]) -> None:
    """What the generated class accepts of spoiled bytes, we accept with the same JSON, and nothing else."""
    verdicts: collections.Counter[str] = collections.Counter()
    for name, version, verdict, raw, text in instances(NEWEST):
        if verdict == "written" or name in YOUNGER:
            continue
        message = table(NEWEST, name)
        own_version = 0 if name.endswith("Key") else version
        fields, _ = read(message, own_version, raw)
        assert (fields is not None) == (verdict == "accepted"), (name, version, verdict, raw.hex(), text)
        if fields is not None:
            assert agree(text, message, own_version, fields), (name, version, raw.hex(), text)
        verdicts[verdict] += 1
    assert min(verdicts["accepted"], verdicts["refused"]) > 1000


@pytest.mark.spark
@pytest.mark.parametrize("line", LINES)
def test_whole_records_of_every_line_are_told_apart(line: str, instances: Callable[[str], list[Row]]) -> None:
    """With type and version in front, a value is read by the layout of its line and printed in the console's shape."""
    topics = (BY_NUMBER, TRANSACTION_TYPES, SHARE_STATE_TYPES)
    rows = {
        row.value.name: (types, row)
        for types in topics
        for row in types.values()
        if row.value is not None and row.number
    }
    checked = 0
    for name, version, verdict, raw, text in instances(line):
        if verdict != "written" or name not in rows:
            continue
        types, row = rows[name]
        record = decode_with(types, a_key(row.number, row.key), version.to_bytes(2) + raw)
        assert not isinstance(record, DecodeError), (name, version, record)
        if record.layout is table(line, name):
            assert record.value is not None
            assert agree(text, record.layout, version, record.value), (name, version, raw.hex(), text)
            assert jsonform.console(record).endswith(
                f'"value":{{"version":{version},"data":{jsonform.message(record.layout, version, record.value)}}}}}'
            )
            checked += 1
        else:
            assert fits_both(record, line, name, version, raw), (name, version, raw.hex())
    assert checked > 500


def a_key(number: int, message: Message | None) -> bytes:
    """Write some key of this type: names of one letter, numbers of zero."""
    assert message is not None
    sizes = {"string": b"\0\1k", "int32": bytes(4), "uuid": bytes(16)}
    return number.to_bytes(2) + b"".join(sizes[field.type.name] for field in message.struct.fields)


def fits_both(record: Record, line: str, name: str, version: int, raw: bytes) -> bool:
    """Tell whether the same bytes are a whole value of both layouts: then nothing in them can tell which was meant."""
    ends = {read(layout, version, raw)[1] for layout in (record.layout, table(line, name)) if layout is not None}
    return ends == {len(raw)}
