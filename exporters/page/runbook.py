"""The runbook of an alert at `/runbook/ALERT`, from its Markdown file in the folder `runbooks`.

The file becomes the same tree of elements and text as every page, so HTML in it is text. A link to another runbook
leads to its page; of a link to a file that the server does not have, only the text is shown.
"""

import functools
import importlib.resources
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from exporters.page.document import Page
from exporters.page.formatting import named
from exporters.page.html_tree import Content, el, flat

_FOLDER: Final = importlib.resources.files("exporters.page") / "runbooks"
_ENDING: Final = ".md"


@functools.cache
def runbook_names() -> frozenset[str]:
    """Return the names of the alerts that have a runbook."""
    return frozenset(file.name.removesuffix(_ENDING) for file in _FOLDER.iterdir() if file.name.endswith(_ENDING))


def runbook_page(name: str, *, root: str) -> Page:
    """Return the page of the runbook of an alert; with status 404 if there is no such alert.

    `root` is the relative path to the overview page.
    """
    known = name in runbook_names()
    absent = el("section", el("h1", "No such runbook"), el("p", "There is no alert named ", named(name), "."))
    content = el("article", _runbook(name), class_="runbook") if known else absent
    title = name if known else "No such runbook"
    return Page(f"{title} · lagwarden", content, root, ((root, "all groups"),), code=200 if known else 404)


@functools.cache
def _runbook(name: str) -> Content:
    text = (_FOLDER / f"{name}{_ENDING}").read_text("utf-8")
    return flat(_content(SyntaxTreeNode(MarkdownIt("commonmark", {"html": False}).parse(text))))


def _content(node: SyntaxTreeNode) -> Content:
    """Return a node of a Markdown tree as content of a page."""
    children = [_content(child) for child in node.children]
    # The paragraphs of a list without blank lines are hidden.
    if node.type in {"root", "inline"} or node.hidden:
        return children
    match node.type:
        case "text" | "softbreak":
            return node.content or "\n"
        case "code_inline" | "fence":
            code = el("code", node.content)
            return el("pre", code) if node.type == "fence" else code
        case "link":
            alert = str(node.attrs["href"]).partition("#")[0].removesuffix(_ENDING)
            return el("a", children, href=alert) if alert in runbook_names() else children
        case _:
            return el(node.tag, children, start=node.attrs.get("start"))
