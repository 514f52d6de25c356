"""The commands that work without a running monitor: `decode`, `capture` and `replay`.

Results are printed on stdout, and what could not be read on stderr, one line each, with exit code 40. Heavy modules are
imported inside the functions, so that `--help` does not load them. `dump-log` is in `stream.cli.dump_log`.
"""

# ruff: noqa: FBT002, PLR0917 -- typer passes flags and options by name
# ruff: noqa: PLC0415 -- see above
from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from exporters.wording import unix_time
from stream.cli.options import (
    ConfigFile,
    LiveCluster,
    LiveClusterConfig,
    PlainJson,
    Settings,
    load_config,
    load_section,
)
from stream.cli.render.stdout import print_lines, print_notes, print_problems, printable_json, progress_bar
from stream.errors import ExitCode, Refusal, imports_of_extra

if TYPE_CHECKING:
    from stream.offline.rows import LogRow, RowSource

Topic = Annotated[str, typer.Option(metavar="TOPIC", help="The internal topic of the records.")]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="TOPIC", help="An internal topic; default: __consumer_offsets; can be repeated."),
]
_OFFSETS: Final = "__consumer_offsets"


def decode(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="KEY",
            help="The key of a record in hex or base64; without it, lines with a key and a value are read from stdin.",
        ),
    ] = None,
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="Its value; `-` or nothing for a tombstone.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--input", "-i", metavar="PATH", help="Read a capture file or a log directory.")
    ] = None,
    bootstrap_servers: LiveCluster = None,
    config: LiveClusterConfig = None,
    settings: Settings = None,
    topic: Topic = _OFFSETS,
    encoding: Annotated[
        str, typer.Option(metavar="ENCODING", help="The encoding of key and value: auto, hex or base64.")
    ] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, which is the default.")] = False,  # noqa: ARG001
) -> int:
    """Decode records of an internal topic and print them like Kafka's console formatters, one line per record.

    Records that cannot be decoded are printed on stderr as JSON objects with the reason.
    """
    from stream.offline.folder import open_source
    from stream.offline.rows import TOPICS, Encoding, parse_pairs

    try:
        bytes_encoding = Encoding(encoding)
    except ValueError:
        raise typer.BadParameter(f"--encoding {encoding}: must be one of {', '.join(Encoding)}") from None
    if topic not in TOPICS:
        raise typer.BadParameter(f"--topic {topic}: must be one of {', '.join(TOPICS)}")
    lines = [f"{key} {value or '-'}"] if key is not None else sys.stdin
    live = bootstrap_servers is not None or config is not None
    if (key is not None) + (source is not None) + live > 1:
        raise typer.BadParameter("a key, --input and a cluster exclude each other")
    with contextlib.ExitStack() as stack:
        if source is None and not live:
            return _print_decoded(parse_pairs(lines, topic, bytes_encoding))
        if source is not None:
            opened = open_source(source, [topic])
        else:
            opened = _connect(stack, (config, bootstrap_servers, settings), [topic])
        code = _print_decoded(row for row in opened.rows() if row.topic == topic)
        return print_problems(opened.problems) or code


def _print_decoded(rows: Iterable[LogRow | str]) -> int:
    """Print decoded rows and, for a row that is an error message, the error. Returns the exit code."""
    from stream.offline.rows import decode as decode_row

    failed = False

    def lines() -> Iterator[str]:
        nonlocal failed
        for row in rows:
            line, is_decoded = (f"error: {row}", False) if isinstance(row, str) else decode_row(row)
            if is_decoded:
                yield printable_json(line)
            else:
                failed = True
                typer.echo(line, err=True)

    print_lines(lines())
    return ExitCode.UNREADABLE if failed else ExitCode.OK


