"""docs/comparison.md and docs/performance.md: figures are measured, and the exporters are those of migration pages."""

import re
from pathlib import Path
from typing import Final

from exporters.compatibility.selection import OTHER_EXPORTERS
from stream.health.verdict import VERDICTS

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
PAGE: Final = (DOCS / "comparison.md").read_text("utf-8")


def test_results_are_measured() -> None:
    """Figures of docs/performance.md are in its measurements; the groups of docs/comparison.md are the played ones."""
    measurements = (DOCS / "internals" / "performance.md").read_text("utf-8")
    table = (DOCS / "performance.md").read_text("utf-8").split("|---|---:|---:|\n")[1].split("\n\n")[0]
    figures = [figure for row in table.splitlines() for figure in re.findall(r"[0-9][0-9.,]*[0-9]", row)]
    assert len(figures) > 20
    assert [each for each in figures if not re.search(rf"(?<![0-9.,]){re.escape(each)}(?![0-9,])", measurements)] == []
    page = (DOCS / "verdicts.md").read_text("utf-8")
    sick, healthy = re.search(r"on (\d+) groups with faults and (\d+) healthy ones", PAGE).groups()
    assert f"sick groups found (of {sick})" in page
    assert f"healthy groups with a false alarm (of {healthy})" in page


def test_exporters_and_numbers_are_those_of_the_code() -> None:
    """Each exporter's migration page is linked; this page and the README count the verdicts that exist."""
    assert set(re.findall(r"\(migration/(\w+)\.md\)", PAGE)) == {other.name for other in OTHER_EXPORTERS}
    counted = re.findall(r"(\d+) verdicts with cause", PAGE + (DOCS.parent / "README.md").read_text("utf-8"))
    assert counted == [str(len(VERDICTS))] * 2
