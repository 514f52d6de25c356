"""The fields of the JSON responses. `openapi_check` compares their types with the responses."""

from exporters.catalogue.groups import GROUPS
from exporters.catalogue.metric import Stability
from exporters.http.openapi.document import openapi_document


def test_a_field_is_described_by_its_column() -> None:
    """Of a group: every column is a field with its meaning, its reason for a null, and its stability."""
    fields = openapi_document()["components"]["schemas"]["GroupRow"]["properties"]
    assert list(fields) == [column.name for column in GROUPS.columns]
    for column in GROUPS.columns:
        assert fields[column.name]["description"].startswith(column.meaning)
        assert (fields[column.name].get("x-stability") == "experimental") == (
            column.stability is Stability.EXPERIMENTAL
        )
    assert fields["generation"]["description"].endswith("Null: not a classic group with members.")
    assert fields["first_offset_expiry_time"]["anyOf"] == [{"type": "string"}, {"type": "null"}]
