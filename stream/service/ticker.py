"""Runs the ticks in a thread of their own, and applies each result to the status of the monitor."""

import dataclasses
import datetime as dt
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import structlog

from exporters.verdict_event import VerdictEvent
from stream.checkpoint.files import replace_bytes
from stream.checkpoint.topic_watch import TopicWatch
from stream.checkpoint.usage import HISTORY, SideFiles
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.groups.lifecycle.model import Transition
from stream.groups.placement import partition_for
from stream.service.startup import leader_epochs, log_bounds
from stream.service.status import ServiceStatus
from stream.tables.columns import EVENTS, TIME
from stream.tables.events import CauseFacts, event_row
from stream.tables.rows import column_of
from stream.tick.context import DerivedState
from stream.tick.context_poller import ContextPoller
from stream.tick.ends_index import EndsIndex
from stream.tick.publisher import Publisher
from stream.webhook.announcer import VerdictAnnouncer

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


_log = structlog.get_logger(__name__)
_POLL_SECONDS: Final = 0.2
_STOP_SECONDS: Final = 3.0
"""For the running tick at a stop, which ends with writing the verdict file."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ticker:
    """Ticks every `tick_interval` seconds; a tick that is due waits up to `trigger_interval` seconds for a batch."""

    publisher: Publisher
    status: ServiceStatus
    cluster: Cluster
    poller: ContextPoller
    _: dataclasses.KW_ONLY
    tick_interval: float
    trigger_interval: float
    announcer: VerdictAnnouncer | None = None
    """Announces verdict changes."""
    history: HistoryFiles | None = None
    """Keeps what is announced."""
    follow: Callable[[], None] = lambda: None
    """Called before each tick."""
    _batch_applied: threading.Event = dataclasses.field(default_factory=threading.Event, init=False)
    _first_batch: threading.Event = dataclasses.field(default_factory=threading.Event, init=False)

    def record_batch(self) -> None:
        """Record that a batch was applied to the driver state."""
        self._batch_applied.set()
        self._first_batch.set()

    def run(self, watch: TopicWatch, caught_up: threading.Event, ended: threading.Event) -> None:
        """Tick from the event `caught_up` to the event `ended`; before, poll only the ends of the offsets topic.

        A tick waits for the next batch if one is due soon: commits are then as recent as the end offsets, and the lag
        of a busy group does not include what was produced since the last batch. The first batch causes a tick: it has
        what was committed while the JVM started.
        """
        while not caught_up.wait(self.tick_interval):
            self.poll_offsets_topic()
        due, is_ready = time.monotonic(), False
        while not ended.is_set():
            had_batch, due = self._first_batch.is_set(), min(due, time.monotonic())
            read = self.tick(current=watch.current)
            if read is not None:
                ends, positions = read
                watch.update(self.cluster, log_bounds(ends), positions, leader_epochs(ends))
                if not is_ready:
                    _log.info("monitor ready", seconds_from_start=round(time.time() - self.status.started_at, 1))
                is_ready = True
            due = max(due + self.tick_interval, time.monotonic())
            event, until = self._first_batch, due
            if had_batch:
                ended.wait(max(0.0, due - time.monotonic()))
                event, until = self._batch_applied, time.monotonic() + min(self.trigger_interval, self.tick_interval)
                event.clear()
            while not (ended.is_set() or event.is_set()) and (left := until - time.monotonic()) > 0:
                event.wait(min(left, _POLL_SECONDS))
        self.publisher.save_verdicts()

    def tick(self, *, current: bool) -> tuple[EndsIndex, Mapping[int, int]] | None:
        """Run one tick and apply its result to the status; None if Kafka did not answer.

        Returns the end offsets, and the reader's position per offsets partition before they were read. `current`: all
        records are read that the log had at the last tick.
        """
        self.follow()
        progress = self.status.progress
        # Before the driver state is copied, which then includes all records below these positions.
        positions = progress.positions if progress is not None else {}
        try:
            result = self.publisher.tick(self.cluster, self.poller, positions, current=current)
        except ClusterError as error:
            self.status.record_unreachable(str(error))
            return None
        self.status.record_tick(result)
        if self.announcer is not None and result.evaluated is not None:
            events = self.announcer.announce(result.published.snapshot, result.details.finding)
            if self.history is not None:
                derived, partitions = result.details.derived, result.status.topic_partitions
                self.history.add(events, self.publisher.take_transitions(), derived, partitions)
        read = result.facts.ends, positions
        del result  # its columns would stay in memory beside the packed ones, and beside those of the next tick
        self.publisher.finish_tick()
        return read

    def poll_offsets_topic(self) -> None:
        """Record which offsets partitions have no end offset, while the catch-up may be waiting for them."""
        try:
            unanswered = self.publisher.poll_offsets_topic(self.cluster)
        except ClusterError as error:
            self.status.record_unreachable(str(error))
        else:
            self.status.record_unanswered(unanswered)


class TickThread:
    """The thread of the ticks: `ticks` publishes from the first event (the topic is read to its end) to the second."""

    def __init__(self, ticks: Callable[[threading.Event, threading.Event], None]) -> None:
        self._caught_up, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=ticks, args=(self._caught_up, self._ended), name="tick", daemon=True)

    def start(self) -> None:
        """Start the thread, if it has not been started."""
        if self._thread.ident is None:
            self._thread.start()

    def publish(self) -> None:
        """Record that the topic is read to its end: the ticks publish from now on."""
        self._caught_up.set()

    def end(self) -> None:
        """End the thread after the running tick, without waiting for it."""
        self._ended.set()
        self._caught_up.set()

    def join(self) -> None:
        """End the thread, and wait a limited time for it."""
        self.end()
        if self._thread.ident is not None:
            self._thread.join(_STOP_SECONDS)

    def is_alive(self) -> bool:
        """Return whether the thread runs."""
        return self._thread.is_alive()
