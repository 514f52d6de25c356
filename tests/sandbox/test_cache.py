"""The path of the cache folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.cache import cache_folder


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        pytest.param({"HOME": "/h"}, "/h/.cache/lagwarden", id="nothing set"),
        pytest.param({"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/lagwarden", id="XDG_CACHE_HOME"),
        pytest.param({"HOME": "/h", "XDG_CACHE_HOME": ""}, "/h/.cache/lagwarden", id="empty XDG_CACHE_HOME"),
        pytest.param({"XDG_CACHE_HOME": "/x", "LAGWARDEN_CACHE": "/own"}, "/own", id="LAGWARDEN_CACHE has precedence"),
    ],
)
def test_path_of_the_cache(environment: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LAGWARDEN_CACHE has precedence over XDG_CACHE_HOME; without both, the cache is in the home folder."""
    for name in ("LAGWARDEN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)
