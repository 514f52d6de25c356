"""Kafka's own message schemas and generated classes, from the official jars of several release lines."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any, Final

import pytest

from decoders.schema import Message, RecordType
from decoders.tables import RECORD_TYPES, SHARE_STATE_TYPES, TRANSACTION_TYPES, consumer, embedded, share
from sandbox.kafka.compiler import compile_java
from sandbox.kafka.jars import JarError, jar_set
from sandbox.kafka.java import JavaMissingError, find_java

HERE: Final = Path(__file__).parent
LINES: Final = ("3.7.2", "3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0")
NEWEST: Final = LINES[-1]
COMPLETE: Final = "4.3.1"
"""The newest line with the jars of the tools, of Streams and of Connect."""
SCHEMA_FILES: Final = re.compile(
    r"common/message/(?:(?:LegacyOffset|Offset|Group|Consumer|Share|Streams|Transaction)\w+(?:Key|Value)"
    r"|ConsumerProtocol(?:Subscription|Assignment))\.json"
)
PACKAGES: Final = {
    "kafka-group-coordinator": "org.apache.kafka.coordinator.group.generated",
    "kafka-transaction-coordinator": "org.apache.kafka.coordinator.transaction.generated",
    "kafka-share-coordinator": "org.apache.kafka.coordinator.share.generated",
    "kafka-clients": "org.apache.kafka.common.message",
    "kafka-streams": "org.apache.kafka.streams.internals.generated",
}
Schema = dict[str, Any]


def _tables() -> dict[str, Message]:
    """Return the current table of every message by Kafka's name."""
    rows: list[RecordType] = [*RECORD_TYPES, *TRANSACTION_TYPES.values(), *SHARE_STATE_TYPES.values()]
    tables = [table for row in rows for table in (row.key, row.value) if table is not None]
    tables += [embedded.CONSUMER_SUBSCRIPTION, embedded.CONSUMER_ASSIGNMENT]
    by_name = {table.name: table for table in tables}
    by_name["LegacyOffsetCommitValue"] = by_name["OffsetCommitValue"]
    return by_name


TABLES: Final = _tables()
_3_7: Final = (
    consumer.PARTITION_METADATA_VALUE_3_7,
    consumer.MEMBER_METADATA_VALUE_3_7,
    consumer.TARGET_ASSIGNMENT_MEMBER_VALUE_3_7,
    consumer.CURRENT_MEMBER_ASSIGNMENT_VALUE_3_7,
)
_4_0: Final = (
    share.METADATA_VALUE_4_0,
    share.STATE_PARTITION_METADATA_VALUE_4_0,
    share.SNAPSHOT_VALUE_4_0,
    share.UPDATE_VALUE_4_0,
)
OLDER: Final = {
    "3.7.2": {table.name: table for table in (*_3_7, *_4_0)},
    "3.9.2": {table.name: table for table in _4_0},
    "4.0.2": {table.name: table for table in _4_0},
}
"""Messages that a line wrote with another layout but the same version."""
REMOVED: Final = re.compile(r"ShareGroupPartitionMetadata(Key|Value)")
"""Type 9, which only the jars of 3.9 and 4.0 have and current brokers refuse."""


def table(line: str, name: str) -> Message:
    return OLDER.get(line, {}).get(name) or TABLES[name]


def jars(line: str) -> list[Path]:
    """Return the jars of a line; skip without Java, fail without jars."""
    try:
        find_java()
        return jar_set(f"messages-{line}")
    except JavaMissingError as missing:
        pytest.skip(str(missing))
    except JarError as error:
        pytest.fail(f"the message jars are missing: {error}")


def schemas(line: str) -> dict[str, Schema]:
    """Return the message schemas in the jars of a line by name, each with its Java class as `class`."""
    found: dict[str, Schema] = {}
    for jar in jars(line):
        package = PACKAGES.get(jar.name.removesuffix(f"-{line}.jar"))
        if package is None:
            continue
        with zipfile.ZipFile(jar) as content:
            for entry in content.namelist():
                if SCHEMA_FILES.fullmatch(entry):
                    schema = read_schema(content.read(entry).decode())
                    schema["class"] = f"{package}.{schema['name']}"
                    found[schema["name"]] = schema
    return {name: schema for name, schema in found.items() if not REMOVED.fullmatch(name)}


def read_schema(text: str) -> Schema:
    without_comments = re.sub(
        r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', lambda match: match[1] or "", text, flags=re.DOTALL
    )
    schema: Schema = json.loads(without_comments)
    return schema


def compiled(line: str, folder: Path, source: str) -> list[str]:
    """Compile a Java program of this folder against the jars of a line; return the command that runs it."""
    compile_java(HERE / source, jars(line), folder)
    class_path = ":".join(map(str, jars(line)))
    return [str(find_java()), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", f"{class_path}:{folder}", Path(source).stem]
