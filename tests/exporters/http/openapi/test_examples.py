"""The examples of the document belong to its operations; `test_document` validates them."""

from __future__ import annotations

from exporters.http.openapi.examples import EXAMPLES
from exporters.http.openapi.operations import OPERATIONS


def test_every_example_belongs_to_a_response_without_another_example() -> None:
    """Each example has a known path and status code; an example of an unknown one would not be shown."""
    responses = {(each.path, code): response for each in OPERATIONS for code, response in each.responses.items()}
    for key in EXAMPLES:
        assert responses[key].example is None, key


def test_the_examples_explain_the_same_group() -> None:
    """The examples of several routes have the same group, so that a reader can follow it."""
    assert EXAMPLES["/api/v1/groups", 200]["groups"][0]["group"] == "billing"
    assert EXAMPLES["/api/v1/group", 200]["finding"]["verdict"] == "stopped"
    assert EXAMPLES["/api/v1/topics/{topic}/groups", 200]["groups"][0]["lag_sum"] == 400