def capture(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The capture file; an existing one is continued.")],
    log_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Read a partition's directory or a broker's log directory, not a cluster."),
    ] = None,
    bootstrap_servers: LiveCluster = None,
    config: LiveClusterConfig = None,
    settings: Settings = None,
    topics: Topics = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Only records from this time on: ISO 8601 or Unix ms.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only records before this time: ISO 8601 or Unix ms.")
    ] = None,
    as_json: PlainJson = False,
) -> int:
    """Capture the records of internal topics in an Avro file; the next run continues where the last one stopped."""
    with imports_of_extra("captures", "lagwarden capture"):
        from stream.offline.capture import CaptureWriter
    from stream.offline.folder import open_source
    from stream.offline.paths import display_path
    from stream.offline.rows import UnwritableRefusal, parse_time, rows_between

    try:
        start, end = (None if text is None else parse_time(text) for text in (since, until))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    with contextlib.ExitStack() as stack:
        report_progress = stack.enter_context(progress_bar())
        if log_dir is not None:
            source = open_source(log_dir, topics or [_OFFSETS], stop_at_open=True)
        else:
            source = _connect(stack, (config, bootstrap_servers, settings), topics or [_OFFSETS], report_progress)
        writer = stack.enter_context(CaptureWriter(file, source.origin))
        if writer.cut:
            torn = f"{display_path(file)}: torn; its incomplete last block of {writer.cut} bytes was cut off"
            typer.echo(torn, err=True)
        written = 0
        try:
            for row in rows_between(source.rows(dict(writer.last)), start, end):
                writer.write(row)
                written += 1
                if log_dir is not None and written % 10_000 == 0:
                    report_progress(written, None)  # the number of records on a disk is not known in advance
        except UnwritableRefusal:
            raise
        except (KeyboardInterrupt, Refusal):
            typer.echo(
                f"{display_path(file)}: stopped after {written} rows; run the command again to continue", err=True
            )
            raise
    if as_json:
        print_lines([printable_json(json.dumps({"file": str(file), "rows": written}))])
    else:
        typer.echo(f"{display_path(file)}: {written} rows captured")
    for note in source.notes:
        typer.echo(note, err=True)
    return print_problems([*source.problems, *writer.problems])


def replay(
    source: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A capture file, a partition's directory or a broker's log directory."),
    ],
    group: Annotated[
        str | None, typer.Option(metavar="GROUP", help="Print the history and the records of this group instead.")
    ] = None,
    as_json: PlainJson = False,
    config: ConfigFile = None,
) -> int:
    """Run the pipeline over a capture or a log: all groups, as `groups --capture`, or the history of one group."""
    from stream.cli.capture_groups import CaptureGroups, configured_retention
    from stream.cli.group_source import WORST_FIRST
    from stream.cli.render import replay as rendering
    from stream.cli.render.group_tables import transitions_table
    from stream.cli.render.tables import print_tables
    from stream.config.options import GroupsOptions
    from stream.offline.folder import open_source
    from stream.offline.rows import RowList
    from stream.offline.timeline import records_of_group, timeline

    opened = open_source(source, [_OFFSETS])
    retention = configured_retention(load_section(GroupsOptions, config))
    if group is None:
        groups = CaptureGroups(opened, retention)
        answer = groups.groups(WORST_FIRST)
        if as_json:
            print_lines(map(printable_json, rendering.replay_json(answer, groups)))
        elif answer["groups"]:
            now = unix_time(answer["snapshot_time"]) or 0.0
            print_tables([rendering.replay_table(answer["groups"], now, groups)])
        else:
            typer.echo("there are no groups", err=True)
        return print_notes(groups.notes, groups.problems)
    rows = list(records_of_group(opened.rows(), group))
    if not rows:
        problem = f"no record belongs to group {group!r}"
        raise Refusal(problem, "without --group all groups are listed", ExitCode.NO_SUCH_GROUP)
    groups = CaptureGroups(RowList(rows, opened.origin, opened.problems, opened.notes), retention)
    transitions, events = (groups.group(group) or {"transitions": []})["transitions"], timeline(rows, group)
    if as_json:
        answer = {"group": group, "transitions": transitions, "records": [dataclasses.asdict(each) for each in events]}
        print_lines([printable_json(rendering.json_line(answer))])
    else:
        tables = [transitions_table(transitions)] if transitions else []
        print_tables([*tables, rendering.events_table(events)])
    return print_notes(groups.notes, groups.problems)


def _connect(
    stack: contextlib.ExitStack,
    login: tuple[Path | None, str | None, Sequence[str] | None],
    topics: Sequence[str],
    on_progress: Callable[[int, int], None] | None = None,
) -> RowSource:
    """Connect to the cluster of a configuration file, servers and settings. Raises Refusal."""
    from stream import logs
    from stream.cluster.transport.client import Cluster
    from stream.config.kafka_login import login_from_options
    from stream.offline.live import LiveTopics

    file, servers, settings = login
    config = load_config(file, {"kafka.bootstrap_servers": servers}, settings)
    logs.configure(config.log.level, config.log.format)
    kafka = config.kafka
    cluster = Cluster(kafka.bootstrap_servers, login_from_options(kafka), request_timeout=kafka.request_timeout)
    return LiveTopics(stack.enter_context(cluster), topics, on_progress)
