"""The files that lie beside this module and are served as they are: the style sheet and the scripts."""

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
"""What there is, with its media type."""


@functools.cache
def asset(name: str) -> bytes:
    """Give a file of `ASSETS`."""
    return importlib.resources.files("exporters.page").joinpath(name).read_bytes()
