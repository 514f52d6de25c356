"""The verbs that need no running monitor: `decode`, `capture` and `replay`; `dump-log` is `stream.cli.dump_log`'s.

Owns their words and what is printed where: results on stdout, what could not be read on stderr, a line each, and then
the exit code 40. `register` puts them beside the others of `cli.app`. As there, nothing heavy is imported before a
verb needs it.
"""

# ruff: noqa: FBT002, PLR0917 -- typer passes flags and options by name
# ruff: noqa: PLC0415 -- see above
from __future__ import annotations

import contextlib
import enum
import sys
from pathlib import Path  # noqa: TC003 -- typer reads annotations when it runs
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from stream.cli.dump_log import dump_log
from stream.cli.options import LiveCluster, LiveClusterConfig, Settings, load_config
from stream.cli.render.stdout import (
    print_lines,
    printable,
    printable_json,
    progress_bar,
    tell_problems,
    wide_console,
)
from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from stream.offline.decode import RecordFormat
    from stream.offline.rows import RowSource, TopicRow
    from stream.offline.time_range import TimeRange

Topic = Annotated[str, typer.Option(help="The internal topic whose records these are.")]
Topics = Annotated[list[str] | None, typer.Option("--topic", help="An internal topic; may be given several times.")]
Formats = Annotated[str, typer.Option("--format", help="json, json-3.9, text-0.8, text-0.9 or text-2.1.")]

Choice = TypeVar("Choice", bound=enum.Enum)
_OFFSETS: Final = "__consumer_offsets"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("decode")(decode)
    app.command("dump-log")(dump_log)
    app.command("capture")(capture)
    app.command("replay")(replay)


def decode(
    key: Annotated[
        str | None, typer.Argument(help="A record's key in hex or base64; without it: pairs on stdin.")
    ] = None,
    value: Annotated[str | None, typer.Argument(help="Its value; `-` or nothing: a tombstone.")] = None,
    source: Annotated[Path | None, typer.Option("--input", "-i", help="A capture file or a log directory.")] = None,
    bootstrap_servers: LiveCluster = None,
    config: LiveClusterConfig = None,
    settings: Settings = None,
    topic: Topic = _OFFSETS,
    shape: Formats = "json",
    encoding: Annotated[str, typer.Option(help="How bytes are spelled: auto, hex or base64.")] = "auto",
) -> int:
    """Decode records of an internal topic into the shapes of Kafka's console formatters, one line per record.

    What cannot be decoded goes to stderr as a JSON object per record, with the reason.
    """
    from stream.offline.decode import TOPICS, RecordFormat
    from stream.offline.input_pairs import Encoding, parse_pairs

    wanted = _one_of(RecordFormat, shape, "--format")
    spelled = _one_of(Encoding, encoding, "--encoding")
    if topic not in TOPICS:
        raise typer.BadParameter(f"--topic {topic}: known are {', '.join(TOPICS)}")
    lines = [f"{key} {value or '-'}"] if key is not None else sys.stdin
    live = bootstrap_servers is not None or config is not None
    if (key is not None) + (source is not None) + live > 1:
        raise typer.BadParameter("a key, --input and a cluster exclude each other")
    with contextlib.ExitStack() as opened:
        if source is None and not live:
            return _print_decoded(parse_pairs(lines, topic, spelled), wanted)
        found = _offline(source, [topic]) if source else _live(opened, (config, bootstrap_servers, settings), [topic])
        rows = (row for row in found.rows() if row.topic == topic)
        code = _print_decoded(rows, wanted)
        return tell_problems(found.problems) or code


def _print_decoded(rows: Iterable[TopicRow | str], shape: RecordFormat) -> int:
    from stream.offline.decode import decode as decode_row

    wrong, silent = False, 0
    escaped = printable_json if shape.value.startswith("json") else printable

    def lines() -> Iterator[str]:
        nonlocal wrong, silent
        for row in rows:
            if isinstance(row, str):
                wrong = True
                typer.echo(f"error: {row}", err=True)
                continue
            line = decode_row(row, shape)
            if line.error is not None:
                wrong = True
                typer.echo(line.error, err=True)
            elif line.text is None:
                silent += 1
            else:
                yield escaped(line.text)

    print_lines(lines())
    if silent:
        typer.echo(f"{silent} records are of kinds that {shape.value} has no shape for; json has", err=True)
    return ExitCode.UNREADABLE if wrong else ExitCode.OK


