"""The parts of a dump as data: batches and records with the field names of the official dump tool.

`item_text` formats a part as the tool prints it, `item_json` as a JSON object.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

_NULLS: Final = frozenset({"<DELETE>", "null"})
"""What decoders print for a record without a value."""
_OPTIONAL: Final = frozenset({"deleteHorizonMs"})
"""Fields that the tool prints as a Java OptionalLong."""
_DATA: Final = ("key", "payload")


class DumpItem(NamedTuple):
    """A part of the dump of a file. A field is a number, a bool, a text, a list of texts, an object, or None."""

    kind: str
    """`file`, `log`, `batch`, `record` or `invalid_bytes`."""
    fields: Mapping[str, Any]


def item_text(item: DumpItem) -> str:
    """Return the line of the tool."""
    write = _SENTENCES.get(item.kind)
    if write is not None:
        return write(item.fields)
    words = " ".join([_field_text(name, value) for name, value in item.fields.items()])
    return f"| {words}" if item.kind == "record" and words else words


def item_json(item: DumpItem, file: str, *, decoded: bool) -> dict[str, Any]:
    """Return the JSON object of an item: `file`, `kind` and its fields.

    `decoded`: key and payload are the output of a decoder of `decoders.log.dump.output`. They become objects, a
    tombstone becomes null, and the message for a record that cannot be decoded becomes `error`.
    """
    answer = {"file": file, "kind": item.kind, **item.fields}
    for name in _DATA if decoded else ():
        if name in answer:
            text = answer.pop(name)
            is_message = not text.startswith("{") and text not in _NULLS
            answer |= {"error": text} if is_message else {name: None if text in _NULLS else json.loads(text)}
    return answer


def _field_text(name: str, value: Any) -> str:
    if name in _OPTIONAL:
        return f"{name}: {'OptionalLong.empty' if value is None else f'OptionalLong[{value}]'}"
    if isinstance(value, bool):
        return f"{name}: {'true' if value else 'false'}"
    if isinstance(value, list):
        return f"{name}: [{','.join(value)}]"
    return f"{name}: {value}"


_SENTENCES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "file": "Dumping {path}".format_map,
    "log": "Log starting offset: {startOffset}".format_map,
    "invalid_bytes": "Found {bytes} invalid bytes at the end of {name}".format_map,
}
