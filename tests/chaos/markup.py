"""Parses a page into elements, attributes, comments, scripts and visible text."""

from __future__ import annotations

from html.parser import HTMLParser


class Markup(HTMLParser):
    """The elements, attributes, comments and inline scripts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.comments: list[str] = []
        self.scripts: list[str] = []
        self.shown: list[str] = []
        """Visible text and titles."""
        self._in_script = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See HTMLParser."""
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.shown += [value or "" for name, value in attrs if name in {"title", "aria-label"}]
        self._in_script = tag == "script"

    def handle_comment(self, data: str) -> None:
        """See HTMLParser."""
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        """See HTMLParser."""
        if not self._in_script:
            self.shown.append(data)
        elif data.strip():
            self.scripts.append(data)

    def handle_endtag(self, tag: str) -> None:
        """See HTMLParser."""
        self._in_script = self._in_script and tag != "script"
