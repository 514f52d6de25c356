"""The commands `explain GROUP`, `top` and `mcp`. They request a running instance.

The texts are `render.explanation`, the live table is `top.app`, the answers to agents are `agents`. Modules are
imported inside the commands, as in `stream.cli.app`.
"""

# ruff: noqa: FBT002 -- typer passes flags and options by name
# ruff: noqa: PLC0415 -- see above

import functools
from typing import Annotated

import typer

from exporters.wording import unix_time
from stream.cli.completion import GroupName
from stream.cli.options import ConfigFile, InstanceUrl, JsonOutput, open_instance
from stream.cli.render.stdout import print_api_json, print_notes
from stream.errors import ExitCode, imports_of_extra


def explain(
    name: GroupName,
    everything: Annotated[bool, typer.Option("--all", help="Print all partitions and the whole history.")] = False,
    as_json: JsonOutput = False,
    url: InstanceUrl = None,
    config: ConfigFile = None,
) -> int:
    """Explain a group: verdict, reason, next step, evidence, partitions and history."""
    from stream.cli.group_source import find_group
    from stream.cli.render import explanation
    from stream.cli.render.tables import print_blocks

    source = open_instance(url, config)
    group = find_group(source, name)
    if as_json:
        print_api_json(group)
    else:
        print_blocks(explanation.explain(group, unix_time(group["snapshot_time"]) or 0.0, everything=everything))
    print_notes(source.notes, source.problems)
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

        source = open_instance(url, config)
        print_api_json(source.groups(WORST_FIRST))
        print_notes(source.notes, source.problems)
        return ExitCode.OK
    with imports_of_extra("top", "lagwarden top"):
        from stream.cli.top.app import watch

    return watch(open_instance(url, config), every)


def mcp(url: InstanceUrl = None, config: ConfigFile = None) -> int:
    """Answer an agent over stdin and stdout by the Model Context Protocol; needs `lagwarden[mcp]`. Only reads."""
    from stream.cli.agents.questions import AgentQuestions
    from stream.cli.agents.server import build_server

    open_instance(url, config)  # an invalid address or login is an error now, not at the first question
    build_server(AgentQuestions(functools.partial(open_instance, url, config))).run("stdio")
    return ExitCode.OK
