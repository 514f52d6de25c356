"""Trees of elements and text, written as HTML."""

import html as escaping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exporters.page.html_tree import Content, el, html, tree
from tests.exporters.page_parser import Reader

TEXTS = st.text(max_size=8)
TREES = st.recursive(
    TEXTS,
    lambda inner: st.builds(
        lambda tag, content, title: el(tag, *content, title=title),
        st.sampled_from(["p", "b", "div", "tr", "bdi"]),
        st.lists(inner | st.none() | st.lists(inner, max_size=2), max_size=3),
        TEXTS | st.none(),
    ),
    max_leaves=12,
)


@given(TREES)
def test_html_has_the_elements_and_the_text_of_the_tree(content: Content) -> None:
    """Law: HTML written from a tree has exactly its elements and its text, whatever characters they contain."""

    def elements(nodes: list[Any]) -> list[tuple[str, dict[str, str]]]:
        found = [node for node in nodes if not isinstance(node, str)]
        return [each for tag, attributes, inner in found for each in ((tag, attributes), *elements(inner))]

    def text(nodes: list[Any]) -> str:
        return "".join(node if isinstance(node, str) else text(node[2]) for node in nodes)

    values = tree(content)
    reader = Reader(html(content).encode("utf-8", "surrogatepass"))
    assert sorted(reader.tags.elements()) == sorted(tag for tag, _ in elements(values))
    assert reader.text == escaping.unescape(escaping.escape(text(values)))
    assert all(child != "" for child in values)
