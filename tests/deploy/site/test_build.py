"""The site, built by its generator, which needs the package index once."""

import json
from pathlib import Path

import pytest

from deploy.chart.tools import ToolsUnreachableError
from deploy.site.build import build
from deploy.site.pages import ROOT, listed, navigation


@pytest.mark.long
def test_the_site_is_built_from_all_pages(tmp_path: Path) -> None:
    """The generator accepts each link, builds each page without resources of other hosts, and fills the search.

    The search has each page.
    """
    try:
        assert build(ROOT, tmp_path, source="https://forge.example/blob/main") == len(listed(navigation()))
    except ToolsUnreachableError as error:
        pytest.skip(str(error))
    html = tmp_path / "html"
    alerting = (html / "docs" / "alerting" / "index.html").read_text("utf-8")
    assert "https://forge.example/blob/main/deploy/alertmanager.example.yaml" in alerting
    indexed = json.loads((html / "search" / "search_index.json").read_text("utf-8"))["docs"]
    built = {path.relative_to(html).as_posix().removesuffix("index.html") for path in html.rglob("index.html")}
    assert {entry["location"].partition("#")[0] for entry in indexed} == built
    assert any("lagwarden_group_lag" in entry["text"] for entry in indexed)
    assert "```" not in "".join(path.read_text("utf-8") for path in html.rglob("*.html"))
