"""The frame around every page, and the two forms in which a page is served.

A browser receives a complete HTML document that needs no script. The script on it then requests the same address again
for the page's *view* (title and content as JSON, `exporters.page.html_tree.tree`) and updates the open page from it, so
all wording, sorting and escaping stays on the server.
"""

import dataclasses
import functools
import importlib.resources
import json
from collections.abc import Sequence
from typing import Final, TypeAlias

from exporters.page.html_tree import Content, el, html, tree
from exporters.page.ui import listed, named
from exporters.wording import printable

VIEW_TYPE: Final = "application/vnd.lagwarden.view+json"
"""The media type by which the script asks for a page's view."""

ASSETS: Final = {
    "style.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "view.js": "text/javascript; charset=utf-8",
    "chart.js": "text/javascript; charset=utf-8",
}
"""The files of the pages, beside this module, with their media types."""

REFRESH_SECONDS: Final = 5
"""Interval at which the script updates an open page; without the script the browser reloads it half as often."""


Sample: TypeAlias = tuple[float, int | None, float | None, bool | None, float | None, float | None]
"""A point of a chart: Unix seconds, lag in offsets, time lag in seconds, whether the time lag is exact (else it is a
lower bound), and the offsets per second produced and consumed. None: unknown."""
Samples: TypeAlias = "Sequence[Sample]"
Marks: TypeAlias = "Sequence[tuple[float, str, str]]"
"""The marks of a chart: Unix seconds, `verdict` or `group`, and a word."""


_ICON: Final = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect x='1' y='9' width='3' height='6'/%3E%3Crect x='6' y='5' width='3' height='10'/%3E"
    "%3Crect x='11' y='1' width='3' height='14'/%3E%3Cstyle%3Erect{{fill:%23{colour}}}%3C/style%3E%3C/svg%3E"
)
"""The icon of the tab as a data URL: the content security policy allows no other images."""


@functools.cache
def asset(name: str) -> bytes:
    """Return the content of a file of `ASSETS`."""
    return importlib.resources.files("exporters.page").joinpath(name).read_bytes()


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """A page and its HTTP status code.

    `root` is the relative path to the overview page, `links` are the (URL, text) in the header, `foot` is the footer.
    `legend` comes before the footer. It does not change, so it is not part of the view.
    `samples` and `marks` are the data of the chart, the oldest first. With `alarm` the icon of the tab is red: a group
    on the page is critical. `cluster` is the configured name of the cluster, None: it has none.
    """

    title: str
    content: Content
    root: str = "./"
    links: Sequence[tuple[str, str]] = ()
    legend: Content = None
    foot: str = ""
    code: int = 200
    samples: Samples = ()
    marks: Marks = ()
    alarm: bool = False
    cluster: str | None = None

    @property
    def tab_title(self) -> str:
        """The title of the tab, with the name of the cluster."""
        return self.title if self.cluster is None else f"{self.title} · {printable(self.cluster)}"

    @property
    def icon(self) -> str:
        """The URL of the icon of the tab."""
        return _ICON.format(colour="d32f2f" if self.alarm else "56616a")

    def html(self) -> bytes:
        """Return the HTML document."""
        links = listed((el("a", text, href=url) for url, text in self.links), " ")
        cluster: Content = None if self.cluster is None else [" \N{MIDDLE DOT} ", named(self.cluster)]
        head = el(
            "head",
            el("meta", charset="utf-8"),
            el("meta", name="viewport", content="width=device-width, initial-scale=1"),
            el("meta", name="color-scheme", content="light dark"),
            el("noscript", el("meta", http_equiv="refresh", content=2 * REFRESH_SECONDS)),
            el("title", self.tab_title),
            el("link", rel="icon", href=self.icon),
            el("link", rel="stylesheet", href=f"{self.root}style.css"),
            el("script", type="module", src=f"{self.root}page.js"),
        )
        body = el(
            "body",
            el("a", "Skip to the content", class_="skip", href="#main"),
            el("header", el("p", el("a", "lagwarden", href=self.root), cluster, class_="brand"), el("nav", links)),
            el("p", id="connection-error", role="status", hidden=True),
            el("main", self.content, id="main", tabindex="-1", data_seconds=REFRESH_SECONDS),
            self.legend,
            el("footer", self.foot),
            el("p", id="announcement", role="status", aria_live="polite", class_="visually-hidden"),
        )
        return f"<!doctype html>\n{html(el('html', head, body, lang='en'))}\n".encode()

    def view(self) -> bytes:
        """Return the view as JSON: title, icon, data of the chart, and the content as nodes (`html_tree.tree`)."""
        chart = {"samples": self.samples, "marks": self.marks}
        view = {"title": self.tab_title, "icon": self.icon, "main": tree(self.content), **chart}
        return json.dumps(view, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
