"""Writes the table of values in the chart's README from the comments of `values.yaml`: `python -m deploy.chart.readme`.

A value's description is the comment right above it. The prose around the table is written by hand; a test compares the
table, so a value without a description cannot exist.
"""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Final

import yaml

from deploy.chart.values_schema import CHART

PATH: Final = CHART / "README.md"
VALUES: Final = CHART / "values.yaml"
BEGIN: Final = "<!-- values: written by python -m deploy.chart.readme -->\n"
END: Final = "<!-- end of values -->\n"


class UndescribedError(ValueError):
    """A value of `values.yaml` has no comment above it; the message names it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """One value of the chart: its dotted path, its default (none for a heading), what it is for."""

    path: str
    default: str
    description: str


def values(source: str) -> list[Value]:
    """Return the values of a `values.yaml`, in its order. Raises UndescribedError.

    A mapping whose members have no comments is one value, however much is in it.
    """
    root = yaml.compose(source, yaml.SafeLoader)
    return [] if root is None else list(_walk(root, source.splitlines(), ""))


def page(current: str, source: str) -> str:
    """Return the text of the README with its table generated from `values.yaml`."""
    head, _, rest = current.partition(BEGIN)
    _, _, tail = rest.partition(END)
    rows = "".join(f"| `{value.path}` | {value.default} | {value.description} |\n" for value in values(source))
    return f"{head}{BEGIN}\n| Value | Default | Meaning |\n|---|---|---|\n{rows}\n{END}{tail}"


def _walk(node: yaml.Node, lines: Sequence[str], prefix: str) -> Iterator[Value]:
    for key, value in node.value:
        path = f"{prefix}{key.value}"
        described = _comment_above(lines, key.start_mark.line)
        members = isinstance(value, yaml.MappingNode) and bool(value.value)
        if members and (not described or _members_described(value, lines)):
            if described:
                yield Value(path, "", described)
            yield from _walk(value, lines, f"{path}.")
        elif not described:
            raise UndescribedError(f"{VALUES.name}: {path} has no comment above it")
        else:
            yield Value(path, _default(value), described)


def _members_described(node: yaml.Node, lines: Sequence[str]) -> bool:
    """Return whether the members of a mapping need no comments of their own: the comment above it describes all."""
    return any(
        _comment_above(lines, key.start_mark.line)
        or (isinstance(value, yaml.MappingNode) and _members_described(value, lines))
        for key, value in node.value
    )


def _comment_above(lines: Sequence[str], line: int) -> str:
    found: list[str] = []
    while line > 0 and lines[line - 1].lstrip().startswith("#"):
        line -= 1
        found.insert(0, lines[line].lstrip()[1:].strip())
    return " ".join(found).replace("|", "\\|")


def _default(node: yaml.Node) -> str:
    return f"`{json.dumps(yaml.safe_load(yaml.serialize(node)))}`"


if __name__ == "__main__":
    PATH.write_text(page(PATH.read_text(), VALUES.read_text()))
