"""Random instances of Kafka's generated classes: the same JSON byte for byte, and errors for the same bytes."""

import collections
import functools
import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from decoders import jsonform
from decoders.compose import message_reader
from decoders.errors import DecodeError, MalformedBytes
from decoders.scalar import decode_with
from decoders.schema import Message, Record
from decoders.tables import BY_NUMBER, SHARE_STATE_TYPES, TRANSACTION_TYPES
from tests.decoders.conformance.official import LINES, NEWEST, compiled, schemas, table

COUNT = 120

Row = tuple[str, int, str, bytes, str]


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Row]]:
    """Return a function for the output of a line's generated classes; each Java program runs once."""

    @functools.cache
    def instances_of_line(line: str) -> list[Row]:
        classes = [schema["class"] for schema in schemas(line).values()]
        program = compiled(line, tmp_path_factory.mktemp("classes"), "Messages.java")
        process = subprocess.run([*program, "7", str(COUNT), *classes], check=True, capture_output=True, timeout=300)
        rows = (row.split("\t") for row in process.stdout.decode().split("\n")[:-1])
        return [(name, int(version), outcome, bytes.fromhex(raw), text) for name, version, outcome, raw, text in rows]

    return instances_of_line


def read(message: Message, version: int, raw: bytes) -> tuple[dict[str, Any] | None, int]:
    """Read a message without frame; return no fields if it is refused."""
    try:
        fields, end = message_reader(message, version)(raw, 0)
    except MalformedBytes:
        return None, 0
    return fields, end


def agree(theirs: str, message: Message, version: int, fields: dict[str, Any]) -> bool:
    """Compare our JSON with Kafka's: byte for byte, or as values if a schema reader made it (marked "~")."""
    ours = jsonform.message(message, version, fields)
    if theirs.startswith("~"):
        return bool(json.loads(ours) == with_camel_case(json.loads(theirs[1:])))
    return ours == theirs.replace('"lastKnownELR":', '"lastKnownElr":')  # 3.7's spelling


def with_camel_case(node: Any) -> Any:
    """Return the JSON of a schema reader with the field names of the JSON converters."""
    if isinstance(node, dict):
        return {jsonform.camel_case(name): with_camel_case(inner) for name, inner in node.items()}
    return [with_camel_case(inner) for inner in node] if isinstance(node, list) else node


@pytest.mark.spark
@pytest.mark.parametrize("line", LINES)
def test_random_instances_of_every_generated_class_give_the_same_json(
    line: str, instances: Callable[[str], list[Row]]
) -> None:
    """Each message and version has at least 100 instances, also of edge values, and all are read and agree."""
    seen: collections.Counter[tuple[str, int]] = collections.Counter()
    for name, version, outcome, raw, text in instances(line):
        if outcome != "written":
            continue
        message = table(line, name)
        # Up to 4.0 the version of a key was its record type.
        table_version = 0 if name.endswith("Key") else version
        fields, end = read(message, table_version, raw)
        assert fields is not None, (name, version, raw.hex())
        assert end == len(raw), (name, version, raw.hex())
        assert agree(text, message, table_version, fields), (name, version, raw.hex(), text)
        seen[name, version] += 1
    assert {name for name, _ in seen} == schemas(line).keys()
    assert min(seen.values()) >= 100


@pytest.mark.spark
def test_corrupted_bytes_are_refused_exactly_if_kafka_refuses_them(instances: Callable[[str], list[Row]]) -> None:
    """Corrupted bytes are accepted only if the generated class accepts them, and with the same JSON."""
    outcomes: collections.Counter[str] = collections.Counter()
    for name, version, outcome, raw, text in instances(NEWEST):
        if outcome == "written":
            continue
        message = table(NEWEST, name)
        table_version = 0 if name.endswith("Key") else version
        fields, _ = read(message, table_version, raw)
        assert (fields is not None) == (outcome == "accepted"), (name, version, outcome, raw.hex(), text)
        if fields is not None:
            assert agree(text, message, table_version, fields), (name, version, raw.hex(), text)
        outcomes[outcome] += 1
    assert min(outcomes["accepted"], outcomes["refused"]) > 1000


@pytest.mark.spark
@pytest.mark.parametrize("line", LINES)
def test_records_of_every_line_are_read_with_the_layout_of_their_line(
    line: str, instances: Callable[[str], list[Row]]
) -> None:
    """A value with type and version is read with the layout of its line and formatted as the console formatter does."""
    topics = (BY_NUMBER, TRANSACTION_TYPES, SHARE_STATE_TYPES)
    rows = {
        row.value.name: (types, row)
        for types in topics
        for row in types.values()
        if row.value is not None and row.number
    }
    checked = 0
    for name, version, outcome, raw, text in instances(line):
        if outcome != "written" or name not in rows:
            continue
        types, row = rows[name]
        record = decode_with(types, minimal_key(row.number, row.key), version.to_bytes(2) + raw)
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


def minimal_key(number: int, message: Message | None) -> bytes:
    assert message is not None
    sizes = {"string": b"\0\1k", "int32": bytes(4), "uuid": bytes(16)}
    return number.to_bytes(2) + b"".join(sizes[field.type.name] for field in message.struct.fields)


def fits_both(record: Record, line: str, name: str, version: int, raw: bytes) -> bool:
    """Return whether the bytes are a complete value of both layouts, so that the layout cannot be determined."""
    ends = {read(layout, version, raw)[1] for layout in (record.layout, table(line, name)) if layout is not None}
    return ends == {len(raw)}
