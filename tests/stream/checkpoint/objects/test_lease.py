"""Tests of the lock of a checkpoint in an object store."""

import contextlib
import itertools
import socket
from collections.abc import Callable

import pytest

from stream.checkpoint.objects.lease import LEASE_SECONDS, ObjectLease
from stream.checkpoint.objects.path import ObjectPath
from stream.checkpoint.objects.store import ConditionFailedError, ObjectStore, StoreUnavailableError
from stream.errors import ExitCode, Refusal


def acquired(root: ObjectPath, meanwhile: Callable[[], object] = lambda: None) -> ObjectLease:
    """Return a lease; `meanwhile` runs whenever the process waits, and each wait takes two seconds."""
    seconds = itertools.count(0.0, 2.0)
    return ObjectLease.acquire(root / "lock", lambda _: meanwhile(), lambda: next(seconds))


def test_other_process_is_refused_while_the_lease_is_renewed(root: ObjectPath) -> None:
    """The owner that renews its lease keeps it."""
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
    """The next process takes a released lease without a wait, or when its owner releases it during the wait."""
    acquired(root).close()

    def fail() -> None:
        raise AssertionError("waited")

    lease = acquired(root, fail)
    acquired(root, lease.close).close()


def test_deleted_lease_is_lost(root: ObjectPath) -> None:
    """The reason names the deleted object."""
    with contextlib.closing(acquired(root)) as lease:
        (root / "lock").unlink()
        lease.renew()
        assert lease.lost() == "s3a://kafka-state/team/lagwarden/lock was deleted"


def test_lease_is_kept_if_the_response_to_a_renewal_is_lost(root: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """The renewal is in the store although its response was lost, so the owner keeps the lease."""
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
    """The lock is refused, because two monitors could both acquire it."""

    def write(store: ObjectStore, key: str, content: bytes) -> str:
        store.write(key, content)
        return "etag"

    monkeypatch.setattr(ObjectStore, "write_if_absent", write)
    with pytest.raises(Refusal, match="ignores conditional writes"):
        acquired(root)


def test_store_whose_condition_always_fails_is_refused(root: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is refused after ten attempts with pauses if the condition fails although no object exists."""

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


@pytest.mark.parametrize(("first", "second"), [("a", "z"), ("z", "a")])
def test_the_lease_of_another_process_is_not_the_own_one(
    root: ObjectPath, monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    """A process sees that its lease was taken over, whichever name comes first in the alphabet."""
    hosts = iter((first, second))
    monkeypatch.setattr(socket, "gethostname", lambda: next(hosts))
    paused = acquired(root)
    with contextlib.closing(acquired(root)):
        paused.renew()
        assert "lock was taken over by" in str(paused.lost())
        paused.close()
