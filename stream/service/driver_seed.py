"""Fills the driver state before the query starts: by reading the topic first, else from the state store."""

import dataclasses
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Final

import structlog

from stream.checkpoint.continuity import FOLDER as FIRST_READ
from stream.checkpoint.continuity import KeptRead, OffsetsTopicEnds
from stream.config.options import Config
from stream.process_memory import collect_seldom
from stream.service.catch_up import CatchUpProgress, CatchUpView
from stream.service.early_jvm import EarlyJvm
from stream.service.first_read.reader import FirstReadError
from stream.service.first_read.request import FirstRead, read_first, result_of
from stream.service.kept_state import KeptState
from stream.service.status import CATCHING_UP, STARTING, ServiceStatus
from stream.spark.pipeline import PipelineOptions
from stream.spark.types import SparkSession
from stream.tick.publisher import Publisher

_log = structlog.get_logger(__name__)
_POLL_SECONDS: Final = 0.1


@dataclasses.dataclass(frozen=True, slots=True)
class DriverSeed:
    """Fills the driver state of one start of the query, and sets the progress of its catch-up."""

    config: Config
    status: ServiceStatus
    publisher: Publisher
    jvm: EarlyJvm
    options: PipelineOptions
    ends: OffsetsTopicEnds
    state: KeptState
    session: Callable[[], Future[SparkSession]]
    """Returns the session; the first call starts to open it."""

    def fill(self) -> FirstRead | None:
        """Fill the driver state, and return the first read that it has; None: it has the state of the checkpoint.

        A first read is that of this process, or of an earlier one whose batch has not ended.
        """
        folder = self.jvm.options.temporary_folder
        first = None if folder is None else self._first_read(folder)
        if first is None and not self.jvm.stopping.is_set():
            self._restore()
        collect_seldom()
        return first

    def _first_read(self, folder: Path) -> FirstRead | None:
        """Return the kept first read, or that of a fresh checkpoint's topic, unless the ends of its batch are fixed.

        It is kept in the checkpoint if that is a directory, else until this process ends. Executors on other machines
        read the topic themselves: what this machine would read is not on theirs.
        """
        checkpoint = self.state.checkpoint
        home = checkpoint.folder if isinstance(checkpoint.folder, Path) else folder
        kept_in = home.absolute() / FIRST_READ  # executors have another working folder
        if checkpoint.first_read is not None:
            return self._take_over(checkpoint.first_read, kept_in)
        if self.config.job.master_url.is_on_other_machines or checkpoint.planned:
            return None
        return self._read_first(kept_in)

    def _restore(self) -> None:
        """Seed the driver state from the state store, when the session is open; not if stopped before."""
        session = self.session()
        while not session.done():
            if self.jvm.stopping.wait(_POLL_SECONDS):  # executors may never come
                return
        if not self.jvm.stopping.is_set():
            self.publisher.seed(self.state.load(session.result()))
            positions = self.state.checkpoint.positions or self.ends.log_starts
            self.status.progress = CatchUpProgress(positions, self.ends.last_stable)

    def _take_over(self, kept: KeptRead, folder: Path) -> FirstRead | None:
        """Apply the first read of an earlier process to the driver state, and return it; None if it is damaged."""
        first = FirstRead.of_kept(self.options, kept, folder)
        try:
            changes, _ = result_of(first)
        except FirstReadError as error:
            _log.warning("first read of an earlier start not usable; the query reads the topic", cause=str(error))
            return None
        _log.info("first read of an earlier start taken over")
        self.status.progress = CatchUpProgress(first.ends.positions, self.ends.last_stable)
        self.publisher.apply(changes, catching_up=True)
        return first

    def _read_first(self, folder: Path) -> FirstRead | None:
        """Read the topic and apply it to the driver state; None if it was not read."""
        ends, status = self.ends, self.status
        status.progress = progress = CatchUpProgress(ends.log_starts, ends.last_stable)
        first = FirstRead.plan(self.options, ends.last_stable, ends.epochs, folder)
        if first is None:
            return None
        status.phase = CATCHING_UP
        view = CatchUpView(sys.stderr)

        def stopped() -> bool:
            if len(first.tasks) < self.options.reading.tasks:  # a core is left for the JVM
                self.session()
            view.show(progress.catch_up(time.monotonic()))
            return self.jvm.stopping.is_set()

        try:
            read = read_first(first, stopped, self.jvm.reader)
        finally:
            view.done()
        if read is None:
            status.phase = STARTING
            return None
        changes, stats = read
        self.publisher.apply(changes, catching_up=True)
        status.count(stats)
        progress.finish(first.ends.positions)
        return first
