"""Fills the driver state before the query starts: by reading a long topic first, else from the state store."""

import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Final

import structlog

from stream.checkpoint.continuity import FOLDER as FIRST_READ
from stream.checkpoint.continuity import OffsetsTopicEnds
from stream.checkpoint.directory import CheckpointDirectory
from stream.config.options import Config
from stream.service.catch_up import CatchUpProgress, CatchUpView
from stream.service.first_read.reader import FirstReadError, read_first, result_of
from stream.service.first_read.request import FirstRead
from stream.service.kept_state import KeptState
from stream.service.status import CATCHING_UP, STARTING, ServiceStatus
from stream.spark.pipeline import PipelineOptions
from stream.spark.types import SparkSession
from stream.tick.publisher import Publisher

_log = structlog.get_logger(__name__)
_POLL_SECONDS: Final = 0.1


class DriverSeed:
    """Fills the driver state of one start of the query, and sets the progress of its catch-up."""

    def __init__(
        self,
        config: Config,
        status: ServiceStatus,
        publisher: Publisher,
        stopping: threading.Event,
        folder: Path | None,
    ) -> None:
        """Read a long topic first if there is a `folder` for temporary files."""
        self._config = config
        self._status = status
        self._publisher = publisher
        self._stopping = stopping
        self._folder = folder

    def fill(
        self, job: PipelineOptions, ends: OffsetsTopicEnds, state: KeptState, session: Future[SparkSession]
    ) -> FirstRead | None:
        """Fill the driver state, and return the first read that it has; None: it has the state of the checkpoint.

        A first read is that of this process, or of an earlier one whose batch has not ended.
        """
        first = self._first_read(job, ends, state.checkpoint, session)
        if first is None:
            self._restore(session, state, ends)
        return first

    def _first_read(
        self,
        job: PipelineOptions,
        ends: OffsetsTopicEnds,
        checkpoint: CheckpointDirectory,
        session: Future[SparkSession],
    ) -> FirstRead | None:
        if checkpoint.first_read is not None and self._folder is not None:
            return self._take_over(job, ends, checkpoint)
        if not self._may_read_first(checkpoint):
            return None
        self._status.progress = CatchUpProgress(ends.log_starts, ends.last_stable)
        return self._read_first(job, ends, checkpoint, session)

    def _restore(self, session: Future[SparkSession], state: KeptState, ends: OffsetsTopicEnds) -> None:
        """Seed the driver state from the state store, when the session is open; not if stopped before."""
        while not session.done():
            if self._stopping.wait(_POLL_SECONDS):  # executors may never come
                return
        if not self._stopping.is_set():
            self._publisher.seed(state.load(session.result()))
            positions = state.checkpoint.positions or ends.log_starts
            self._status.progress = CatchUpProgress(positions, ends.last_stable)

    def _may_read_first(self, checkpoint: CheckpointDirectory) -> bool:
        """Return whether a fresh checkpoint, without a batch whose ends are fixed, is read on this machine.

        Executors on other machines read it themselves: what this machine would read is not on theirs.
        """
        is_local = not self._config.job.master_url.is_on_other_machines
        return self._folder is not None and is_local and checkpoint.fresh and not checkpoint.planned

    def _first_folder(self, checkpoint: CheckpointDirectory) -> Path:
        """Return where a first read is kept: in the checkpoint if that is a directory, else until this process ends."""
        assert self._folder is not None  # noqa: S101 -- see `_may_read_first`
        folder = checkpoint.folder if isinstance(checkpoint.folder, Path) else self._folder
        return folder.absolute() / FIRST_READ  # executors have another working folder

    def _take_over(
        self, job: PipelineOptions, ends: OffsetsTopicEnds, checkpoint: CheckpointDirectory
    ) -> FirstRead | None:
        """Apply the first read of an earlier process to the driver state, and return it; None if it is damaged."""
        assert checkpoint.first_read is not None  # noqa: S101 -- what the caller has checked
        first = FirstRead.of_kept(job, checkpoint.first_read, self._first_folder(checkpoint))
        try:
            read = result_of(first)
        except FirstReadError as error:
            _log.warning("first read of an earlier start not usable; the query reads the topic", cause=str(error))
            return None
        _log.info("first read of an earlier start taken over")
        self._status.progress = CatchUpProgress(first.ends, ends.last_stable)
        self._publisher.apply(read.changes, catching_up=True)
        return first

    def _read_first(
        self,
        job: PipelineOptions,
        ends: OffsetsTopicEnds,
        checkpoint: CheckpointDirectory,
        session: Future[SparkSession],
    ) -> FirstRead | None:
        """Read a long topic and apply it to the driver state, while the session is opened; None if it was not."""
        status, progress = self._status, self._status.progress
        first = FirstRead.plan(job, ends.last_stable, ends.epochs, self._first_folder(checkpoint))
        if first is None or progress is None:
            return None
        status.phase = CATCHING_UP
        view = CatchUpView(sys.stderr)

        def stopped() -> bool:
            view.show(progress.catch_up(time.monotonic()))
            if session.done():
                session.result()  # without Java, reading is pointless
            return self._stopping.wait(_POLL_SECONDS)

        try:
            read = read_first(first, stopped)
        finally:
            view.done()
        if read is None:
            status.phase = STARTING
            return None
        self._publisher.apply(read.changes, catching_up=True)
        status.count(read.stats)
        progress.finish(first.ends)
        return first
