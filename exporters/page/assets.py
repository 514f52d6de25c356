"""The static files of the pages: the style sheet and the scripts, in the directory of this module."""

from __future__ import annotations

import functools
import importlib.resources
from typing import Final

ASSETS: Final = {
    "style.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "view.js": "text/javascript; charset=utf-8",
    "chart.js": "text/javascript; charset=utf-8",
}
"""The files with their media types."""


@functools.cache
def asset(name: str) -> bytes:
    """Return the content of a file of `ASSETS`."""
    return importlib.resources.files("exporters.page").joinpath(name).read_bytes()
