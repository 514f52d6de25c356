"""The JSON schema of an event as CloudEvents 1.0 specifies it: spec.md and formats/json-format.md, version 1.0.2."""

import functools
from typing import Any, Final

import jsonschema_rs

_TEXT: Final = {"type": "string", "minLength": 1}
_MEDIA_TYPE: Final = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+(\s*;.+)?$"
_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["id", "source", "specversion", "type"],
    "properties": {
        "id": _TEXT,
        "source": {**_TEXT, "format": "uri-reference"},
        "specversion": {"const": "1.0"},
        "type": _TEXT,
        "datacontenttype": {**_TEXT, "pattern": _MEDIA_TYPE},
        "dataschema": {**_TEXT, "format": "uri"},
        "subject": _TEXT,
        "time": {**_TEXT, "format": "date-time"},
        "data": {},
        "data_base64": {"type": "string", "contentEncoding": "base64"},
    },
    # Names of attributes are lower-case letters and digits; values of extensions are of a simple type.
    "propertyNames": {"pattern": "^([a-z0-9]+|data_base64)$"},
    "additionalProperties": {"type": ["string", "boolean", "integer"]},
    "not": {"required": ["data", "data_base64"]},
}


@functools.cache
def cloud_event_validator() -> jsonschema_rs.Validator:
    """Return the validator of an event in structured mode; it also checks formats."""
    return jsonschema_rs.validator_for(_SCHEMA, validate_formats=True)
