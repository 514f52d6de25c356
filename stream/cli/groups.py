"""The verbs about groups: `groups`, `groups describe` and `history`, of a running instance or of a capture.

Owns their words and what is printed where: tables or JSON on stdout, remarks on stderr. `register` puts them beside the
others of `stream.cli.app`. As there, nothing heavy is imported before a verb needs it.
"""

# ruff: noqa: FBT002, PLR0917 -- typer passes flags and options by name
# ruff: noqa: PLC0415 -- see above
from __future__ import annotations

import dataclasses
import difflib
import json
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from stream.cli.options import CaptureSource, ConfigFile, GroupName, InstanceUrl, JsonOutput, load_section
from stream.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from stream.cli.group_source import Answer, GroupSource
    from stream.cli.render.tables import TextTable

_LATEST: Final = 5
_REBALANCING: Final = frozenset(("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"))

groups_app: Final = typer.Typer(help="List groups, or describe one.", rich_markup_mode="markdown")


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.add_typer(groups_app, name="groups")
    app.command("history")(history)


@dataclasses.dataclass(frozen=True, slots=True)
class _Where:
    """Who is asked."""

    url: str | None
    capture: Path | None
    config: Path | None

    def or_else(self, other: _Where) -> _Where:
        """Take from another what is not given here, so that options may stand before or behind `describe`."""
        if self.url or self.capture:
            return self if self.config else dataclasses.replace(self, config=other.config)
        return dataclasses.replace(other, config=self.config or other.config)

    def open(self) -> GroupSource:
        """Give the source of groups. Raises Refusal."""
        from stream.config.options import GroupsOptions, HttpOptions

        if self.url is not None and self.capture is not None:
            raise typer.BadParameter("--url and --capture exclude each other")
        if self.capture is not None:
            from stream.cli.capture_groups import open_capture

            return open_capture(self.capture, load_section(GroupsOptions, self.config))
        from stream.cli.api_client import InstanceClient, instance_address

        return InstanceClient(self.url or instance_address(load_section(HttpOptions, self.config)))


@groups_app.callback(invoke_without_command=True)
def list_groups(
    context: typer.Context,
    state: Annotated[list[str] | None, typer.Option(help="Only in this state; several may be given.")] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="Only of this kind: simple, classic, consumer, share or streams.")
    ] = None,
    as_json: JsonOutput = False,
    url: InstanceUrl = None,
    capture: CaptureSource = None,
    config: ConfigFile = None,
) -> int:
    """List all groups: kind, state, members, lag, age of the last commit, and when the first offset expires."""
    where = _Where(url, capture, config)
    if context.invoked_subcommand is not None:
        context.obj = where
        return ExitCode.OK
    from stream.cli import group_source as group_answers
    from stream.cli.render import group_tables

    states = _words(state, group_answers.STATES, "--state")
    kinds = _words(kind, group_answers.KINDS, "--kind")
    source = where.open()
    answer = source.groups()
    groups = group_answers.filter_groups(answer["groups"], states, kinds)
    if as_json:
        _print_json({**answer, "groups": groups})
    elif groups:
        _print([group_tables.groups_table(groups, _now(answer))])
    else:
        typer.echo("no group is so" if answer["groups"] else "there are no groups", err=True)
    return _remarks(source)


@groups_app.command("describe")
def describe(
    context: typer.Context,
    name: GroupName,
    offsets: Annotated[bool, typer.Option("--offsets", help="Show offsets only.")] = False,
    members: Annotated[bool, typer.Option("--members", help="Show the members.")] = False,
    state: Annotated[bool, typer.Option("--state", help="Show the state.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the members' assignment and subscription.")] = False,
    as_json: JsonOutput = False,
    url: InstanceUrl = None,
    capture: CaptureSource = None,
    config: ConfigFile = None,
) -> int:
    """Describe a group as kafka-consumer-groups does: by default its offsets, and the latest that happened to it."""
    from stream.cli import group_source as group_answers
    from stream.cli.render import group_tables

    source = _Where(url, capture, config).or_else(context.obj).open()
    group = group_answers.find(source, name)
    if as_json:
        _print_json(group)
        return _remarks(source)
    now = _now(group)
    tables: list[TextTable] = []
    happened = (group["transitions"] or [])[-_LATEST:]
    every = not (offsets or members or state)
    if state:
        tables.append(group_tables.state_table(group, now))
    if members:
        tables.append(group_tables.members_table(group, verbose=verbose))
    if offsets or every:
        tables.append(group_tables.offsets_table(group, now))
    if every and happened:
        tables.append(group_tables.transitions_table(happened))
    _print([table for table in tables if table.rows])
    for line in _about(group, knows_ends=source.knows_ends):
        typer.echo(line, err=True)
    return _remarks(source)


