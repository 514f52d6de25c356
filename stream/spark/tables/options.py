"""The options of the data source: their names, their checks, and the read that they describe."""

import dataclasses
import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from stream.config.kafka_login import login_from_options
from stream.config.loader import load_section
from stream.config.options import SECRETS, GroupsOptions, KafkaOptions
from stream.errors import ExitCode, Refusal
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.spark.reading_options import ClusterAccess, TopicReading
from stream.tables.columns import OffsetsTable, table_of
from stream.tables.events import UNKNOWN_RETENTION

OPTIONS: Final = {
    "table": "The table, by default `commits`.",
    "path": "A broker's log directory, a partition's directory, a segment (`.log`) or a capture, instead of brokers.",
    "config": "A configuration file of lagwarden; of its options only those of `kafka` are used.",
    "columns": "Columns to read, separated by commas; by default all. Columns that are not read cost nothing.",
    "retention": "The brokers' `offsets.retention.minutes`, such as `7d`, for the causes in the table `events`.",
    "tasks": "Most tasks of a batch query or of a micro-batch, by default one per processor of the driver's machine.",
    "startingOffsets": "Where a fresh stream begins: `earliest` (the default) or `latest`; in batch only `earliest`.",
    "maxOffsetsPerTrigger": "Most offsets of a micro-batch of a stream, by default all; refused in batch.",
}
"""Beside these, each option of `kafka` in docs/config.md, also with dots: `kafka.bootstrap.servers`."""
_KNOWN: Final = frozenset(name.lower() for name in OPTIONS)
_KAFKA: Final = "kafka."
_LIMIT_SECONDS: Final = 120.0
"""Seconds without progress after which a task fails, and Spark runs it again."""
ALL: Final = 1 << 62
"""More offsets than any topic has."""


@dataclasses.dataclass(frozen=True, slots=True)
class TableOptions:
    """The read that the options describe: of a path, or of brokers."""

    table: OffsetsTable
    columns: tuple[str, ...] | None
    path: Path | None
    brokers: TopicReading | None
    tasks: int
    from_latest: bool
    limited: bool
    retention: OffsetsRetention


def table_options(options: Mapping[str, str]) -> TableOptions:
    """Check the options of a query, by name in lower case. Raises Refusal with the wrong value and the valid ones."""
    kafka = {name: value for name, value in options.items() if name.startswith(_KAFKA)}
    for name in sorted(options.keys() - kafka.keys() - _KNOWN):
        close = "".join(f"did you mean {each}? " for each in difflib.get_close_matches(name, OPTIONS, 1))
        raise _refusal(
            f"there is no option {name!r}", f"{close}the options are {', '.join(OPTIONS)} and kafka.* (docs/config.md)"
        )
    path, config = options.get("path"), options.get("config")
    if (path is None) == (not kafka and config is None):
        given = "both are given" if path is not None else "neither is"
        raise _refusal(
            f"a table is read from a path or from brokers, and {given}", "set path or kafka.bootstrap.servers"
        )
    tasks = _count(options, "tasks", os.cpu_count() or 1)
    most = _count(options, "maxOffsetsPerTrigger", ALL)
    starting = options.get("startingoffsets", "earliest").lower()
    if starting not in {"earliest", "latest"}:
        raise _refusal(f"startingOffsets = {starting!r}", "it must be earliest or latest")
    columns = options.get("columns")
    return TableOptions(
        table=table_of(options.get("table", "commits").lower()),
        columns=None if columns is None else tuple(name.strip() for name in columns.split(",")),
        path=None if path is None else Path(path.removeprefix("file:")),
        brokers=None if path is not None else _brokers(kafka, config, tasks, most),
        tasks=tasks,
        from_latest=starting == "latest",
        limited="maxoffsetspertrigger" in options,
        retention=_retention(options.get("retention")),
    )


def _brokers(kafka: Mapping[str, str], config: str | None, tasks: int, most: int) -> TopicReading:
    """Return the read of brokers: options of the query before environment and configuration file."""
    flags = {}
    for name, value in kafka.items():
        key = _KAFKA + name.removeprefix(_KAFKA).replace(".", "_")
        if key in SECRETS:
            # Spark stores options in the checkpoint and prints them in plans.
            raise _refusal(
                f"{name} would be stored and printed by Spark", f"set {key}_file, the path of a file with it"
            )
        flags[key] = value
    options = load_section(KafkaOptions, None if config is None else Path(config), os.environ, flags)
    access = ClusterAccess(options.bootstrap_servers, login_from_options(options), options.request_timeout)
    return TopicReading(access, starts={}, tasks=tasks, most_offsets=most, limit=_LIMIT_SECONDS)


def _retention(text: str | None) -> OffsetsRetention:
    if text is None:
        return UNKNOWN_RETENTION
    seconds = load_section(GroupsOptions, None, {}, {"groups.offsets_retention": text}).offsets_retention
    return OffsetsRetention(None if seconds is None else round(seconds * 1000), None, "configuration")


def _count(options: Mapping[str, str], name: str, default: int) -> int:
    text = options.get(name.lower())
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= ALL):
        raise _refusal(f"{name} = {text!r}", "it must be a number of 1 or more")
    return int(text)


def _refusal(what: str, advice: str) -> Refusal:
    return Refusal(what, advice, ExitCode.USAGE)
