"""Commands of Kafka's tools that a reader copies."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
COMPLETE: Final = re.compile(r"(\S*kafka-[a-z-]+(?:\.sh|\.bat)?) [^\n`]*--bootstrap-(?:server|controller)\b")
"""A command with the address of a broker; without one, a tool is only named."""


def test_a_complete_command_is_a_script_in_bin() -> None:
    """A command begins with `bin/` and has the suffix of the script, so that it can be pasted."""
    modules = [path for folder in ("exporters", "stream") for path in (ROOT / folder).rglob("*.py")]
    runbooks = (ROOT / "exporters" / "page" / "runbooks").glob("*.md")
    texts = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *runbooks, *modules]
    found = {path: commands for path in texts if (commands := COMPLETE.findall(path.read_text()))}
    wrong = [
        f"{path.relative_to(ROOT)}: {command}"
        for path, commands in found.items()
        for command in commands
        if not re.fullmatch(r"bin/kafka-[a-z-]+\.sh", command.lstrip("`"))
    ]
    assert wrong == []
    # Without any command, the rule would be kept by an empty list.
    assert len(found) > 10
