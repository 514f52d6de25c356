"""The verbs for a person who looks after groups now: `explain GROUP`, and `top`. Both ask a running instance.

Owns their words and where their output goes; what is said is `render.explanation`, the live table is `top.app`. As in
`stream.cli.app`, nothing heavy is imported before a verb needs it.
"""

# ruff: noqa: FBT002 -- typer passes flags and options by name
# ruff: noqa: PLC0415 -- see above
from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from stream.cli.options import ConfigFile, GroupName, InstanceUrl, JsonOutput, load_section
from stream.errors import ExitCode

if TYPE_CHECKING:
    from pathlib import Path

    from stream.cli.api_client import InstanceClient


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("explain")(explain)
    app.command("top")(top)


def explain(
    name: GroupName,
    everything: Annotated[bool, typer.Option("--all", help="Tell of every partition and all that is kept.")] = False,
    as_json: JsonOutput = False,
    url: InstanceUrl = None,
    config: ConfigFile = None,
) -> int:
    """Explain how a group is: verdict, why, the numbers behind it per partition, what to do, and how it came so."""
    from stream.cli.group_source import find, unix_time
    from stream.cli.render.blocks import print_blocks
    from stream.cli.render.explanation import explain as told
    from stream.cli.render.stdout import print_lines, printable_json

    source = _running(url, config)
    group = find(source, name)
    if as_json:
        indent = 2 if sys.stdout.isatty() else None
        print_lines([printable_json(json.dumps(group, indent=indent, ensure_ascii=indent is None))])
    else:
        print_blocks(told(group, unix_time(group["snapshot_time"]) or 0.0, everything=everything))
    for note in source.notes:
        typer.echo(f"note: {note}", err=True)
    return ExitCode.OK


def top(
    every: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.2)] = 5.0,
    url: InstanceUrl = None,
    config: ConfigFile = None,
) -> int:
    """Watch all groups live, the worst first: type to filter, Enter opens a group, Esc goes back, q quits."""
    from stream.cli.top.app import watch

    return watch(_running(url, config), every)


def _running(url: str | None, config: Path | None) -> InstanceClient:
    """Give the instance that is asked. Raises Refusal."""
    from stream.cli.api_client import InstanceClient, instance_address
    from stream.config.options import HttpOptions

    address = url or instance_address(load_section(HttpOptions, config))
    return InstanceClient(address, otherwise="start `lagwarden run`, or name a running one with --url")