def capture(
    file: Annotated[Path, typer.Argument(help="The capture file; one that exists is gone on with.")],
    log_dir: Annotated[
        Path | None, typer.Option(help="Read a partition's folder, or a broker's log directory, instead of a cluster.")
    ] = None,
    bootstrap_servers: LiveCluster = None,
    config: LiveClusterConfig = None,
    settings: Settings = None,
    topics: Topics = None,
    since: Annotated[str | None, typer.Option("--from", help="Only records from then on: ISO 8601 or Unix ms.")] = None,
    until: Annotated[str | None, typer.Option(help="Only records before then.")] = None,
) -> int:
    """Capture the records of internal topics in one Avro file; run again, it goes on where it stopped."""
    from stream.offline.capture import CaptureWriter
    from stream.offline.paths import display_path
    from stream.offline.rows import UnwritableRefusal

    stretch = _between(since, until)
    with contextlib.ExitStack() as opened:
        bar = opened.enter_context(progress_bar())
        wanted = topics or [_OFFSETS]
        if log_dir is not None:
            found = _offline(log_dir, wanted, stop_at_open=True)
        else:
            found = _live(opened, (config, bootstrap_servers, settings), wanted, bar)
        writer = opened.enter_context(CaptureWriter(file, found.origin))
        if writer.cut:
            typer.echo(
                f"{display_path(file)}: torn; its last {writer.cut} bytes, an incomplete block, were cut off", err=True
            )
        written = 0
        try:
            for row in stretch.only(found.rows(dict(writer.last))):
                writer.write(row)
                written += 1
                if log_dir is not None and written % 10_000 == 0:
                    bar(written, None)  # how much there is on a disk is not known beforehand
        except UnwritableRefusal:
            raise
        except (KeyboardInterrupt, Refusal):
            typer.echo(
                f"{display_path(file)}: stopped after {written} rows; the same command goes on from there", err=True
            )
            raise
    typer.echo(f"{display_path(file)}: {written} rows captured")
    for note in found.notes:
        typer.echo(note, err=True)
    return tell_problems([*found.problems, *writer.problems])


def replay(
    source: Annotated[Path, typer.Argument(help="A capture file, a partition's folder or a broker's log directory.")],
    group: Annotated[str | None, typer.Option(help="Tell the story of this group instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Run the whole pipeline over a capture or a log: all groups as they were at its end, or one group's story."""
    found = _offline(source, [_OFFSETS])
    code = _print_story(found, group, as_json=as_json) if group is not None else _print_groups(found, as_json=as_json)
    return tell_problems(found.problems) or code


def _print_groups(found: RowSource, *, as_json: bool) -> int:
    from stream.cli import replay_report as report
    from stream.offline.replay import Replay

    pipeline = Replay()
    pipeline.read(found.rows())
    outcome = pipeline.outcome()
    if as_json:
        typer.echo(report.outcome_json(outcome))
    else:
        wide_console().print(report.groups_table(outcome))
    return tell_problems(list(report.faults_lines(outcome.tally)))


def _print_story(found: RowSource, group: str, *, as_json: bool) -> int:
    from stream.cli import replay_report as report
    from stream.offline.timeline import timeline

    moments = list(timeline(found.rows(), group))
    if not moments:
        raise Refusal(f"no record is of group {group!r}", "without --group all groups are listed", ExitCode.USAGE)
    if as_json:
        print_lines(map(report.moment_json, moments))
    else:
        wide_console().print(report.timeline_table(moments))
    return ExitCode.UNREADABLE if any(moment.kind == "unreadable" for moment in moments) else ExitCode.OK


def _offline(path: Path, topics: Sequence[str], *, stop_at_open: bool = False) -> RowSource:
    """Open a capture file or a log directory. Raises Refusal."""
    from stream.offline.open_source import open_source

    return open_source(path, topics, stop_at_open=stop_at_open)


def _live(
    opened: contextlib.ExitStack,
    login: tuple[Path | None, str | None, Sequence[str] | None],
    topics: Sequence[str],
    on_progress: Callable[[int, int], None] | None = None,
) -> RowSource:
    """Connect to the cluster that configuration file, servers and settings name. Raises Refusal."""
    from stream import logs
    from stream.cluster.transport.client import Cluster
    from stream.config import kafka_login as security
    from stream.offline.live import LiveTopics

    file, servers, settings = login
    config = load_config(file, {"kafka.bootstrap_servers": servers}, settings)
    logs.configure(config.log.level, config.log.format)
    kafka = config.kafka
    cluster = Cluster(kafka.bootstrap_servers, security.client_options(kafka), request_timeout=kafka.request_timeout)
    return LiveTopics(opened.enter_context(cluster), topics, on_progress)


def _between(since: str | None, until: str | None) -> TimeRange:
    from stream.offline.time_range import TimeRange, parse_time

    try:
        start, end = (None if text is None else parse_time(text) for text in (since, until))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return TimeRange(start, end)


def _one_of(kinds: type[Choice], word: str, option: str) -> Choice:
    """Read a word as one of an enum's values."""
    try:
        return kinds(word)
    except ValueError:
        known = ", ".join(kind.value for kind in kinds)
        raise typer.BadParameter(f"{option} {word}: must be one of {known}") from None
