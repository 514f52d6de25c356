"""The navigation of the site."""

from deploy.site.pages import ROOT, listed, navigation, pages_of


def test_every_page_is_in_the_navigation_once() -> None:
    """Each file is there once, but for indexes of folders; five sections follow the order of a new user's questions."""
    pages = listed(navigation())
    assert len(pages) == len(set(pages))
    assert set(pages_of(ROOT)) - set(pages) == set(), "add the page to deploy/site/navigation.yml"
    assert {page for page in pages if not (ROOT / page).exists()} == {
        "docs/migration/README.md", "exporters/page/runbooks/README.md", "docs/internals/decisions/README.md",
        "docs/internals/README.md",
    }  # fmt: skip
    assert [next(iter(entry)) for entry in navigation()] == [
        "Start",
        "Operate",
        "Understand",
        "Reference",
        "Contribute",
    ]
