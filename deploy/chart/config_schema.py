"""The part of the chart's schema that is lagwarden's own configuration, drawn from `stream.config.options`.

What may stand under the value `config` is what may stand in lagwarden's file, less what the chart decides itself.
Written for JSON Schema draft 7, the one that every Helm understands.
"""

from typing import Any, Final

from stream.config.options import SECRETS, SECTIONS, Config

Schema = dict[str, Any]

OWN_SECTIONS: Final = frozenset({"checkpoint"})
"""Sections that the chart decides: the mounted volume."""
OWN_KEYS: Final = SECRETS | {
    "kafka.ssl_ca_file",
    "kafka.ssl_certificate_file",
    "kafka.ssl_key_file",
    "kafka.oauth_token_file",
    "kafka.oauth_ca_file",
    "job.class_archive",
    "job.driver_host",
    "job.driver_bind_address",
    "job.driver_port",
    "job.block_manager_port",
    "job.executor_python",
    "job.executor_image",
    "job.executor_service_account",
    "job.namespace",
    "job.pod_template",
    "job.instance",
    "http.host",
    "http.port",
    "http.web_config",
    "http.bearer_token_file",
    "http.siblings",
    "otlp.headers_file",
    "otlp.ca_file",
    "otlp.certificate_file",
    "otlp.key_file",
}
"""Keys that the chart or the image decides: mounted Secrets, the container's port, and what is baked into the image."""

# What pydantic writes for limits that stand beside an option that may be absent.
_LIMITS: Final = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}
_KEPT: Final = frozenset(
    {"type", "enum", "const", "items", "anyOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {"minLength", "maxLength", "pattern", "minItems", "additionalProperties"}
    | {"properties", "required"}
)
_DURATION: Final = {"type": "string", "pattern": r"^\s*[0-9]*\.?[0-9]+\s*(ms|s|m|min|h|d)?\s*$"}
_ADDRESSES: Final = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}


def config_schema() -> Schema:
    """Return the schema of the value `config`."""
    written = Config.model_json_schema()["$defs"]
    sections = {
        name: _section(name, _resolved(written[section.__name__], written))
        for name, section in SECTIONS.items()
        if name not in OWN_SECTIONS
    }
    return {"type": "object", "additionalProperties": False, "required": ["kafka"], "properties": sections}


def _resolved(schema: Any, definitions: Schema) -> Any:
    """Return a schema with the definitions in the place of references to them."""
    if isinstance(schema, list):
        return [_resolved(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {word: _resolved(value, definitions) for word, value in schema.items()}


def _section(name: str, written: Schema) -> Schema:
    options = {
        option: _option(f"{name}.{option}", schema)
        for option, schema in written["properties"].items()
        if f"{name}.{option}" not in OWN_KEYS
    }
    return {
        "type": "object",
        "description": written["description"],
        "additionalProperties": False,
        "properties": options,
    }


def _option(key: str, written: Schema) -> Schema:
    if key in {"kafka.bootstrap_servers", "webhook.url"}:
        return {"description": written["description"], **_ADDRESSES}
    schema = _draft7(written)
    if written.get("unit") == "seconds" and "integer" not in _types(schema):
        schema = {"anyOf": [*schema.get("anyOf", [schema]), _DURATION]}
    return {"description": written["description"], **schema}


def _types(schema: Schema) -> set[str]:
    return {str(part.get("type")) for part in schema.get("anyOf", [schema])}


def _draft7(written: Schema) -> Schema:
    """Keep what judges a value, in the words of draft 7."""
    schema = {_LIMITS.get(word, word): value for word, value in written.items()}
    kept = {word: value for word, value in schema.items() if word in _KEPT}
    if "anyOf" in kept:
        kept["anyOf"] = [_draft7(part) for part in kept["anyOf"]]
    for word in ("items", "additionalProperties"):
        if isinstance(kept.get(word), dict):
            kept[word] = _draft7(kept[word])
    if "properties" in kept:
        kept["properties"] = {name: _draft7(each) for name, each in kept["properties"].items()}
    return kept
