"""Tests of the lock of a checkpoint in an object store."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING

import pytest

from stream.checkpoint.objects.lease import LEASE_SECONDS, ObjectLease
from stream.checkpoint.objects.store import ConditionFailedError, ObjectStore, StoreUnavailableError
from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.checkpoint.objects.path import ObjectPath


def acquired(root: ObjectPath, meanwhile: Callable[[], object] = lambda: None) -> ObjectLease:
    """Return a lease; `meanwhile` runs whenever the process waits, and each wait takes two seconds."""
    seconds = itertools.count(0.0, 2.0)
    return ObjectLease.acquire(root / "lock", lambda _: meanwhile(), lambda: next(seconds))


def test_lease_that_is_renewed_is_refused_to_others(root: ObjectPath) -> None:
    """One renewal while the other process waits is enough."""
    with contextlib.closing(acquired(root)) as lease:
        with pytest.raises(Refusal, match="s3a://kafka-state/team/lagwarden is in use by another lagwarden"):
            acquired(root, lease.renew)
        lease.renew()
        assert lease.lost() is None


def test_lease_of_a_process_that_ended_is_taken_over(root: ObjectPath) -> None:
    """A lease that is not renewed for its duration is taken over. Its owner, if still alive, loses the lock."""
    paused = acquired(root)
    waits: list[None] = []
    with contextlib.closing(acquired(root, lambda: waits.append(None))) as lease:
        assert len(waits) >= LEASE_SECONDS / 2 - 1
        paused.renew()
        assert "lock was taken over by" in str(paused.lost())
        paused.close()
        lease.renew()
        assert lease.lost() is None


def test_released_lease_is_taken_at_once(root: ObjectPath) -> None:
    """A process that ends normally causes no wait."""
    acquired(root).close()

    def fail() -> None:
        raise AssertionError("waited")

    acquired(root, fail).close()


def test_lease_released_while_another_process_waits_is_taken(root: ObjectPath) -> None:
    """The wait ends with the release."""
    lease = acquired(root)
    acquired(root, lease.close).close()


def test_deleted_lease_is_lost(root: ObjectPath) -> None:
    """The reason is that the object was deleted, as for a lock file."""
    with contextlib.closing(acquired(root)) as lease:
        (root / "lock").unlink()
        lease.renew()
        assert lease.lost() == "s3a://kafka-state/team/lagwarden/lock was deleted"


def test_own_write_whose_response_was_lost_is_no_loss(root: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store has a version that the process does not know, and the owner in it is the process."""
    write = ObjectStore.write_if_unchanged

    def without_response(store: ObjectStore, key: str, content: bytes, etag: str) -> str:
        write(store, key, content, etag)
        raise StoreUnavailableError(5, "connection was closed")

    with contextlib.closing(acquired(root)) as lease:
        with monkeypatch.context() as context:
            context.setattr(ObjectStore, "write_if_unchanged", without_response)
            lease.renew()
        lease.renew()
        lease.renew()
        assert lease.lost() is None


def test_store_without_conditional_writes_is_refused(root: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two monitors could both get the lock."""

    def write(store: ObjectStore, key: str, content: bytes) -> str:
        store.write(key, content)
        return "etag"

    monkeypatch.setattr(ObjectStore, "write_if_absent", write)
    with pytest.raises(Refusal, match="ignores conditional writes"):
        acquired(root)


def test_store_that_reports_a_missing_object_is_refused(root: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the condition fails without an object, the process tries again with pauses, and then ends."""

    def fail(*_: object) -> str:
        raise ConditionFailedError("412")

    monkeypatch.setattr(ObjectStore, "write_if_absent", fail)
    waits: list[None] = []

    def wait() -> None:
        waits.append(None)
        assert len(waits) < 100

    with pytest.raises(Refusal, match="lagwarden/lock could not be written in 10 attempts") as refused:
        acquired(root, wait)
    assert (len(waits), refused.value.code) == (10, ExitCode.CHECKPOINT_UNUSABLE)
