"""The lock of a checkpoint in an object store: an object that its owner writes again every few seconds.

An object store has no lock that ends with its process. So the lock is a lease: the owner replaces the object `lock` on
the condition that it is still its own version (If-Match). Another process that finds the object watches it. A new
version means that the owner lives; no new version for `LEASE_SECONDS` means that it has ended, and the lease is taken
over by the same condition. Only the clock of the waiting process counts. An owner that ends in order releases it.

An owner that was paused for longer than the lease, as a stopped virtual machine is, finds its lease taken at its next
renewal, and must end.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import structlog

from stream.checkpoint.objects.path import ObjectPath
from stream.checkpoint.objects.store import ConditionFailedError
from stream.errors import ExitCode, Refusal

_log = structlog.get_logger(__name__)
LEASE_SECONDS: Final = 30.0
"""A lease that was not renewed for so long may be taken over."""
_RENEW_SECONDS: Final = 8.0
_WATCH_SECONDS: Final = 2.0
_MOST_ATTEMPTS: Final = 10
"""Attempts to write the lease; one fails if another process was faster, or if the store contradicts itself."""
_RETRY_SECONDS: Final = 1.0


class ObjectLease:
    """The lease of this process, which a thread renews until `close`."""

    def __init__(self, lock: ObjectPath, owner: str, etag: str) -> None:
        """Own the version `etag` of the object `lock`; nothing is renewed before `start`."""
        self._lock = lock
        self._owner = owner
        self._etag = etag
        self._taken: str | None = None
        self._closing = threading.Event()
        self._writing = threading.Lock()

    @classmethod
    def acquire(
        cls, lock: ObjectPath, wait: Callable[[float], object] = time.sleep, clock: Callable[[], float] = time.monotonic
    ) -> ObjectLease:
        """Return the lease of a checkpoint, renewed from now on; waits for one that its owner may have left behind.

        Raises Refusal if another process has it, or the store does not know conditional writes, and OSError.
        """
        owner = f"{socket.gethostname()}, process {os.getpid()}, {os.urandom(6).hex()}"
        content = _content(owner)
        for _ in range(_MOST_ATTEMPTS):
            etag = _written(lock, content, wait, clock)
            if etag is not None:
                break
            wait(_RETRY_SECONDS)
        else:
            raise Refusal(
                f"the lock {lock} could not be written in {_MOST_ATTEMPTS} attempts: its store reports an object that"
                " is missing or changes",
                "check that the store has conditional writes (docs/object-store.md), and stop other lagwardens",
                ExitCode.CHECKPOINT_UNUSABLE,
            )
        _check_conditions(lock, content)
        lease = cls(lock, owner, etag)
        threading.Thread(target=lease.keep, name="lease", daemon=True).start()
        return lease

    def lost(self) -> str | None:
        """Return as a sentence that the lease was deleted or taken over; None while it is this process's."""
        return self._taken

    def keep(self) -> None:
        """Renew the lease until it is lost or released."""
        while self._taken is None and not self._closing.wait(_RENEW_SECONDS):
            self.renew()

    def renew(self) -> None:
        """Write the next version. A store that does not answer changes nothing: the next call tries again."""
        with self._writing, contextlib.suppress(OSError):
            if self._closing.is_set():
                return
            try:
                self._etag = self._lock.store.write_if_unchanged(self._lock.key, _content(self._owner), self._etag)
            except FileNotFoundError:
                self._taken = f"{self._lock} was deleted"
            except ConditionFailedError:
                self._look()

    def close(self) -> None:
        """Release the lease: the next process takes it at once."""
        self._closing.set()
        with self._writing, contextlib.suppress(OSError, ConditionFailedError):
            if self._taken is None:
                self._lock.store.write_if_unchanged(self._lock.key, _content(None), self._etag)

    def _look(self) -> None:
        """Find out whose the object is: an own write whose response was lost is also another version."""
        found = _read(self._lock)
        if found is None:
            self._taken = f"{self._lock} was deleted"
        elif found[0] == self._owner:
            self._etag = found[1]
        else:
            self._taken = f"{self._lock} was taken over by {found[0] or 'another process'}"


def _written(
    lock: ObjectPath, content: bytes, wait: Callable[[float], object], clock: Callable[[], float]
) -> str | None:
    """Return the version of the lease that was written; None if the object changed or was deleted meanwhile."""
    with contextlib.suppress(ConditionFailedError):
        return lock.store.write_if_absent(lock.key, content)
    found = _read(lock)
    if found is None:
        return None
    left = found[1] if found[0] is None else _watched(lock, found, wait, clock)
    with contextlib.suppress(ConditionFailedError, FileNotFoundError):
        return lock.store.write_if_unchanged(lock.key, content, left)
    return None


def _watched(
    lock: ObjectPath, found: tuple[str | None, str], wait: Callable[[float], object], clock: Callable[[], float]
) -> str:
    """Return the version of a lease that its owner does not renew. Raises Refusal if the owner renews it."""
    owner, etag = found
    _log.info(
        "checkpoint locked; waiting for a renewal by its owner", lock=str(lock), owner=owner, seconds=LEASE_SECONDS
    )
    until = clock() + LEASE_SECONDS
    while clock() < until:
        wait(_WATCH_SECONDS)
        again = _read(lock)
        if again is None or again[0] is None:
            return etag if again is None else again[1]
        if again[1] != etag:
            raise Refusal(
                f"the checkpoint {lock.parent} is in use by another lagwarden ({again[0]})",
                "stop the other one, or set another address with --checkpoint-dir",
                ExitCode.CHECKPOINT_UNUSABLE,
            )
    _log.warning("lease taken over from a process that ended", lock=str(lock), owner=owner)
    return etag


def _check_conditions(lock: ObjectPath, content: bytes) -> None:
    """Raise Refusal if the store writes an object that exists although the condition is that it does not."""
    with contextlib.suppress(ConditionFailedError):
        lock.store.write_if_absent(lock.key, content)
        raise Refusal(
            f"the object store of {lock.parent} ignores conditional writes (If-None-Match): two monitors could use it",
            "use a store that has them, or a directory on a volume",
            ExitCode.CHECKPOINT_UNUSABLE,
        )


def _read(lock: ObjectPath) -> tuple[str | None, str] | None:
    """Return the owner (None: released) and the version of the object; None if it does not exist. Raises OSError."""
    try:
        content, etag = lock.store.read_version(lock.key)
    except FileNotFoundError:
        return None
    try:
        read: Any = json.loads(content)
        owner = read["owner"]
    except (ValueError, TypeError, KeyError):
        owner = "unknown"
    return (None if owner is None else str(owner)), etag


def _content(owner: str | None) -> bytes:
    """Return what the object contains. Each version differs, because the versions of equal contents are equal."""
    return json.dumps({"owner": owner, "version": os.urandom(8).hex()}).encode()
