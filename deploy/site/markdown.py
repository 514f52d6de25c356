"""Links and anchors of Markdown files, as the forge makes them."""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

_FENCE: Final = re.compile(r"^\s*(```+|~~~+)")
CODE: Final = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
"""A code span on one line."""
LINK: Final = re.compile(r"(?P<before>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<target>[^()\s]+)\)")
"""A link or a picture with its target; a text in brackets may have one level of brackets, as in a linked picture."""
_HEADING: Final = re.compile(r"^#{1,6} +(.+?)(?: +#+)?$")
_EXTERNAL: Final = re.compile(r"^[a-z][a-z0-9+.-]*:")


@dataclasses.dataclass(frozen=True, slots=True)
class MarkdownLink:
    """A link of a file: its line, from 1, and its target as written."""

    line: int
    target: str

    @property
    def external(self) -> bool:
        """A target with a scheme, such as `https:`, leaves the repository."""
        return _EXTERNAL.match(self.target) is not None


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text of each line outside fenced code."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        found = _FENCE.match(line)
        if fence is None and found is None:
            yield number, line
        elif fence is None and found is not None:
            fence = found[1]
        elif fence is not None and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = None


def links(text: str) -> list[MarkdownLink]:
    """Return the links and pictures of a text, in order; code has none."""
    found = []
    for number, line in prose(text):
        # A code span within the brackets of a link keeps its length, so that the brackets still match.
        plain = CODE.sub(lambda span: "x" * len(span[0]), line)
        found += [MarkdownLink(number, match["target"]) for match in _matches(plain)]
    return found


def _matches(line: str) -> Iterator[re.Match[str]]:
    """Yield the links of a line; a picture within the text of a link comes before that link."""
    for match in LINK.finditer(line):
        yield from LINK.finditer(match["before"], 1 + match["before"].startswith("!"))
        yield match


def slug(heading: str) -> str:
    """Return the anchor of a heading: lower case, without punctuation, a hyphen for each space."""
    text = LINK.sub(lambda match: match["before"].strip("![]"), heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text).strip().lower().replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Return the anchors of a text's headings; a repeated one has a number."""
    found: set[str] = set()
    for _, line in prose(text):
        if heading := _HEADING.match(line):
            base = slug(heading[1])
            number, name = 0, base
            while name in found:
                number += 1
                name = f"{base}-{number}"
            found.add(name)
    return found


def title(text: str) -> str:
    """Return the first heading, without markup. Raises ValueError if there is none."""
    for _, line in prose(text):
        if heading := _HEADING.match(line):
            return heading[1].replace("`", "")
    raise ValueError("a page without a heading")


def destination(page: str, target: str) -> tuple[str, str]:
    """Return the path in the repository and the anchor to which a link of a page leads; ".." stays if it leaves it."""
    path, _, anchor = target.partition("#")
    if not path:
        return page, anchor
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / path).parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts), anchor


def faults(root: Path, pages: Iterable[str]) -> list[str]:
    """Return the links of pages that lead to no file and to no heading, with page and line."""
    found = []
    for page in pages:
        for link in links((root / page).read_text("utf-8")):
            if link.external:
                continue
            path, anchor = destination(page, link.target)
            place = f"{page}:{link.line}: {link.target}"
            if path.startswith(("..", "/")) or not (root / path).exists():
                found.append(f"{place}: no such file")
            elif anchor and (not path.endswith(".md") or anchor not in anchors((root / path).read_text("utf-8"))):
                found.append(f"{place}: no such heading")
    return found
