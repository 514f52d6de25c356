"""Commands about a group, ready to be copied into a shell: explain it, describe it, preview a reset of its offsets."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from exporters.page.html_tree import Element, el

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TOOLS: Final = {"share": "kafka-share-groups", "streams": "kafka-streams-groups"}
"""Kafka's tool by the kind of a group; it is `kafka-consumer-groups` for all others."""
_OFFSETS_TOOL: Final = "kafka-consumer-groups"
_ANY_BROKER: Final = "localhost:9092"


def shell_word(text: str) -> str:
    r"""Return a text as one word for bash; unprintable characters are escaped (`$'a\x0ab'`)."""
    if text.isprintable():
        return shlex.quote(text)
    signs = (f"\\{sign}" if sign in "\\'" else sign if sign.isprintable() else _escaped(sign.encode()) for sign in text)
    return f"$'{''.join(signs)}'"


def _escaped(utf8: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in utf8)


def group_commands(row: Mapping[str, Any], bootstrap_servers: Sequence[str]) -> list[tuple[str, str]]:
    """Return what each command does, and the command. `row` is a row of GROUPS."""
    name, tool = row["group"], _TOOLS.get(row["kind"] or "", _OFFSETS_TOOL)
    # A name that begins with a dash must not be read as an option.
    dashed = name.startswith("-")
    explain = f"lagwarden explain {'-- ' if dashed else ''}{shell_word(name)}"
    broker = shell_word(",".join(bootstrap_servers) or _ANY_BROKER)
    base = f"{tool} --bootstrap-server {broker} --group{'=' if dashed else ' '}{shell_word(name)}"
    commands = [("Explain the verdict", explain), ("Describe the group", f"{base} --describe")]
    if tool == _OFFSETS_TOOL:
        reset = f"{base} --reset-offsets --all-topics --to-latest --dry-run"
        commands.append(("Preview a reset to the latest offsets, of a group without members", reset))
    return commands


def commands_section(row: Mapping[str, Any], bootstrap_servers: Sequence[str]) -> Element:
    """Return the commands, each with a button that copies it."""
    commands = [
        el(
            "li",
            el("p", words),
            el("code", command, id=f"command-{at}"),
            " ",
            el("button", "Copy", type="button", data_copies=f"command-{at}", aria_label=f"Copy: {words}"),
        )
        for at, (words, command) in enumerate(group_commands(row, bootstrap_servers))
    ]
    return el("section", el("h2", "Commands"), el("ul", commands, class_="commands"), aria_label="Commands")
