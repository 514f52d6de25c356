"""Shared storage that is away: a mounted file system that returns errors, or does not answer at all."""

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from sandbox.waiting import LIMIT, wait_until
from stream.checkpoint import storage_watch
from stream.checkpoint.storage_watch import StorageWatch, is_away


class Storage:
    """A folder whose file system has an error, or calls `during` in each request."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.now = 0.0
        self.during = lambda: None

    def __str__(self) -> str:
        return "/mnt/shared"

    def iterdir(self) -> Iterator[Path]:
        self.during()
        if self.number is not None:
            raise OSError(self.number, os.strerror(self.number))
        return iter(())


def test_storage_with_an_error_is_away_until_it_answers() -> None:
    """The trouble has the text of the error, and each change is logged once."""
    for number in (errno.ESTALE, errno.EIO, errno.ENOTCONN, errno.ETIMEDOUT):
        storage = Storage()
        watch = StorageWatch(storage, lambda storage=storage: storage.now)  # type: ignore[arg-type,misc]
        storage.number = number
        with structlog.testing.capture_logs() as lines:
            for _ in range(3):
                watch.poll()
                assert watch.trouble() == f"the storage of the checkpoint /mnt/shared is away: {os.strerror(number)}"
            storage.number = None
            for _ in range(3):
                watch.poll()
                assert watch.trouble() is None
        assert [line["event"] for line in lines] == ["checkpoint storage away", "checkpoint storage answers again"]


def test_storage_that_blocks_is_away_after_twenty_seconds() -> None:
    """The trouble is reported while the call of the polling thread is still blocked."""
    storage, seen = Storage(), []
    watch = StorageWatch(storage, lambda: storage.now)  # type: ignore[arg-type]

    def block() -> None:
        for storage.now in (19.9, 20.0):
            seen.append(watch.trouble())

    storage.during = block
    watch.poll()
    assert seen == [None, "the storage of the checkpoint /mnt/shared is away: no answer"]
    assert watch.trouble() is None


def test_changes_are_logged_without_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes are logged without a request for readiness, also while the polling thread is blocked."""
    monkeypatch.setattr(storage_watch, "_POLL_SECONDS", 0.01)
    storage, asked, answered = Storage(), threading.Event(), threading.Event()
    watch = StorageWatch(storage, lambda: storage.now)  # type: ignore[arg-type]

    def block() -> None:
        asked.set()
        answered.wait(LIMIT)

    storage.during = block
    with structlog.testing.capture_logs() as lines:
        watch.start()
        try:
            asked.wait(LIMIT)
            storage.now = 20.0
            wait_until(lambda: [line["event"] for line in lines] == ["checkpoint storage away"], "the first line")
            answered.set()
            wait_until(lambda: [line["event"] for line in lines][1:] == ["checkpoint storage answers again"], "another")
        finally:
            answered.set()
            watch.close()


def test_deleted_folder_is_not_away(tmp_path: Path) -> None:
    """Existing and deleted folders have no trouble. The storage is away with ESTALE, but not with ENOENT."""
    for folder in (tmp_path, tmp_path / "deleted"):
        watch = StorageWatch(folder)
        watch.poll()
        assert watch.trouble() is None
    assert not is_away(FileNotFoundError(errno.ENOENT, "x"))
    assert is_away(OSError(errno.ESTALE, "x"))
