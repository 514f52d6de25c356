"""Which pages the site has, and in which order."""

from pathlib import Path
from typing import Any, Final

import yaml

from deploy.site.markdown import title

ROOT: Final = Path(__file__).resolve().parents[2]
NAVIGATION: Final = Path(__file__).with_name("navigation.yml")
_FOLDERS: Final = ("docs", "bench", "deploy", "exporters", "sandbox")
"""Folders with pages, apart from the root."""


def pages_of(root: Path) -> list[str]:
    """Return the paths of all Markdown files of the repository, relative to it."""
    found = [*root.glob("*.md"), *(path for folder in _FOLDERS for path in (root / folder).rglob("*.md"))]
    return sorted(path.relative_to(root).as_posix() for path in found)


def navigation(root: Path = ROOT, file: Path = NAVIGATION) -> list[Any]:
    """Return the navigation with the pages of folders instead of the folders, as the generator expects it."""
    return _expanded(yaml.safe_load(file.read_text("utf-8")), root)


def _expanded(entries: list[Any], root: Path) -> list[Any]:
    return [entry if isinstance(entry, str) else _section(entry, root) for entry in entries]


def _section(entry: dict[str, Any], root: Path) -> dict[str, Any]:
    ((heading, content),) = entry.items()
    if isinstance(content, list):
        return {heading: _expanded(content, root)}
    return {heading: [f"{content}README.md", *pages_in(root, content)]}


def pages_in(root: Path, folder: str) -> list[str]:
    """Return the pages of one folder, apart from its index."""
    found = (path.relative_to(root).as_posix() for path in (root / folder).glob("*.md"))
    return sorted(page for page in found if not page.endswith("README.md"))


def listed(entries: list[Any]) -> list[str]:
    """Return the pages of a navigation, in order."""
    pages: list[str] = []
    for entry in entries:
        if isinstance(entry, str):
            pages.append(entry)
        else:
            pages += (page for content in entry.values() for page in listed(content))
    return pages


def index_of(root: Path, folder: str, heading: str) -> str:
    """Return the index page of a folder without one: a list of its pages. A forge lists a folder by itself."""
    rows = [f"- [{title((root / page).read_text('utf-8'))}]({Path(page).name})" for page in pages_in(root, folder)]
    return "\n".join([f"# {heading}", "", *rows, ""])
