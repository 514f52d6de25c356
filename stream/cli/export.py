"""The command `export`. Heavy modules are imported inside of it, so that `--help` does not load them."""

# ruff: noqa: PLC0415, PLR0917 -- see above; typer passes options by name
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream.cli.options import BootstrapServers, ConfigFile, Settings, load_config
from stream.errors import ExitCode

if TYPE_CHECKING:
    from stream.config.options import Config


def export(
    to: Annotated[Path, typer.Option(metavar="DIR", help="The directory; an export that is there is continued.")],
    bootstrap_servers: BootstrapServers = None,
    config: ConfigFile = None,
    settings: Settings = None,
    tables: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="TABLE", help="A table of docs/tables.md; default: commits; can be repeated."),
    ] = None,
    file_format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="The format of the files: parquet, orc or json.")
    ] = "parquet",
    every: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Go on until SIGTERM, with new files in this interval, such as 5m."),
    ] = None,
) -> int:
    """Export the offsets topic as tables, by day; each record is written once, also over several runs."""
    from stream import logs
    from stream.config.values import parse_seconds
    from stream.service.early_jvm import start_jvm
    from stream.spark.tables.export import ExportOptions, check_export
    from stream.spark.tables.export import export as export_tables

    effective = load_config(config, {"kafka.bootstrap_servers": bootstrap_servers}, settings)
    logs.configure(effective.log.level, effective.log.format)
    try:
        seconds = None if every is None else float(str(parse_seconds(every)))
    except ValueError:
        seconds = 0.0
    if seconds is not None and seconds <= 0:
        raise typer.BadParameter(f"--every {every}: must be a duration such as 30s, 5m or 1h")
    source = _source_options(effective, config, settings or ())
    options = ExportOptions(str(to.absolute()), tables or ["commits"], file_format, source, seconds)
    check_export(options)
    with start_jvm(effective, many_rows=True) as jvm:
        from stream.service.wiring import session_options
        from stream.spark.session import end_session, open_session

        session = open_session(session_options(effective, jvm.options), jvm.process)
        try:
            rows = export_tables(session, options, jvm.stopping)
        finally:
            end_session(session, 20)
    for name, count in rows.items():
        typer.echo(f"{to / name}: {count} rows exported")
    return ExitCode.OK


def _source_options(effective: Config, file: Path | None, settings: list[str] | tuple[str, ...]) -> dict[str, str]:
    """Return the options of the data source that read what the configuration describes."""
    given = (setting.partition("=") for setting in settings)
    options = {key.strip(): value for key, _, value in given if key.strip().startswith("kafka.")}
    options["kafka.bootstrap_servers"] = ",".join(effective.kafka.bootstrap_servers)
    options["maxOffsetsPerTrigger"] = str(effective.job.max_offsets_per_trigger)
    return options if file is None else {**options, "config": str(file.absolute())}
