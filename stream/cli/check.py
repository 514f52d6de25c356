"""The command `check`: the verdict of one group or of all, as an exit code for scripts.

Modules are imported inside the command, as in `stream.cli.app`.
"""

# ruff: noqa: FBT002 -- typer passes flags and options by name
# ruff: noqa: PLC0415 -- see above
from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Final

import typer

from exporters.wording import FINE, SEVERITIES, phrase
from stream.cli.completion import complete_groups
from stream.cli.options import ASK_PANEL, ConfigFile, InstanceUrl, PlainJson, instance_url
from stream.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream.cli.group_source import Answer

_DEAD: Final = "Dead"
_UNKNOWN: Final = "unknown"
_CODES: Final = {
    "critical": ExitCode.GROUP_CRITICAL,
    "warning": ExitCode.GROUP_WARNING,
    _UNKNOWN: ExitCode.GROUP_UNKNOWN,
}
"""The exit codes by severity, the worst first; all other severities are a success."""


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("check", rich_help_panel=ASK_PANEL)(check)


def check(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="GROUP", help="The group; after `--` if it begins with a dash.", autocompletion=complete_groups
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Check all groups that are not dead, instead of one.")] = False,
    as_json: PlainJson = False,
    url: InstanceUrl = None,
    config: ConfigFile = None,
) -> int:
    """Check a group: exit code 0 if all is well, 60 for a warning, 61 if critical, 62 if it cannot be judged.

    Prints the group in one line; with --all a line for each group with a problem, the worst first, and the number of
    groups by severity.
    """
    from stream.cli.api_client import InstanceClient
    from stream.cli.group_source import WORST_FIRST, find_group
    from stream.cli.render.stdout import print_lines, printable_json

    if (name is None) != every:
        raise typer.BadParameter("give the name of one group, or --all")
    source = InstanceClient(
        instance_url(url, config), advice="start `lagwarden run`, or name a running instance with --url"
    )
    if name is None:
        ranked = [group for group in source.groups(WORST_FIRST)["groups"] if group["state"] != _DEAD]
    else:
        ranked = [find_group(source, name)]
    numbers = Counter(map(_severity, ranked))
    if as_json:
        print_lines([printable_json(json.dumps({"severities": numbers, "groups": list(map(_brief, ranked))}))])
    else:
        shown = ranked if name is not None else filter(_is_shown, ranked)
        print_lines([*map(_line, shown), *([_summary(numbers)] if every else [])])
    for note in source.notes:
        typer.echo(f"note: {note}", err=True)
    return next((code for severity, code in _CODES.items() if numbers[severity]), ExitCode.OK)


def _severity(group: Answer) -> str:
    """Return the severity of a group; `unknown` for a dead group and for one without a verdict yet."""
    return group["severity"] or _UNKNOWN


def _is_shown(group: Answer) -> bool:
    return _severity(group) != FINE


def _line(group: Answer) -> str:
    from stream.cli.render.tables import display_text

    what = phrase(group["verdict"] or ("dead" if group["state"] == _DEAD else "no verdict yet"))
    sentence = f": {display_text(group['sentence'])}" if group["sentence"] else ""
    return f"{_severity(group)} {display_text(group['group'])} {what}{sentence}"


def _brief(group: Answer) -> Answer:
    return {"severity": _severity(group), **{key: group[key] for key in ("group", "state", "verdict", "sentence")}}


def _summary(numbers: Counter[str]) -> str:
    """Return the number of groups by severity in one line."""
    total = numbers.total()
    parts: Iterable[str] = (f"{numbers[each]} {each}" for each in reversed(SEVERITIES) if numbers[each])
    return f"{total} {'group' if total == 1 else 'groups'}: {', '.join(parts)}" if total else "there are no groups"