def history(
    name: GroupName,
    as_json: JsonOutput = False,
    url: InstanceUrl = None,
    capture: CaptureSource = None,
    config: ConfigFile = None,
) -> int:
    """Tell what happened to a group: created, rebalanced, emptied, converted, forgotten, dead, with the cause."""
    from stream.cli import group_source as group_answers
    from stream.cli.render import group_tables

    source = _Where(url, capture, config).open()
    group = group_answers.find(source, name)
    happened = group["transitions"]
    if as_json:
        _print_json({"group": name, "transitions": happened})
    elif happened:
        _print([group_tables.transitions_table(happened)])
    else:
        typer.echo("nothing is known to have happened to it", err=True)
    return _remarks(source)


def _about(group: Answer, *, knows_ends: bool) -> list[str]:
    """Say beside the tables what Kafka's tool says there, and which lags are not known."""
    from stream.cli.render.tables import display_text

    name, said = display_text(group["group"]), []
    if group["state"] == "Empty":
        said.append(f"Consumer group '{name}' has no active members.")
    elif group["state"] in _REBALANCING:
        said.append(f"Warning: Consumer group '{name}' is rebalancing.")
    elif group["state"] == "Dead":
        said.append(f"Consumer group '{name}' died at {group['died_time']}: {group['death_cause'] or 'cause unknown'}.")
    if group["unowned"]:
        said.append(f"owned by no member: {', '.join(map(display_text, group['unowned']))}")
    if group["unsubscribed"]:
        said.append(
            f"has offsets of topics that nobody subscribes to: {', '.join(map(display_text, group['unsubscribed']))}"
        )
    if knows_ends:  # else a remark tells why none is known
        unknown = group["unknown_lags"].items()
        said += [f"lag not known of {count} partitions: {why.replace('_', ' ')}" for why, count in unknown]
    return said


def _words(given: Collection[str] | None, known: Sequence[str], option: str) -> frozenset[str]:
    """Read words in whatever case, also several at once with commas, as Kafka's tool does."""
    by_lower = {word.lower(): word for word in known}
    words = [word.strip() for words in given or () for word in words.split(",")]
    for word in words:
        if word.lower() not in by_lower:
            near = difflib.get_close_matches(word.lower(), by_lower, 1)
            hint = f"did you mean {by_lower[near[0]]}?" if near else f"must be one of {', '.join(known)}"
            raise typer.BadParameter(f"{option} {word}: {hint}")
    return frozenset(by_lower[word.lower()] for word in words)


def _now(answer: Answer) -> float:
    """Ages count from the moment of the answer: it is not younger than that."""
    from stream.cli.group_source import unix_time

    return unix_time(answer["snapshot_time"]) or 0.0


def _print(tables: Sequence[TextTable]) -> None:
    from stream.cli.render.blocks import print_tables

    print_tables(tables)


def _print_json(answer: Answer) -> None:
    from stream.cli.render.stdout import print_lines, printable_json

    indent = 2 if sys.stdout.isatty() else None
    print_lines([printable_json(json.dumps(answer, indent=indent, ensure_ascii=indent is None))])


def _remarks(source: GroupSource) -> int:
    from stream.cli.render.stdout import print_problems

    for note in source.notes:
        typer.echo(f"note: {note}", err=True)
    return print_problems(source.problems)
