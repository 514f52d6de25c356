"""The command `check`: the verdict of one group or of all, as an exit code for scripts or for a Nagios plugin.

Modules are imported inside the command, as in `stream.cli.app`.
"""

# ruff: noqa: FBT002, PLR0917 -- typer passes flags and options by name
# ruff: noqa: PLC0415 -- see above
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from exporters.wording import DEAD, FINE, SEVERITIES, phrase
from stream.cli.completion import GROUP
from stream.cli.options import ConfigFile, InstanceUrl, PlainJson, open_instance
from stream.cli.render.tables import display_text
from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from stream.cli.api_client import InstanceClient
    from stream.cli.group_source import Answer

_UNKNOWN: Final = "unknown"
_CODES: Final = {
    "critical": ExitCode.GROUP_CRITICAL,
    "warning": ExitCode.GROUP_WARNING,
    _UNKNOWN: ExitCode.GROUP_UNKNOWN,
}
"""The exit codes by severity, the worst first; all other severities are a success."""


_NAGIOS: Final = {"critical": (2, "CRITICAL"), "warning": (1, "WARNING"), _UNKNOWN: (3, "UNKNOWN")}
"""The exit code and the word of the plugin API by severity, the worst first."""


def check(
    name: Annotated[str | None, GROUP] = None,
    every: Annotated[bool, typer.Option("--all", help="Check all groups that are not dead, instead of one.")] = False,
    nagios: Annotated[
        bool, typer.Option("--nagios", help="A plugin of Nagios or Icinga: exit codes 0 to 3, performance data.")
    ] = False,
    as_json: PlainJson = False,
    url: InstanceUrl = None,
    config: ConfigFile = None,
) -> int:
    """Check a group: exit code 0 if all is well, 60 for a warning, 61 if critical, 62 if it cannot be judged.

    Prints the group in one line; with --all a line for each group with a problem, the worst first, and the number of
    groups by severity. With --nagios the exit code is 0, 1 (warning), 2 (critical) or 3 (unknown, also for any error).
    """
    from stream.cli.render.stdout import print_lines, print_notes, printable_json

    problem = "" if (name is None) == every else "give the name of one group, or --all"
    if nagios and as_json:
        problem = "--nagios and --json exclude each other"
    if nagios:
        return _check_as_plugin(name, url, config, problem)
    if problem:
        raise typer.BadParameter(problem)
    source, ranked = _ranked(name, url, config)
    numbers = Counter(map(_severity, ranked))
    if as_json:
        kept = ("group", "state", "verdict", "sentence")
        brief = [{"severity": _severity(group), **{key: group[key] for key in kept}} for group in ranked]
        print_lines([printable_json(json.dumps({"severities": numbers, "groups": brief}))])
    else:
        shown = ranked if name is not None else filter(_is_shown, ranked)
        print_lines([*map(_line, shown), *([_summary(numbers)] if every else [])])
    print_notes(source.notes, source.problems)
    return next((code for severity, code in _CODES.items() if numbers[severity]), ExitCode.OK)


def _ranked(name: str | None, url: str | None, config: Path | None) -> tuple[InstanceClient, list[Answer]]:
    """Return the group of this name, or all that are not dead, the worst first. Raises Refusal."""
    from stream.cli.group_source import WORST_FIRST, find_group

    source = open_instance(url, config)
    if name is not None:
        return source, [find_group(source, name)]
    return source, [group for group in source.groups(WORST_FIRST)["groups"] if group["state"] != DEAD]


def _check_as_plugin(name: str | None, url: str | None, config: Path | None, problem: str) -> int:
    """Print the state, the groups with a problem and performance data as a plugin; return its exit code.

    Source: the guidelines of Monitoring Plugins. A bar begins performance data, so no text has one.
    """
    from stream.cli.render.stdout import print_lines

    source: InstanceClient | None = None
    ranked: list[Answer] = []
    try:
        if not problem:
            source, ranked = _ranked(name, url, config)
    except Refusal as refusal:
        problem = refusal.what
    if source is None:
        return plugin_error(problem)
    numbers = Counter(map(_severity, ranked))
    code, word = next((_NAGIOS[severity] for severity in _NAGIOS if numbers[severity]), (0, "OK"))
    if source.is_stale and not code:
        code, word = _NAGIOS[_UNKNOWN]
    shown = [line.replace("|", "/") for line in map(_line, ranked if name is not None else filter(_is_shown, ranked))]
    first = shown.pop(0) if name is not None else _summary(numbers)
    counts = " ".join(f"{severity}={numbers[severity]}" for severity in reversed(SEVERITIES))
    print_lines([f"{word} - {'; '.join([first, *source.notes])} | {counts}", *shown])
    return code


def is_plugin(words: Sequence[str]) -> bool:
    """Return whether a command line is that of a plugin, also if it is invalid."""
    return words[:1] == ["check"] and "--nagios" in words


def plugin_error(problem: str) -> int:
    """Print a problem in one line as a plugin does; return its exit code."""
    typer.echo(f"UNKNOWN - {' '.join(problem.replace('|', '/').split())}")
    return _NAGIOS[_UNKNOWN][0]


def _severity(group: Answer) -> str:
    """Return the severity of a group; `unknown` for a dead group and for one without a verdict yet."""
    return group["severity"] or _UNKNOWN


def _is_shown(group: Answer) -> bool:
    return _severity(group) != FINE


def _line(group: Answer) -> str:
    what = phrase(group["verdict"] or ("dead" if group["state"] == DEAD else "no verdict yet"))
    sentence = f": {display_text(group['sentence'])}" if group["sentence"] else ""
    return f"{_severity(group)} {display_text(group['group'])} {what}{sentence}"


def _summary(numbers: Counter[str]) -> str:
    """Return the number of groups by severity in one line."""
    total = numbers.total()
    parts: Iterable[str] = (f"{numbers[each]} {each}" for each in reversed(SEVERITIES) if numbers[each])
    return f"{total} {'group' if total == 1 else 'groups'}: {', '.join(parts)}" if total else "there are no groups"
