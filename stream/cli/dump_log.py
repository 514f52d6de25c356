"""The command `dump-log`, with the options of Kafka's `kafka-dump-log`."""

# ruff: noqa: FBT002, PLR0917 -- typer passes flags and options by name

import sys
from pathlib import Path
from typing import Annotated

import typer

from exporters.wording import printable
from stream.cli.render.stdout import print_lines
from stream.errors import ExitCode


def dump_log(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Segments (.log) of a partition.")],
    print_data_log: Annotated[bool, typer.Option("--print-data-log", help="Print records as text.")] = False,
    offsets: Annotated[bool, typer.Option("--offsets-decoder", help="Print records of __consumer_offsets.")] = False,
    transactions: Annotated[
        bool, typer.Option("--transaction-log-decoder", help="Print records of __transaction_state.")
    ] = False,
    share_state: Annotated[
        bool, typer.Option("--share-group-state-decoder", help="Print records of __share_group_state.")
    ] = False,
    deep_iteration: Annotated[
        bool, typer.Option("--deep-iteration", help="Print a line per record, not only per batch.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object per batch or record instead.")] = False,
) -> int:
    """Print segments in exactly the format of Kafka's dump tool, or as JSON."""
    from stream.cli.render.replay import json_line  # noqa: PLC0415 -- loads the decoders
    from stream.offline.dumplog import DECODERS, LogDump  # noqa: PLC0415 -- loads the decoders

    given = (print_data_log, offsets, transactions, share_state)
    selected = [name for name, is_set in zip(DECODERS, given, strict=True) if is_set]
    if len(selected) > 1 + print_data_log:
        raise typer.BadParameter(f"{selected[-2]} and {selected[-1]} exclude each other")
    dump = LogDump(DECODERS[selected[-1]] if selected else None, deep=deep_iteration)
    if as_json:
        print_lines(map(json_line, dump.objects(files)))
    else:
        lines = dump.lines(files)
        # Kafka's tool prints payloads unchanged, and so does this in a pipe. A terminal would interpret control
        # characters.
        print_lines(map(printable, lines) if sys.stdout.isatty() else lines)
    for complaint in dump.complaints:
        typer.echo(complaint, err=True)
    return ExitCode.UNREADABLE if dump.damaged else ExitCode.OK
