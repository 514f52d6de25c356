"""The commands `explain GROUP` and `top`. Both request a running instance.

The texts are `render.explanation`, the live table is `top.app`. Modules are imported inside the commands, as in
`stream.cli.app`.
"""

# ruff: noqa: FBT002 -- typer passes flags and options by name
# ruff: noqa: PLC0415 -- see above
from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stream.cli.completion import GroupName  # noqa: TC001 -- typer reads the annotations
from stream.cli.options import ASK_PANEL, ConfigFile, InstanceUrl, JsonOutput, instance_url
from stream.cli.render.stdout import print_api_json
from stream.errors import ExitCode, imports_of_extra

if TYPE_CHECKING:
    from pathlib import Path

    from stream.cli.api_client import InstanceClient


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("explain", rich_help_panel=ASK_PANEL)(explain)
    app.command("top", rich_help_panel=ASK_PANEL)(top)


def explain(
    name: GroupName,
    everything: Annotated[bool, typer.Option("--all", help="Print all partitions and the whole history.")] = False,
    as_json: JsonOutput = False,
    url: InstanceUrl = None,
    config: ConfigFile = None,
) -> int:
    """Explain a group: verdict, reason, next step, evidence, partitions and history."""
    from stream.cli.group_source import find_group, unix_time
    from stream.cli.render import explanation
    from stream.cli.render.blocks import print_blocks

    source = _client(url, config)
    group = find_group(source, name)
    if as_json:
        print_api_json(group)
    else:
        print_blocks(explanation.explain(group, unix_time(group["snapshot_time"]) or 0.0, everything=everything))
    _print_notes(source)
    return ExitCode.OK


def top(
    every: Annotated[float, typer.Option(metavar="SECONDS", help="Time between two requests.", min=0.2)] = 5.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the groups once, as JSON, as `groups --json`.")
    ] = False,
    url: InstanceUrl = None,
    config: ConfigFile = None,
) -> int:
    """Watch all groups, the worst first: type to filter, Enter opens a group, Esc goes back, q quits."""
    if as_json:
        from stream.cli.group_source import WORST_FIRST

        source = _client(url, config)
        print_api_json(source.groups(WORST_FIRST))
        _print_notes(source)
        return ExitCode.OK
    with imports_of_extra("top", "lagwarden top"):
        from stream.cli.top.app import watch

    return watch(_client(url, config), every)


def _print_notes(source: InstanceClient) -> None:
    for note in source.notes:
        typer.echo(f"note: {note}", err=True)


def _client(url: str | None, config: Path | None) -> InstanceClient:
    """Return a client of the instance at the URL, or of the one that the configuration describes. Raises Refusal."""
    from stream.cli.api_client import InstanceClient

    return InstanceClient(
        instance_url(url, config), advice="start `lagwarden run`, or name a running instance with --url"
    )
