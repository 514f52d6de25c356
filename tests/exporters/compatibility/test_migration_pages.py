"""The migration pages: the generated part is that of the tables."""

import pathlib
import re

import pytest

from exporters.catalogue.metrics import METRICS
from exporters.compatibility.migration_pages import updated
from exporters.compatibility.other_exporter import OtherExporter
from exporters.compatibility.selection import OTHER_BY_NAME, OTHER_EXPORTERS

PAGES = pathlib.Path(__file__).parents[3] / "docs" / "migration"
every_other = pytest.mark.parametrize("other", OTHER_EXPORTERS, ids=lambda other: other.name)


def test_each_exporter_has_a_page() -> None:
    """Each exporter has a page, and no other page exists; the comparison links to each (test_comparison_page.py)."""
    assert {path.name for path in PAGES.iterdir()} == {f"{name}.md" for name in OTHER_BY_NAME}


@every_other
def test_page_is_current_and_complete(other: OtherExporter) -> None:
    """`python -m exporters.compatibility.migration_pages docs/migration/*` changes nothing.

    A page has its sections in order, each shown and each missing metric, and only existing metrics of lagwarden.
    """
    page = (PAGES / f"{other.name}.md").read_text("utf-8")
    assert updated(page, other) == page
    wanted = ("What maps to what", "What is missing", "What the names cost", "How to run both")
    found = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert [heading for heading in found if heading != "The API"] == list(wanted)
    assert ("The API" in found) == (other.name == "burrow")
    names = [metric.name for metric in other.metrics] + list(other.missing)
    assert [name for name in names if f"- `{name}`: " not in page] == []
    assert set(re.findall(r"lagwarden_\w+", page)) <= {metric.name for metric in METRICS}
