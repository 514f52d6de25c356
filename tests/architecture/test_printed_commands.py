"""Commands of Kafka's tools that a reader copies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
COMPLETE: Final = re.compile(r"(\S*kafka-[a-z-]+(?:\.sh|\.bat)?) [^\n`]*--bootstrap-(?:server|controller)\b")
"""A command with the address of a broker; without one, a tool is only named."""


def texts() -> list[Path]:
    """Return the files that print or document commands."""
    return [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *(path for folder in ("exporters", "stream") for path in (ROOT / folder).rglob("*.py")),
    ]


@pytest.mark.parametrize("path", [path for path in texts() if COMPLETE.search(path.read_text())], ids=lambda p: p.name)
def test_a_complete_command_is_a_script_in_bin(path: Path) -> None:
    """A command begins with `bin/` and has the suffix of the script, so that it can be pasted."""
    found = [match[1] for match in COMPLETE.finditer(path.read_text())]
    assert [each for each in found if not re.fullmatch(r"bin/kafka-[a-z-]+\.sh", each.lstrip("`"))] == []


def test_commands_are_found() -> None:
    """More than ten files have a complete command. Without any, the other test would pass."""
    assert sum(bool(COMPLETE.search(path.read_text())) for path in texts()) > 10
