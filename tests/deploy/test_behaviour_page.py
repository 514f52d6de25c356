"""docs/kafka-behaviour.md: each row is shown by a test or example that exists, and each finding is listed."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "docs" / "kafka-behaviour.md").read_text("utf-8")
ROWS: Final = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| Behaviour |")
]


def test_every_row_is_shown_by_a_test() -> None:
    """A row has a behaviour, versions, a source and what lagwarden does; its tests and examples exist by name."""
    assert len(ROWS) >= 40
    for row in ROWS:
        assert [bool(cell) for cell in row] == [True] * 5, row
        shown = re.findall(r"`([\w/]+)`: ([^;]+)", row[-1])
        assert shown, row
        for path, name in shown:
            assert name in (ROOT / "tests" / f"{path}.py").read_text(), (path, name)


def test_every_finding_is_listed_once() -> None:
    """The list at the end has each script, and no other."""
    listed = re.findall(r"^- \[[^\]]+\]\(\.\./findings/([^)]+)\)", PAGE, re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in (ROOT / "findings").glob("*.sh"))
