"""The copy of the pages from which the site is made.

The generator's Markdown is older than the forge's: nested content needs four spaces, and a list a blank line before it.
Links to files that are no pages lead to the forge, if its address is known, and are plain text otherwise.
"""

import re
import shutil
from collections.abc import Set as AbstractSet
from pathlib import Path, PurePosixPath
from typing import Final

from deploy.site.markdown import CODE, LINK, MarkdownLink, destination, prose
from deploy.site.pages import index_of, listed, navigation, pages_of

_ITEM: Final = re.compile(r"^( *)([-*+]|\d+\.) +")
_PICTURES: Final = frozenset({".png", ".svg", ".gif", ".jpg"})
_LEVEL: Final = 4
"""Spaces of one level of a list in the generator's Markdown."""


def stage(root: Path, target: Path, source: str) -> None:
    """Write all pages of the navigation, and their pictures, to an empty folder.

    `source` is the address of the files on the forge, to which a path is appended; without it their links are text.
    """
    shutil.rmtree(target, ignore_errors=True)
    existing = set(pages_of(root))
    wanted = listed(navigation(root))
    for page in wanted:
        copy = target / page
        copy.parent.mkdir(parents=True, exist_ok=True)
        if page in existing:
            text = (root / page).read_text("utf-8")
            copy.write_text(adapted(text, page, set(wanted), source), "utf-8")
        else:
            folder = str(PurePosixPath(page).parent)
            copy.write_text(index_of(root, folder, PurePosixPath(folder).name.capitalize()), "utf-8")
    for picture in (path for path in (root / "docs").rglob("*") if path.suffix in _PICTURES):
        copy = target / picture.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, copy)


def adapted(text: str, page: str, pages: AbstractSet[str], source: str) -> str:
    """Return the text of a page for the generator."""
    lines = text.splitlines()
    for number, line in prose(text):
        lines[number - 1] = _with_site_links(line, page, pages, source)
    return "\n".join(_with_deep_lists(lines)) + "\n"


def _with_site_links(line: str, page: str, pages: AbstractSet[str], source: str) -> str:
    """Return a line with links to pages of folders as links to their index, and links to other files to the forge."""

    def replaced(match: re.Match[str]) -> str:
        before, target = match["before"], match["target"]
        path, _ = destination(page, target)
        if MarkdownLink(0, target).external or path in pages or Path(path).suffix in _PICTURES:
            return match[0]
        if f"{path}/README.md" in pages:
            return f"{before}({target.rstrip('/')}/README.md)"
        return f"{before}({source.rstrip('/')}/{path})" if source else before[1:-1]

    spans: list[str] = []

    def hidden(match: re.Match[str]) -> str:
        spans.append(match[0])
        return f"\0{len(spans) - 1}\0"

    # A link in a code span is code, and a code span in a link is text.
    linked = LINK.sub(replaced, CODE.sub(hidden, line))
    return re.sub("\0([0-9]+)\0", lambda match: spans[int(match[1])], linked)


def _with_deep_lists(lines: list[str]) -> list[str]:
    """Return lines whose lists have four spaces per level and a blank line before them."""
    out: list[str] = []
    levels: list[int] = []
    code = _code_lines(lines)
    for number, line in enumerate(lines):
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        item = None if number in code else _ITEM.match(line)
        first = not levels
        if text and not (levels and item is None and _continues(out, indent)):
            while levels and indent < levels[-1]:
                levels.pop()
        if item and first and out and out[-1].strip():
            out.append("")
        depth = levels[-1] if levels else 0
        out.append(" " * (_LEVEL * len(levels) + max(0, indent - depth)) + text if text else "")
        if item:
            levels.append(len(item[0]))
    return out


def _continues(out: list[str], indent: int) -> bool:
    """Return whether a line without indentation continues the paragraph of the line before it."""
    return indent == 0 and bool(out and out[-1].strip()) and not out[-1].lstrip().startswith(("```", "#"))


def _code_lines(lines: list[str]) -> set[int]:
    """Return the numbers, from 0, of the lines that are fenced code, with their fences."""
    return set(range(len(lines))) - {number - 1 for number, _ in prose("\n".join(lines))}
