"""A page as a tree of elements and text, and its two writers: HTML for the first answer, JSON for the script after it.

Everything that is put in is text until it is written, so nothing can be forgotten to be escaped: a name is a string in
the tree, and only the writer makes HTML of it. The script builds the same tree out of the JSON, also from text alone.
No words and no layout here.
"""

from __future__ import annotations

import dataclasses
import html as escaping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

VOID: Final = frozenset({"br", "input", "link", "meta"})
"""Elements that have no end."""


@dataclasses.dataclass(frozen=True, slots=True)
class Element:
    """An element: its tag, its attributes as they will be read, and what is in it."""

    tag: str
    attributes: Mapping[str, str]
    children: tuple[Node, ...]


Node: TypeAlias = "Element | str"
Content: TypeAlias = "Node | Iterable[Content] | None"
"""What may be put into an element: nodes, however nested in lists; None leaves nothing."""


def el(tag: str, *content: Content, **attributes: str | float | bool | None) -> Element:
    """Make an element. `class_` and `for_` lose their bar, `aria_label` becomes `aria-label`; None and False: no such.

    True stands for an attribute that needs no value.
    """
    given = {
        name.rstrip("_").replace("_", "-"): "" if value is True else str(value)
        for name, value in attributes.items()
        if value is not None and value is not False
    }
    return Element(tag, given, tuple(flat(content)))


def flat(content: Content) -> list[Node]:
    """Give the nodes of nested lists in their order, neighbouring texts as one: as they are once a browser has read."""
    nodes: list[Node] = []
    for node in _each(content):
        if isinstance(node, str) and nodes and isinstance(nodes[-1], str):
            nodes[-1] += node
        elif node != "":
            nodes.append(node)
    return nodes


def _each(content: Content) -> Iterator[Node]:
    if content is None:
        return
    if isinstance(content, str | Element):
        yield content
        return
    for part in content:
        yield from _each(part)


def html(*content: Content) -> str:
    """Write nodes as HTML."""
    return "".join(piece for node in flat(content) for piece in _pieces(node))


def tree(*content: Content) -> list[Any]:
    """Write nodes as plain values of JSON: text as strings, elements as `[tag, {attribute: value}, [child, …]]`."""
    return [
        node if isinstance(node, str) else [node.tag, dict(node.attributes), tree(node.children)]
        for node in flat(content)
    ]


def _pieces(node: Node) -> Iterator[str]:
    if isinstance(node, str):
        yield _escaped(node)
        return
    attributes = "".join(f' {name}="{_escaped(value)}"' for name, value in node.attributes.items())
    yield f"<{node.tag}{attributes}>"
    if node.tag not in VOID:
        for child in node.children:
            yield from _pieces(child)
        yield f"</{node.tag}>"


def _escaped(text: str) -> str:
    # A carriage return as it is would be read as a line feed.
    return escaping.escape(text).replace("\r", "&#13;")
