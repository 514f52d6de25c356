"""A strict HTML parser for the pages."""

import collections
import html.parser

VOID = {"meta", "link", "input", "br"}


class Reader(html.parser.HTMLParser):
    """Collects elements, links, table rows and text of a page. Fails unless every element is closed in order."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags = collections.Counter[str]()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.rows: list[list[str]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.text = ""
        self.feed(page.decode())
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element, its links, and its position in a table."""
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]
        if tag == "section":
            self.rows = self.tables[dict(attrs).get("aria-label") or ""] = []
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost open element."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Record text, also in its table cell."""
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data
