"""The entry point of the command line, the commands around `run`, and the printing of errors.

An error is one line on stderr with advice, no traceback, and an exit code of `stream.errors`. Heavy modules are
imported inside the commands, so that `--help` is fast and does not need Spark.
"""

# ruff: noqa: PLC0415 -- see above
from __future__ import annotations

import errno
import functools
import importlib.metadata
import json
import os
import re
import sys
import traceback
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
import typer.main

from stream.cli import check, explain, groups, offline
from stream.cli.acls import acls
from stream.cli.dump_log import dump_log
from stream.cli.export import export
from stream.cli.options import (
    HELP_OPTION_NAMES,
    BootstrapServers,
    ConfigFile,
    PlainJson,
    Settings,
    hide_types,
    load_config,
)
from stream.cli.render.stdout import report_internal_error
from stream.errors import Caution, ExitCode, Refusal
from stream.process_memory import collect_seldom

if TYPE_CHECKING:
    from stream.config.options import Config

app: Final = typer.Typer(
    name="lagwarden",
    no_args_is_help=True,
    context_settings={"help_option_names": HELP_OPTION_NAMES},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def _print_version(given: bool) -> None:  # noqa: FBT001 -- typer passes the value of the flag
    if given:
        typer.echo(f"lagwarden {importlib.metadata.version('lagwarden')}")
        raise typer.Exit


@app.callback(help="A streaming consumer-offsets and group-health monitor for Apache Kafka.")
def main_options(
    _version: Annotated[  # noqa: FBT002 -- a flag
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Handle the options before the command."""


def run(  # noqa: PLR0917 -- typer passes options by name
    bootstrap_servers: BootstrapServers = None,
    config: ConfigFile = None,
    http_port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Port of /metrics and the page; 0 selects a free one.")
    ] = None,
    checkpoint_dir: Annotated[
        str | None, typer.Option(metavar="DIR", help="Directory of the checkpoint, or s3a://BUCKET/PATH.")
    ] = None,
    log_level: Annotated[str | None, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(metavar="FORMAT", help="auto, json or console.")] = None,
    settings: Settings = None,
) -> int:
    """Monitor a cluster until SIGTERM: read its offsets topic, serve /metrics, the API and the page."""
    collect_seldom()
    flags: dict[str, object] = {
        "kafka.bootstrap_servers": bootstrap_servers,
        "http.port": http_port,
        "checkpoint.dir": checkpoint_dir,
        "log.level": log_level,
        "log.format": log_format,
    }
    effective = load_config(config, flags, settings)

    from stream import logs

    logs.configure(effective.log.level, effective.log.format)

    from stream.service.early_jvm import start_jvm

    with start_jvm(effective) as jvm:
        from stream.config.config_follower import ConfigFollower
        from stream.service.run import run as run_job

        follower = ConfigFollower(config, effective, functools.partial(load_config, config, flags, settings))
        return run_job(effective, jvm, follower)


@app.command(hidden=True)
def executor() -> None:
    """Run as an executor in a container that Spark started on Kubernetes."""
    from stream.spark.executors.kubernetes_entry import executor_command

    command = executor_command()
    os.execv(command[0], command)  # noqa: S606 -- the command is Spark's


def check_config(
    bootstrap_servers: BootstrapServers = None,
    config: ConfigFile = None,
    connect: Annotated[bool, typer.Option("--connect", help="Also check this machine and the cluster.")] = False,  # noqa: FBT002 -- a flag
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")] = False,  # noqa: FBT002 -- a flag
    *,
    as_json: PlainJson = False,
    settings: Settings = None,
) -> int:
    """Print the effective configuration with secrets masked; with --connect, check the machine and the cluster."""
    effective = load_config(config, {"kafka.bootstrap_servers": bootstrap_servers}, settings)
    results: Iterable[str | Refusal] = ()
    if connect:
        from stream import logs
        from stream.cli.preflight import run_checks

        logs.configure("error" if quiet and not as_json else effective.log.level, effective.log.format)
        results = run_checks(effective)
    if as_json:
        return _print_config_json(effective, list(results) if connect else None)
    if not quiet:
        import yaml

        typer.echo(yaml.safe_dump(effective.masked(), sort_keys=False, allow_unicode=True).rstrip())
        if connect:
            typer.echo("")
    return _print_checks(results, quiet=quiet)


def version(*, as_json: PlainJson = False) -> None:
    """Print the versions of lagwarden, Python and the libraries that matter in a bug report."""
    names = ("lagwarden", "pyspark", "kafka-python", "pyarrow")
    own, *libraries = ((name, importlib.metadata.version(name)) for name in names)
    python = ("Python", ".".join(map(str, sys.version_info[:3])))
    if as_json:
        typer.echo(json.dumps({name.lower(): number for name, number in (own, python, *libraries)}))
    else:
        typer.echo(f"{' '.join(own)} ({', '.join(map(' '.join, (python, *libraries)))})")


def metrics(
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: one object per metric, or per preset with --estimate.")
    ] = False,
    estimate: Annotated[
        str | None,
        typer.Option(
            metavar="GROUPSxPARTITIONS",
            help="Print instead the series of each preset; `2000x17`: for 2,000 groups with 17 partitions each.",
        ),
    ] = None,
) -> None:
    """Print all metrics with type, unit, labels, stability, preset and meaning."""
    from exporters.catalogue.estimate import estimate_objects
    from exporters.catalogue.reference_page import descriptions, markdown
    from stream.cli.render.tables import TableColumn, TextTable, print_tables

    costs = [] if estimate is None else estimate_objects(*_parse_size(estimate))
    if as_json:
        typer.echo(json.dumps(costs or descriptions(), indent=2))
    elif costs:
        columns = [TableColumn(name.replace("_", " "), right=True) for name in costs[0]]
        rows = [[cost if isinstance(cost, str) else f"{cost:,}" for cost in each.values()] for each in costs]
        print_tables([TextTable(columns, rows)])
    elif not sys.stdout.isatty():
        typer.echo(markdown().rstrip())
    else:
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(markdown()))


def _parse_size(text: str) -> tuple[int, int]:
    """Return the numbers of groups and partitions in a text such as `2000x17`. Raises BadParameter."""
    match = re.fullmatch(r"([0-9]{1,9})x([0-9]{1,9})", text)
    if match is None:
        raise typer.BadParameter(f"{text!r} is not GROUPSxPARTITIONS, such as 2000x17", param_hint="--estimate")
    return int(match[1]), int(match[2])


_PANELS: Final = {
    "Monitor": (run, check_config, acls),
    "Ask a running lagwarden": (groups.history, explain.explain, explain.top, check.check, explain.mcp),
    "Read captures, log directories and records": (offline.decode, dump_log, offline.capture, offline.replay, export),
    "Reference": (metrics, version),
}
"""The commands by the panel of the help."""
for panel, commands in _PANELS.items():
    for command_function in commands:
        app.command(rich_help_panel=panel)(command_function)
app.add_typer(groups.groups_app, name="groups", rich_help_panel="Ask a running lagwarden")


def _print_checks(results: Iterable[str | Refusal], *, quiet: bool) -> int:
    """Print the results of the checks; returns the exit code of the first failed one. `quiet` leaves out successes."""
    code = ExitCode.OK
    for result in results:
        if isinstance(result, Refusal):
            _print_refusal(result)
            code = result.code if code is ExitCode.OK else code
        elif isinstance(result, Caution):
            typer.echo(f"warning: {result}", err=True)
        elif not quiet:
            typer.echo(f"ok: {result}")
    return code


def _print_config_json(config: Config, results: Sequence[str | Refusal] | None) -> int:
    """Print the configuration, and the results of the checks if there were any; returns the exit code.

    A result has `ok`, and `text`; a failed one also `advice` and `code`, a warning `warning`.
    """
    checks = [
        {"ok": False, "text": result.what, "advice": result.advice, "code": int(result.code)}
        if isinstance(result, Refusal)
        else {"ok": True, "text": result} | ({"warning": True} if isinstance(result, Caution) else {})
        for result in results or ()
    ]
    answer = {"config": config.masked(), **({} if results is None else {"checks": checks})}
    typer.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    return next((result.code for result in results or () if isinstance(result, Refusal)), ExitCode.OK)


def _print_refusal(refusal: Refusal) -> None:
    separator = "\n" if "\n" in refusal.what else "; "
    typer.echo(f"error: {separator.join(filter(None, (refusal.what, refusal.advice)))}", err=True)


def _unexpected(error: Exception, words: Sequence[str]) -> int:
    """Report an error of a command line that nothing else handles, and return the exit code."""
    if isinstance(error, OSError) and error.errno in _NO_SPACE and error.filename is None:
        # stdout is a file, for example. Its buffer would fail again when Python exits.
        typer.echo(f"error: cannot write the output: {error.strerror}; free space or redirect it", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.UNWRITABLE
    traceback.print_exception(error)
    report_internal_error()
    return check.plugin_error("internal error of lagwarden") if check.is_plugin(words) else ExitCode.INTERNAL


def _misused(error: typer.TyperException, command: Any, words: Sequence[str]) -> int:
    """Print what is wrong with a command line, and return the exit code."""
    if not str(error):  # no command: the help has been printed
        return ExitCode.USAGE
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "lagwarden"
    for word in words if context is None else ():
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            break
        path = f"{path} {word}"
    text = getattr(error, "format_message", error.__str__)().removeprefix("Invalid value: ").rstrip(".")
    if check.is_plugin(words):
        return check.plugin_error(text)
    separator = " " if text.endswith("?") else "; "
    typer.echo(f"error: {text}{separator}see `{path} --help`", err=True)
    return ExitCode.USAGE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of the process, and return the exit code."""
    command = typer.main.get_command(app)
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        hide_types(command)
        result = command(args=arguments, prog_name=app.info.name, standalone_mode=False)
    except Refusal as refusal:
        _print_refusal(refusal)
        return refusal.code
    except typer.TyperException as error:  # an invalid option, or an unknown command
        return _misused(error, command, words)
    except (KeyboardInterrupt, typer.Abort):  # typer returns the same code for an interrupt inside of a command
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 -- reports every other error
        return _unexpected(error, words)
    return result if isinstance(result, int) else ExitCode.OK
