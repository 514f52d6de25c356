"""Where the sandbox keeps what can be made again: jars, class archives, a formatted broker folder. Outside the tree."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Give $LAGWARDEN_CACHE, else lagwarden/ in $XDG_CACHE_HOME, else ~/.cache/lagwarden. It may not exist yet."""
    if chosen := os.environ.get("LAGWARDEN_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "lagwarden"
