"""Links and anchors of Markdown, and every link of the project's own pages."""

import re
from pathlib import Path

import pytest

from deploy.site.markdown import anchors, destination, faults, links, slug, title
from deploy.site.pages import ROOT, pages_of


def test_every_link_of_the_project_leads_to_a_file_and_a_heading() -> None:
    """So does each test that SECURITY.md names for a protection."""
    pages = pages_of(ROOT)
    assert sum(len(links((ROOT / page).read_text("utf-8"))) for page in pages) > 150
    assert faults(ROOT, pages) == []
    named = re.findall(r"`(tests/[\w/.]+)`", (ROOT / "SECURITY.md").read_text("utf-8"))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_links_and_pictures_are_found_and_code_has_none() -> None:
    """Links, pictures and linked pictures are found; fenced code and code spans are not read."""
    text = "a [b](c.md) ![d](e.png)\n```sh\n[no](x.md)\n```\n`[no](y.md)` [`f`](g.md#h) [![i](j.svg)](k.md)\n"
    assert [(link.line, link.target) for link in links(text)] == [
        (1, "c.md"), (1, "e.png"), (5, "g.md#h"), (5, "j.svg"), (5, "k.md"),
    ]  # fmt: skip
    # Only a fence of at least the same length ends fenced code.
    assert [link.target for link in links("````\n```\n[no](x.md)\n````\n[yes](y.md)\n")] == ["y.md"]


def test_anchors_are_those_of_the_forge() -> None:
    """An anchor has lower case, no punctuation, and a hyphen for each space.

    The second heading with one text ends in -1; a heading in fenced code has no anchor.
    """
    for heading, anchor in (
        ("Batches of one record", "batches-of-one-record"),
        ("Catch-up, restart, steady state", "catch-up-restart-steady-state"),
        ("Options & exit codes", "options--exit-codes"),
        ("`http.web_config` and [docs](x.md)", "httpweb_config-and-docs"),
    ):
        assert slug(heading) == anchor
    assert anchors("# A\n## B\n## B\n```\n# no\n```\n") == {"a", "b", "b-1"}


def test_destinations_and_titles() -> None:
    """A destination is a path in the repository, and the title the first heading."""
    assert destination("docs/a/b.md", "../c.md#d") == ("docs/c.md", "d")
    assert destination("docs/a.md", "#d") == ("docs/a.md", "d")
    assert destination("a.md", "../b.md") == ("../b.md", "")
    assert title("text\n# The `top` command\n# Other\n") == "The top command"
    with pytest.raises(ValueError, match="without a heading"):
        title("text\n")


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
