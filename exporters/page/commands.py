"""Commands about a group, ready to be copied into a shell: explain it, describe it, preview a reset of its offsets."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from exporters.page.blocks import note, titled
from exporters.page.html_tree import Content, Element, el
from exporters.page.links import PageLinks

_TOOLS: Final = {"share": "bin/kafka-share-groups.sh", "streams": "bin/kafka-streams-groups.sh"}
"""Kafka's tool by the kind of a group, in the folder of Kafka; it is `_OFFSETS_TOOL` for all others."""
_OFFSETS_TOOL: Final = "bin/kafka-consumer-groups.sh"
_EXPLAIN: Final = "lagwarden explain"
_ANY_BROKER: Final = "localhost:9092"


def shell_word(text: str) -> str:
    r"""Return a text as one word for bash; unprintable characters are escaped (`$'a\x0ab'`)."""
    if text.isprintable():
        return shlex.quote(text)
    signs = (f"\\{sign}" if sign in "\\'" else sign if sign.isprintable() else _escaped(sign.encode()) for sign in text)
    return f"$'{''.join(signs)}'"


def _escaped(utf8: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in utf8)


def group_commands(
    row: Mapping[str, Any], bootstrap_servers: Sequence[str], command_config: str | None = None
) -> list[tuple[str, str]]:
    """Return what each command does, and the command.

    `row` is a row of GROUPS, `command_config` the file with the TLS and SASL settings of Kafka's tools if they need it.
    """
    name, tool = row["group"], _TOOLS.get(row["kind"] or "", _OFFSETS_TOOL)
    # A name that begins with a dash must not be read as an option.
    dashed = name.startswith("-")
    explain = f"{_EXPLAIN} {'-- ' if dashed else ''}{shell_word(name)}"
    broker = shell_word(",".join(bootstrap_servers) or _ANY_BROKER)
    login = "" if command_config is None else f" --command-config {shell_word(command_config)}"
    base = f"{tool} --bootstrap-server {broker}{login} --group{'=' if dashed else ' '}{shell_word(name)}"
    commands = [("Explain the verdict", explain), ("Describe the group", f"{base} --describe")]
    if tool == _OFFSETS_TOOL:
        reset = f"{base} --reset-offsets --all-topics --to-latest --dry-run"
        commands.append(("Preview a reset to the latest offsets, of a group without members", reset))
    return commands


def commands_section(row: Mapping[str, Any], links: PageLinks, root: str = "") -> Element:
    """Return the commands, each with a button that copies it.

    The script of the page adds the address of `root`, the relative path to the overview, to the commands of lagwarden.
    """
    commands = [
        el(
            "li",
            el("p", words),
            el("code", _with_address(command, root), id=f"command-{at}"),
            " ",
            el("button", "Copy", type="button", data_copies=f"command-{at}", aria_label=f"Copy: {words}"),
        )
        for at, (words, command) in enumerate(group_commands(row, links.bootstrap_servers, links.command_config))
    ]
    needed = None
    if links.command_config is not None:
        needed = note(f"{links.command_config} has your TLS and SASL settings for Kafka's tools.")
    return titled("Commands", el("ul", commands, class_="commands"), needed)


def _with_address(command: str, root: str) -> Content:
    """Return a command; one of lagwarden has an element that the script fills with the option `--url`."""
    if not command.startswith(_EXPLAIN):
        return command
    return [_EXPLAIN, el("span", data_keep=True, data_root=root), command.removeprefix(_EXPLAIN)]
