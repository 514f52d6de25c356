"""JSON objects that have the columns of a table as fields, for the OpenAPI document."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import pyarrow as pa
from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema
from typing_extensions import TypedDict, get_type_hints

from exporters.catalogue.metric import Stability
from exporters.catalogue.table import Column, Table
from exporters.readmodel.group_detail import ByTopic, ForPages, UnixTime
from exporters.timestamps import rfc3339

STABILITY: Final = "x-stability"
"""The extension of OpenAPI that says how stable an operation or field is; a field without it is as its operation."""
EXPERIMENTAL: Final[Any] = Field(json_schema_extra={STABILITY: "experimental"})
"""Marks a field that may change in any release (docs/upgrading.md): `Annotated[int, EXPERIMENTAL]`."""
Json = dict[str, Any]
_MAKE_TYPE: Any = TypedDict
"""Typed as any: a checker of types accepts no fields that are known at run time only."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fields:
    """The columns of a table as fields, in their order.

    With `are_unmarked`, no field is marked as experimental: it is stable although its metric is not, or the whole list
    is experimental.
    """

    table: Table
    without: tuple[str, ...] = ()
    are_unmarked: bool = False

    @property
    def types(self) -> dict[str, Any]:
        """The type of each field."""
        labels = self.table.labels
        return {
            column.name: self._type(column, may_be_null=column not in labels and column.null is not None)
            for column in self.table.columns
            if column.name not in self.without
        }

    def _type(self, column: Column, *, may_be_null: bool) -> Any:
        json_type = _json_type(column.type)
        if may_be_null:
            json_type = json_type | None
        is_experimental = column.stability is Stability.EXPERIMENTAL and column not in self.table.labels
        if is_experimental and not self.are_unmarked:
            json_type = Annotated[json_type, EXPERIMENTAL]
        return Annotated[json_type, Field(description=column.description)]


@dataclasses.dataclass(frozen=True)
class JsonObject:
    """An object with the fields of its parts, one after the other.

    A part is a TypedDict, a dataclass (`as_json`) or the columns of a table. Used as `Annotated[Json, JsonObject(…)]`:
    pydantic reads the fields, a checker of types does not.
    """

    name: str
    meaning: str
    parts: tuple[Fields | type, ...]

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self.type)

    @functools.cached_property
    def type(self) -> Any:
        """The object as a TypedDict."""
        fields: dict[str, Any] = {}
        for part in self.parts:
            if isinstance(part, Fields):
                fields |= part.types
            else:
                fields |= {name: kind for name, (kind, _) in _fields_of(part).items()}
        made = _MAKE_TYPE(self.name, fields)
        made.__doc__ = self.meaning or None
        return made


def row(name: str, table: Table, *without: str, are_unmarked: bool = False) -> JsonObject:
    """Return a row of a table as an object, whose fields have the descriptions of the columns."""
    return JsonObject(name, "", (Fields(table, without, are_unmarked),))


def as_json(detail: object) -> Json:
    """Return a dataclass as an object: times are RFC 3339, and partitions are a map by topic."""
    kind: Any = type(detail)
    return {name: convert(getattr(detail, name)) for name, (_, convert) in _fields_of(kind).items()}


@functools.cache
def _fields_of(kind: type) -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """Return the fields of a dataclass or TypedDict: the type in JSON, and what makes JSON of a value."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: _IN_JSON.get(hint, (hint, lambda value: dict(value) if isinstance(value, Mapping) else value))
        for name, hint in hints.items()
        if hint != ForPages
    }


_IN_JSON: Final[dict[Any, tuple[Any, Callable[[Any], Any]]]] = {
    UnixTime: (str, rfc3339),
    UnixTime | None: (str | None, lambda time: None if time is None else rfc3339(time)),
    ByTopic: (dict[str, tuple[int, ...]], dict),
}
"""The types of fields that have another type in JSON."""


def _json_type(kind: pa.DataType) -> Any:
    if pa.types.is_list(kind):
        return list[_json_type(kind.value_type)]  # type: ignore[misc] # known at run time only
    if pa.types.is_boolean(kind):
        return bool
    if pa.types.is_integer(kind):
        return int
    return float if pa.types.is_floating(kind) else str
