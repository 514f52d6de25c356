"""The build of the site: staging, the generator, and a check that pages load nothing from another host."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import yaml

from deploy.chart.tools import installed
from deploy.site.pages import navigation
from deploy.site.staging import stage

REQUIREMENTS: Final = Path(__file__).resolve().parents[1] / "site-tools.txt"
CONFIGURATION: Final = Path(__file__).with_name("mkdocs.yml")
_LOADED: Final = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|data)=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b(?![^>]*\brel=["']?canonical)[^>]*?\bhref=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//[^"'\s)]+|url\(["']?(?:https?:)?//[^"'\s)]+"""
)
"""What a browser fetches by itself from another host; links that a reader follows are no part of it."""


class SiteError(RuntimeError):
    """The site was built and is not as it must be. The message names what and where."""


def build(root: Path, folder: Path, *, source: str = "") -> int:
    """Write the site to `folder/html` and return the number of its pages.

    Raises CalledProcessError if the generator finds a broken link or a page outside the navigation, SiteError if a page
    loads from another host, and ToolsError if the generator cannot be installed.
    """
    tools = installed(REQUIREMENTS)
    stage(root, folder / "pages", source)
    configuration = folder / "mkdocs.yml"
    own = yaml.safe_dump({"docs_dir": "pages", "site_dir": "html", "nav": navigation(root)}, sort_keys=False)
    configuration.write_text(CONFIGURATION.read_text("utf-8") + own, "utf-8")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--clean", "-f", str(configuration)],
        check=True,
        # The generator announces other projects on the terminal.
        env={**os.environ, "PYTHONPATH": str(tools), "NO_MKDOCS_2_WARNING": "1"},
    )
    if found := foreign(folder / "html"):
        raise SiteError(f"pages load from another host: {', '.join(found[:5])}")
    return len(list((folder / "html").rglob("index.html")))


def foreign(folder: Path) -> list[str]:
    """Return the resources of other hosts that pages and style sheets of a folder load, with the file of each."""
    files = (path for path in sorted(folder.rglob("*")) if path.suffix in {".html", ".css"})
    return [
        f"{path.relative_to(folder)}: {match[0]}"
        for path in files
        for match in _LOADED.finditer(path.read_text("utf-8"))
    ]
