"""The commands `groups`, `groups describe` and `history`, for a running instance or a capture.

Tables and JSON are printed on stdout, notes on stderr. Modules are imported inside the commands, as in
`stream.cli.app`.
"""

# ruff: noqa: FBT002, PLR0917 -- typer passes flags and options by name
# ruff: noqa: PLC0415 -- see above
from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from exporters.group_query import PARAMETERS, GroupQuery, GroupQueryError, ParameterKind, SortKey
from exporters.wording import unix_time
from stream.cli.completion import GroupName, complete_words
from stream.cli.options import CaptureSource, ConfigFile, InstanceUrl, JsonOutput, PlainJson, instance_url, load_section
from stream.cli.render.stdout import print_api_json, print_notes
from stream.cli.render.tables import TextTable, display_text, print_tables
from stream.errors import ExitCode

if TYPE_CHECKING:
    from stream.cli.group_source import Answer, GroupSource

_LATEST: Final = 5
_METAVARS: Final = {"filter": "TEXT", "owner": "TEAM", "sort": "KEY", "limit": "N"}
_REBALANCING: Final = frozenset(("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"))

groups_app: Final = typer.Typer(help="List groups, or describe one.", rich_markup_mode="markdown")


@dataclasses.dataclass(frozen=True, slots=True)
class _SourceOptions:
    """The options that select the source of groups."""

    url: str | None
    capture: Path | None
    config: Path | None

    def or_else(self, other: _SourceOptions) -> _SourceOptions:
        """Fill in missing options from another command, so that they may stand before or after `describe`."""
        if self.url or self.capture:
            return self if self.config else dataclasses.replace(self, config=other.config)
        return dataclasses.replace(other, config=self.config or other.config)

    def open(self) -> GroupSource:
        """Return the source. Raises Refusal."""
        from stream.config.options import GroupsOptions

        if self.url is not None and self.capture is not None:
            raise typer.BadParameter("--url and --capture exclude each other")
        if self.capture is not None:
            from stream.cli.capture_groups import CaptureGroups, configured_retention
            from stream.offline.folder import open_source

            retention = configured_retention(load_section(GroupsOptions, self.config))
            return CaptureGroups(open_source(self.capture), retention)
        from stream.cli.api_client import InstanceClient

        return InstanceClient(instance_url(self.url, self.config))


def _with_query_options(command: Callable[..., int]) -> Callable[..., int]:
    """Replace the keywords of a command by an option for each parameter of a query but `start`."""
    options = []
    for parameter in (each for each in PARAMETERS if each.name != "start"):
        is_list = parameter.kind is ParameterKind.WORDS
        kind: Any = int if parameter.kind is ParameterKind.NUMBER else list[str] if is_list else str
        option = typer.Option(
            f"--{parameter.name}",
            metavar=_METAVARS.get(parameter.name, parameter.name.upper()),
            help=" ".join(
                [
                    parameter.description,
                    *([f"Values: {', '.join(parameter.words)}."] if parameter.words else []),
                    *(["Can be repeated."] if is_list else []),
                ]
            ),
            autocompletion=complete_words(parameter.words) if parameter.words else None,
            min=parameter.least if parameter.kind is ParameterKind.NUMBER else None,
        )
        options.append(
            inspect.Parameter(
                parameter.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=SortKey.WORST.value if parameter.name == "sort" else None,
                annotation=Annotated[kind | None, option],
            )
        )
    signature = inspect.signature(command, eval_str=True)
    context, *own = (each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD)
    command.__dict__["__signature__"] = signature.replace(parameters=[context, *options, *own])
    return command


@groups_app.callback(invoke_without_command=True)
@_with_query_options
def list_groups(
    context: typer.Context,
    *,
    as_json: JsonOutput = False,
    url: InstanceUrl = None,
    capture: CaptureSource = None,
    config: ConfigFile = None,
    **filters: Any,
) -> int:
    """List all groups, the worst first: verdict, state, members, lag, time lag, last commit, and first expiry."""
    options = _SourceOptions(url, capture, config)
    if context.invoked_subcommand is not None:
        context.obj = options
        return ExitCode.OK
    from stream.cli.render import group_tables

    query = _query(filters)
    source = options.open()
    answer = source.groups(query)
    groups = answer["groups"]
    if as_json:
        print_api_json(answer)
    elif groups:
        for line in group_tables.common_cause_lines(answer.get("common_causes", ())):
            typer.echo(line, err=True)
        print_tables([group_tables.groups_table(groups, _now(answer))])
        if len(groups) < answer["total"]:
            typer.echo(f"{len(groups)} of {answer['total']} groups; --limit", err=True)
    else:
        no_filter = query == GroupQuery(sort=query.sort, order=query.order, limit=query.limit)
        typer.echo("there are no groups" if no_filter else "no group matches the filter", err=True)
    return print_notes(source.notes, source.problems)


