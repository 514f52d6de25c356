"""The navigation of the site."""

from pathlib import Path

from deploy.site.pages import ROOT, index_of, listed, navigation, pages_in, pages_of


def test_every_page_is_in_the_navigation_once() -> None:
    """Each file is there once, but for indexes of folders; five sections follow the order of a new user's questions."""
    pages = listed(navigation())
    assert len(pages) == len(set(pages))
    assert set(pages_of(ROOT)) - set(pages) == set(), "add the page to deploy/site/navigation.yml"
    assert {page for page in pages if not (ROOT / page).exists()} == {
        "docs/migration/README.md", "docs/runbooks/README.md", "docs/decisions/README.md",
    }  # fmt: skip
    assert [next(iter(entry)) for entry in navigation()] == [
        "Start",
        "Operate",
        "Understand",
        "Reference",
        "Contribute",
    ]


def test_a_folder_is_its_index_and_its_pages(tmp_path: Path) -> None:
    """An index is first. Only the root and the folders of the project are searched, not environments and builds."""
    (tmp_path / "more").mkdir()
    for name in ("b", "a"):
        (tmp_path / "more" / f"{name}.md").write_text(f"# The {name}\n")
    order = tmp_path / "order.yml"
    order.write_text("- Start:\n    - x.md\n    - More: more/\n")
    assert navigation(tmp_path, order) == [{"Start": ["x.md", {"More": ["more/README.md", "more/a.md", "more/b.md"]}]}]
    assert listed(navigation(tmp_path, order)) == ["x.md", "more/README.md", "more/a.md", "more/b.md"]
    assert pages_in(tmp_path, "more") == ["more/a.md", "more/b.md"]
    assert index_of(tmp_path, "more", "More") == "# More\n\n- [The a](a.md)\n- [The b](b.md)\n"
    for folder in (".venv", "build", "docs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.md").write_text("# A\n")
    assert pages_of(tmp_path) == ["docs/a.md"]
