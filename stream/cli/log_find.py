"""The command `log find`: records in a log directory by offset or time."""

# ruff: noqa: FBT002 -- typer passes flags and options by name
# ruff: noqa: PLC0415 -- `--help` does not load the decoders
from __future__ import annotations

from pathlib import Path  # noqa: TC003 -- typer reads annotations when it runs
from typing import TYPE_CHECKING, Annotated, Final

import typer

from stream.cli.render.stdout import print_lines, print_problems, printable_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from decoders.log.lookup import RecordPlace
    from stream.offline.find import FoundRecord

app: Final = typer.Typer(name="log", help="Look into log directories.", no_args_is_help=True)
_OFFSETS: Final = "__consumer_offsets"


@app.callback()
def _log() -> None:
    """Look into log directories."""


@app.command("find")
def find(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A partition's directory or a broker's log directory.")
    ],
    offset: Annotated[
        int | None, typer.Option(metavar="N", help="Find the first record with at least this offset.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Find the first record with at least this timestamp: ISO 8601 or Unix ms."),
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="TOPIC",
            help="A topic in a broker's log directory; default: __consumer_offsets; can be repeated.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one object per partition.")] = False,
) -> int:
    """Find the first record of each partition at an offset or a time, as a broker answers ListOffsets."""
    from stream.cli.render.replay import json_line
    from stream.offline.find import RecordLookup, find_records
    from stream.offline.folder import LogFolder
    from stream.offline.time_range import parse_time

    if (offset is None) == (time is None):
        raise typer.BadParameter("one of --offset and --time is required")
    try:
        lookup = RecordLookup(offset, None if time is None else parse_time(time))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    folder = LogFolder(directory, topics or [_OFFSETS])
    found = list(find_records(folder, lookup))
    if as_json:
        print_lines(printable_json(json_line(row.as_json())) for row in found)
    else:
        _print_table(found)
    return print_problems(folder.problems)


def _print_table(found: Sequence[FoundRecord]) -> None:
    from stream.cli.render.blocks import print_tables
    from stream.cli.render.tables import TableColumn, TextTable

    columns = [
        TableColumn("TOPIC"),
        TableColumn("PARTITION", right=True),
        TableColumn("OFFSET", right=True),
        TableColumn("TIMESTAMP"),
        TableColumn("FILE"),
        TableColumn("POSITION", right=True),
    ]
    print_tables([TextTable(columns, [[row.topic, str(row.partition), *_place_cells(row.place)] for row in found])])


def _place_cells(place: RecordPlace | None) -> list[str]:
    from stream.wording import utc_time

    if place is None:
        return ["none", "", "", ""]
    return [str(place.record.offset), utc_time(place.record.timestamp), place.path.name, str(place.position)]
