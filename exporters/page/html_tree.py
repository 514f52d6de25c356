"""A page as a tree of elements and text, written as HTML for the document or as JSON for the script.

All content is text until it is written, so escaping cannot be omitted: a name is a string in the tree, and only the
writer creates HTML. The script creates the same tree from the JSON, with text nodes. No wording and no layout here.
"""

from __future__ import annotations

import dataclasses
import html as escaping
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

VOID: Final = frozenset({"br", "input", "link", "meta"})
"""Elements without an end tag."""


@dataclasses.dataclass(frozen=True, slots=True)
class Element:
    """An element: its tag, its unescaped attributes and its children."""

    tag: str
    attributes: Mapping[str, str]
    children: tuple[Node, ...]


Node: TypeAlias = "Element | str"
Content: TypeAlias = "Node | Iterable[Content] | None"
"""The content of an element: nodes, possibly in nested lists. None is not a node."""


def el(tag: str, *content: Content, **attributes: str | float | bool | None) -> Element:
    """Return an element. The names `class_` and `for_` lose the underscore, `aria_label` becomes `aria-label`.

    An attribute that is None or False is omitted; True is an attribute without a value.
    """
    written = {
        name.rstrip("_").replace("_", "-"): "" if value is True else str(value)
        for name, value in attributes.items()
        if value is not None and value is not False
    }
    return Element(tag, written, tuple(flat(content)))


def flat(content: Content) -> list[Node]:
    """Return the nodes of nested lists in order. Adjacent texts are merged, as in a parsed document."""
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
    """Return nodes as HTML."""
    return "".join(part for node in flat(content) for part in _html_parts(node))


def tree(*content: Content) -> list[Any]:
    """Return nodes as JSON values: text as strings, elements as `[tag, {attribute: value}, [child, …]]`."""
    return [
        node if isinstance(node, str) else [node.tag, dict(node.attributes), tree(node.children)]
        for node in flat(content)
    ]


def _html_parts(node: Node) -> Iterator[str]:
    if isinstance(node, str):
        yield _escaped(node)
        return
    attributes = "".join(f' {name}="{_escaped(value)}"' for name, value in node.attributes.items())
    yield f"<{node.tag}{attributes}>"
    if node.tag not in VOID:
        for child in node.children:
            yield from _html_parts(child)
        yield f"</{node.tag}>"


def _escaped(text: str) -> str:
    # HTML parsers read a literal carriage return as a line feed.
    return escaping.escape(text).replace("\r", "&#13;")
