"""The HTML and CSS files that lie beside this module."""

from __future__ import annotations

import functools
import importlib.resources
import string


@functools.cache
def template(name: str) -> string.Template:
    """Give a template; what is put in must be HTML already."""
    return string.Template(_resource(name))


def stylesheet() -> bytes:
    """Give the style sheet."""
    return _resource("style.css").encode()


@functools.cache
def _resource(name: str) -> str:
    return importlib.resources.files("exporters.page").joinpath(name).read_text("utf-8")
