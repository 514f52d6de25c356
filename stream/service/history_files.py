"""Keeps what a monitor finds as Parquet: the changes of verdicts, and the transitions of groups as table `events`."""

import datetime as dt
import json
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from exporters.verdict_event import VerdictEvent
from stream.checkpoint.files import replace_bytes
from stream.checkpoint.side_files import HISTORY, SideFiles
from stream.groups.lifecycle.model import Transition
from stream.groups.placement import partition_for
from stream.tables.columns import EVENTS, TIME
from stream.tables.events import CauseFacts, event_row
from stream.tables.rows import column_of
from stream.tick.context import DerivedState

_TEXTS: Final = ("group", "before", "verdict", "severity", "sentence", "next_step", "team")
_VERDICTS: Final = pa.schema([("time", TIME), *((name, pa.string()) for name in _TEXTS)])
MOST_ROWS: Final = 10_000
"""Rows of a file."""
_FILE_SECONDS: Final = 3600.0


class HistoryFiles:
    """The files `FOLDER/TABLE/cluster=ID/day=YYYY-MM-DD/part-*.parquet`. Used by the tick thread.

    A file has at most an hour, and is whole after each tick, so that a killed process loses nothing that was written.
    Failed writes are logged and counted in `files`, and tried again at each tick; meanwhile the newest rows are kept.
    """

    def __init__(self, folder: Path, cluster_id: str, files: SideFiles) -> None:
        self._verdicts = _RowFile(folder / "verdicts" / f"cluster={cluster_id}", _VERDICTS, files)
        self._events = _RowFile(folder / EVENTS.name / f"cluster={cluster_id}", EVENTS.schema(), files)

    def add(
        self,
        verdicts: Iterable[VerdictEvent],
        transitions: Iterable[tuple[str, Transition]],
        derived: DerivedState,
        partitions: int,
    ) -> None:
        """Write what a tick found: events of verdicts, and the transitions of groups since the tick before.

        `partitions` is the number of those of the offsets topic.
        """
        cluster, known, now = derived.facts.cluster, derived.state.histories, derived.facts.taken_at
        facts = CauseFacts(cluster.retention, cluster.topic_exists)
        kinds = ((group, known[group].kind if group in known else None, each) for group, each in transitions)
        rows = [event_row(partition_for(group, partitions), group, kind, each, facts) for group, kind, each in kinds]
        self._events.add(rows, now)
        data = ((json.loads(each.body)["data"], each) for each in verdicts)
        self._verdicts.add([{**row, "time": round(each.time * 1000), "team": each.team} for row, each in data], now)


class _RowFile:
    """The rows of the last file of a table."""

    def __init__(self, folder: Path, schema: pa.Schema, files: SideFiles) -> None:
        self._folder, self._schema, self._files = folder, schema, files
        self._rows: list[Mapping[str, Any]] = []
        self._path, self._until, self._whole = folder, 0.0, True

    def add(self, rows: list[dict[str, Any]], now: float) -> None:
        if not rows and self._whole:
            return
        if self._whole and (now >= self._until or len(self._rows) + len(rows) > MOST_ROWS):
            day = f"day={dt.datetime.fromtimestamp(now, dt.UTC).date()}"
            self._path = self._folder / day / f"part-{round(now * 1000)}-{uuid.uuid4().hex[:8]}.parquet"
            self._rows, self._until = [], now + _FILE_SECONDS
        self._rows, self._whole = [*self._rows, *rows][-MOST_ROWS:], False
        table = pa.table([column_of(field, self._rows) for field in self._schema], schema=self._schema)
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        with self._files.writing(HISTORY, self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            replace_bytes(self._path, sink.getvalue().to_pybytes())
            self._whole = True
