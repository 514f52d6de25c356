"""The folder for everything that can be created again: jars, class archives, a formatted log directory."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return $LAGWARDEN_CACHE, else lagwarden/ in $XDG_CACHE_HOME, else ~/.cache/lagwarden. It may not exist yet."""
    if chosen := os.environ.get("LAGWARDEN_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "lagwarden"
