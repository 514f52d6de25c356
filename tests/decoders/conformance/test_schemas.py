"""Compares the tables with Kafka's message JSON from the official jars of seven release lines."""

import re
from typing import Any

import pytest

from decoders.schema import ArrayOf, Field, FieldType, Struct, versions
from tests.decoders.conformance.official import LINES, NEWEST, TABLES, Schema, schemas, table


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def their_default(field: dict[str, Any], nested: dict[str, Any] | None) -> Any:
    """Return the default of a field as Kafka's generator computes it."""
    declared, kind = field.get("default"), field["type"]
    if declared == "null":
        return None
    if kind.startswith("[]"):
        return ()
    if nested is not None:
        return {snake_case(inner["name"]): their_default(inner, None) for inner in nested["fields"]}
    by_type = {"string": declared or "", "bytes": b"", "uuid": bytes(16), "bool": str(declared).lower() == "true"}
    return by_type[kind] if kind in by_type else float(declared or 0)


def their_rows(schema: Schema, fields: list[dict[str, Any]], version: int) -> list[Any]:
    common = {struct["name"]: struct for struct in schema.get("commonStructs", [])}
    rows = []
    for field in fields:
        if version not in versions(field.get("versions") or field["taggedVersions"]):
            continue
        name = field["type"].removeprefix("[]")
        nested = field if "fields" in field else common.get(name)
        tagged = version in versions(field.get("taggedVersions", "none"))
        rows.append(
            (
                snake_case(field["name"]),
                "[]" * field["type"].startswith("[]"),
                name if nested is None else their_rows(schema, nested["fields"], version),
                version in versions(field.get("nullableVersions", "none")),
                int(field["tag"]) if tagged else None,
                their_default(field, nested),
            )
        )
    return rows


def our_type(kind: FieldType, version: int) -> tuple[str, Any]:
    """Return "[]" for an array, and the name of a primitive or the rows of a struct."""
    if isinstance(kind, ArrayOf):
        return "[]", our_type(kind.element, version)[1]
    if isinstance(kind, Struct):
        return "", our_rows(kind.fields, version)
    return "", kind.name


def our_rows(fields: tuple[Field, ...], version: int) -> list[Any]:
    return [
        (field.name, *our_type(field.type, version), field.may_be_null(version), field.tag, field.default_value())
        for field in fields
        if field.present(version)
    ]


def known_to(theirs: list[Any], ours: list[Any]) -> list[Any]:
    """Return our rows without tagged fields that an older line does not have, at every depth."""
    by_name = {row[0]: row for row in theirs}
    kept = []
    for name, array, inner, *rest in ours:
        if name in by_name or rest[1] is None:
            their_inner = by_name[name][2] if name in by_name else inner
            both = isinstance(inner, list) and isinstance(their_inner, list)
            kept.append((name, array, known_to(their_inner, inner) if both else inner, *rest))
    return kept


def their_valid(schema: Schema) -> range:
    """Return the versions of a message; up to 4.0 the version of a key was its record type."""
    valid = versions(schema["validVersions"])
    return range(1) if schema["name"].endswith("Key") else range(valid.lowest, valid.highest + 1)


@pytest.mark.spark
@pytest.mark.parametrize("line", LINES)
def test_every_table_agrees_with_the_message_schema(line: str) -> None:
    """Fields, order, types, nullability, tags and defaults agree in every version of every message of the line."""
    compared = 0
    for name, schema in schemas(line).items():
        ours = table(line, name)
        for version in their_valid(schema):
            # The version range of a key does not affect its bytes: any version has all fields.
            their_version = versions(schema["validVersions"]).lowest if name.endswith("Key") else version
            theirs = their_rows(schema, schema["fields"], their_version)
            rows = our_rows(ours.struct.fields, version)
            assert known_to(theirs, rows) == theirs, (line, name, version)
            assert ours.is_valid(version), (line, name, version)
            assert ours.is_flexible(version) == (version in versions(schema["flexibleVersions"])), (line, name)
            compared += 1
    assert compared >= 30


@pytest.mark.spark
def test_the_newest_line_has_every_message_and_field_of_the_tables() -> None:
    """The tables have nothing that the newest line does not have."""
    newest_schemas = schemas(NEWEST)
    assert newest_schemas.keys() == TABLES.keys()
    for name, schema in newest_schemas.items():
        ours = TABLES[name]
        if name != "LegacyOffsetCommitValue":
            newest = max(their_valid(schema))
            assert not ours.is_valid(newest + 1), name
            theirs = {snake_case(field["name"]) for field in schema["fields"]}
            assert {field.name for field in ours.struct.fields} <= theirs, name
