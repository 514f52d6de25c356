"""The copy of a page for the generator."""

from pathlib import Path

from deploy.site.pages import ROOT, listed, navigation
from deploy.site.staging import adapted, stage

PAGES = {"README.md", "docs/a.md", "docs/runbooks/README.md"}


def test_links_to_pages_stay_and_links_to_files_lead_to_the_forge() -> None:
    """Links to pages, pictures or other hosts are kept, folders have an index, and files are on the forge.

    A link without an address becomes its text. Neither links nor lists in fenced code are changed.
    """
    for line, expected in (
        ("[a](a.md#b)", "[a](a.md#b)"),
        ("[top](../README.md)", "[top](../README.md)"),
        ("![p](pictures/p.png)", "![p](pictures/p.png)"),
        ("[out](https://kafka.apache.org)", "[out](https://kafka.apache.org)"),
        ("[all](runbooks)", "[all](runbooks/README.md)"),
        ("see [the code](../bench/x.py).", "see [the code](FORGE/bench/x.py)."),
        ("`[code](../bench/x.py)`", "`[code](../bench/x.py)`"),
        ("[`x.py`](../bench/x.py)", "[`x.py`](FORGE/bench/x.py)"),
    ):
        assert adapted(line, "docs/a.md", PAGES, "FORGE/") == f"{expected}\n"
    assert adapted("see [`the` code](../x.py).\n", "docs/a.md", PAGES, "") == "see `the` code.\n"
    fenced = "text\n```\n[a](../x.py)\n- a\n  - b\n```\n"
    assert adapted(fenced, "docs/a.md", PAGES, "FORGE") == fenced


def test_all_pages_and_pictures_are_staged(tmp_path: Path) -> None:
    """The copy has each page of the navigation, an index per folder, and the pictures. An old copy is removed."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "old.md").write_text("# Old\n")
    stage(ROOT, tmp_path / "pages", "")
    staged = {path.relative_to(tmp_path / "pages").as_posix() for path in (tmp_path / "pages").rglob("*.md")}
    assert staged == set(listed(navigation()))
    assert (tmp_path / "pages" / "docs" / "pictures" / "overview.png").exists()
    assert (
        "- [LagwardenGroupStuck](LagwardenGroupStuck.md)"
        in (tmp_path / "pages" / "exporters" / "page" / "runbooks" / "README.md").read_text()
    )
