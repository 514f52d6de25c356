"""The table of operations."""

from __future__ import annotations

from exporters.http.openapi.operations import OPERATIONS


def test_operations_have_distinct_names_and_a_sentence() -> None:
    """Operations have distinct names, by which generators of clients name functions, and a summary."""
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)
    assert all(operation.name.isidentifier() and operation.summary.endswith(".") for operation in OPERATIONS)


def test_the_parameters_of_a_path_are_declared() -> None:
    """The declared path parameters of an operation are exactly those in its path."""
    for operation in OPERATIONS:
        in_path = {parameter.name for parameter in operation.required if not parameter.in_query}
        assert in_path == {part[1:-1] for part in operation.path.split("/") if part.startswith("{")}