@groups_app.command("describe")
def describe(
    context: typer.Context,
    name: GroupName,
    offsets: Annotated[bool, typer.Option("--offsets", help="Show only the offsets.")] = False,
    members: Annotated[bool, typer.Option("--members", help="Show the members.")] = False,
    state: Annotated[bool, typer.Option("--state", help="Show the state.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="With --members: show assignment and subscription.")
    ] = False,
    as_json: JsonOutput = False,
    url: InstanceUrl = None,
    capture: CaptureSource = None,
    config: ConfigFile = None,
) -> int:
    """Describe a group as Kafka's tool of its kind does: by default its offsets, and the latest transitions."""
    from stream.cli import group_source
    from stream.cli.render import group_tables

    source = _SourceOptions(url, capture, config).or_else(context.obj).open()
    group = group_source.find_group(source, name)
    if as_json:
        print_api_json(group)
        return print_notes(source.notes, source.problems)
    now = _now(group)
    tables: list[TextTable] = []
    transitions = (group["transitions"] or [])[-_LATEST:]
    is_default = not (offsets or members or state)
    if state:
        tables.append(group_tables.state_table(group, now))
    if members:
        tables.append(group_tables.members_table(group, verbose=verbose))
    if offsets or is_default:
        is_share = group["kind"] == "share" and not group["by_partition"]
        table = group_tables.share_offsets_table(group) if is_share else group_tables.offsets_table(group, now)
        tables.append(table)
    if is_default and transitions:
        tables.append(group_tables.transitions_table(transitions))
    print_tables([table for table in tables if table.rows])
    for line in _group_notes(group, knows_ends=source.knows_ends):
        typer.echo(line, err=True)
    return print_notes(source.notes, source.problems)


def history(
    name: GroupName,
    as_json: PlainJson = False,
    url: InstanceUrl = None,
    capture: CaptureSource = None,
    config: ConfigFile = None,
) -> int:
    """Print the history of a group: created, rebalanced, emptied, dead, each with its cause, and verdicts."""
    from stream.cli import group_source
    from stream.cli.render import group_tables

    source = _SourceOptions(url, capture, config).open()
    group = group_source.find_group(source, name)
    transitions, verdicts = group["transitions"], group["verdicts"]
    if as_json:
        print_api_json({"group": name, "transitions": transitions, "verdicts": verdicts})
    elif transitions or verdicts:
        print_tables([group_tables.history_table(transitions or (), verdicts or ())])
    else:
        typer.echo("no events recorded for this group", err=True)
    return print_notes(source.notes, source.problems)


def _group_notes(group: Answer, *, knows_ends: bool) -> list[str]:
    """Return what Kafka's tool prints next to its tables, and which lags are unknown."""
    name, notes = display_text(group["group"]), []
    kind = "Share group" if group["kind"] == "share" else "Consumer group"
    if group["state"] == "Empty":
        notes.append(f"{kind} '{name}' has no active members.")
    elif group["state"] in _REBALANCING:
        notes.append(f"Warning: {kind} '{name}' is rebalancing.")
    elif group["state"] == "Dead":
        notes.append(f"{kind} '{name}' died at {group['died_time']}: {group['death_cause'] or 'cause unknown'}.")
    if group["unowned"]:
        notes.append(f"no member owns: {', '.join(map(display_text, group['unowned']))}")
    if group["unsubscribed"]:
        notes.append(
            f"has offsets of topics without a subscription: {', '.join(map(display_text, group['unsubscribed']))}"
        )
    if knows_ends:  # otherwise a note of the source says why no lag is known
        unknown = group["unknown_lags"].items()
        notes += [f"lag unknown for {count} partitions: {reason.replace('_', ' ')}" for reason, count in unknown]
    return notes


def _query(given: Mapping[str, Any]) -> GroupQuery:
    """Return the query of the options, which have the names and values of the API's parameters. Raises BadParameter."""
    values = {name: value if isinstance(value, list) else [value] for name, value in given.items() if value is not None}
    try:
        return GroupQuery.parse((name, str(each)) for name, found in values.items() for each in found)
    except GroupQueryError as error:
        raise typer.BadParameter(f"--{error}") from None


def _now(answer: Answer) -> float:
    """Return the time of the snapshot in Unix seconds: ages are relative to it."""
    return unix_time(answer["snapshot_time"]) or 0.0
