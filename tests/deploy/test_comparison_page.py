"""docs/comparison.md: its figures are those of the measurements, and its peers are those of the migration pages."""

import re
from pathlib import Path
from typing import Final

from exporters.compatibility.peers import PEERS
from stream.health.share.rules import ShareVerdict
from stream.health.verdict import VERDICTS

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
PAGE: Final = (DOCS / "comparison.md").read_text("utf-8")


def measured(section: str) -> list[str]:
    """Return the figures of the table "Measured" of a section, as they are written."""
    table = PAGE.split(f"\n## {section}\n")[1].split("| Measured |")[1].split("\n\n")[0]
    return [figure for row in table.splitlines()[2:] for figure in re.findall(r"[0-9][0-9.,]*[0-9]|[0-9]", row)]


def test_prices_and_verdicts_are_measured() -> None:
    """Each figure is in docs/performance.md, each row about verdicts and its number of groups in docs/verdicts.md."""
    performance = (DOCS / "performance.md").read_text("utf-8")
    figures = measured("Price")
    assert len(figures) > 20
    assert [
        figure for figure in figures if not re.search(rf"(?<![0-9.,]){re.escape(figure)}(?![0-9,])", performance)
    ] == []
    page = (DOCS / "verdicts.md").read_text("utf-8")
    text = re.sub(r" \((?:of \d+)\)", "", page)
    table = PAGE.split("\n## Verdicts\n")[1].split("| Measured |")[1].split("\n\n")[0]
    rows = table.splitlines()[2:]
    assert len(rows) == 5
    assert [row for row in rows if row not in text] == []
    sick, healthy = re.search(r"on (\d+) groups with faults and (\d+) healthy ones", PAGE).groups()
    assert f"sick groups found (of {sick})" in page
    assert f"healthy groups with a false alarm (of {healthy})" in page


def test_peers_and_numbers_are_those_of_the_code() -> None:
    """Each exporter's migration page is linked; this page and the README count the verdicts that exist."""
    assert set(re.findall(r"\(migration/(\w+)\.md\)", PAGE)) == {peer.name for peer in PEERS}
    counted = re.findall(r"(\d+) verdicts with cause", PAGE + (DOCS.parent / "README.md").read_text("utf-8"))
    assert counted == [str(len(VERDICTS) + len(ShareVerdict))] * 2
