"""The place of the cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.cache import cache_folder


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        pytest.param({"HOME": "/h"}, "/h/.cache/lagwarden", id="nothing set"),
        pytest.param({"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/lagwarden", id="the desktop's choice"),
        pytest.param({"HOME": "/h", "XDG_CACHE_HOME": ""}, "/h/.cache/lagwarden", id="set to nothing is not set"),
        pytest.param({"XDG_CACHE_HOME": "/x", "LAGWARDEN_CACHE": "/own"}, "/own", id="our own variable wins"),
    ],
)
def test_place_of_the_cache(environment: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache lies where the environment says, outside the tree."""
    for name in ("LAGWARDEN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)
