"""Every link of the project's own pages."""

import re
from pathlib import Path

from deploy.site.markdown import faults, links
from deploy.site.pages import ROOT, pages_of


def test_every_link_of_the_project_leads_to_a_file_and_a_heading() -> None:
    """So does each test that SECURITY.md names for a protection."""
    pages = pages_of(ROOT)
    assert sum(len(links((ROOT / page).read_text("utf-8"))) for page in pages) > 150
    assert faults(ROOT, pages) == []
    named = re.findall(r"`(tests/[\w/.]+)`", (ROOT / "SECURITY.md").read_text("utf-8"))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_missing_files_and_headings_are_faults(tmp_path: Path) -> None:
    """Each missing file or heading has a fault with page, line and target; external addresses are not checked."""
    (tmp_path / "a.md").write_text(
        "# A\n[](b.md) [b](b.md#b) [c](b.md#c) [d](d.md) [e](../a.md) [f](#a) [g](http://x)\n"
    )
    (tmp_path / "b.md").write_text("# B\n")
    assert faults(tmp_path, ["a.md"]) == [
        "a.md:2: b.md#c: no such heading",
        "a.md:2: d.md: no such file",
        "a.md:2: ../a.md: no such file",
    ]
