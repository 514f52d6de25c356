"""The command `export`: wrong options are refused before anything starts."""

from pathlib import Path

from tests.stream.cli.command_line import CommandLine

REFUSED = {
    "--format csv": "error: --format csv; it must be one of parquet, orc, json",
    "--table commit": "error: there is no table 'commit'; the tables are commits, records, groups, members, events",
    "--table events": "error: table events is not exported, because a stream reads only new records; export commits,",
    "--every 0": "error: --every 0: must be a duration such as 30s, 5m or 1h",
    "--every soon": "error: --every soon: must be a duration such as 30s, 5m or 1h",
}


def test_wrong_options_are_refused_with_the_valid_ones(command: CommandLine, tmp_path: Path) -> None:
    """The error is one line, and no file is written."""
    for words, message in REFUSED.items():
        assert command.fails("export", "--to", str(tmp_path), "-b", "b:9092", *words.split()).startswith(message)
    assert not list(tmp_path.iterdir())


def test_an_export_keeps_its_format(command: CommandLine, tmp_path: Path) -> None:
    """Files of two formats in one directory could not be read as a table."""
    day = tmp_path / "commits" / "day=2026-01-31"
    day.mkdir(parents=True)
    (day / "part-00000.c000.snappy.parquet").touch()
    error = command.fails("export", "--to", str(tmp_path), "-b", "b:9092", "--format", "json")
    assert error.endswith("has files of the format parquet; use --format parquet, or another directory\n")
