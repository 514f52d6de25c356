"""The pages of runbooks."""

from exporters.page.topic import runbook_names, runbook_page
from tests.exporters.page_parser import Reader


def test_every_runbook_is_a_page_without_markup() -> None:
    """Its headings, steps and commands are elements, and its links lead to pages of the server only."""
    for name in runbook_names():
        page = Reader(runbook_page(name, root="../").html())
        assert (page.tags["h1"], page.tags["h2"]) == (1, 4)
        assert "lagwarden explain GROUP" in page.text
        assert not [mark for mark in ("**", "```", "](", "##", "`") if mark in page.text], name
        assert {link for link in page.links if not link.startswith(("../", "#main", "data:"))} <= runbook_names()
    assert "LagwardenCommonCause" in Reader(runbook_page("LagwardenGroupInCommonCause", root="./").html()).links
    document = runbook_page("LagwardenGroupStuck", root="./").html()
    assert b'<ol start="2">' in document
    assert b"<pre><code>lagwarden explain GROUP" in document


def test_an_unknown_runbook_is_no_file() -> None:
    """Only names of alerts are read, and a name that is shown cannot be HTML."""
    for name in ("../style.css", "LagwardenGroupStuck.md", "<b>"):
        page = runbook_page(name, root="./")
        assert page.code == 404
        assert b"<b>" not in page.html()
