"""The lock of a checkpoint, and the refusals of places that cannot have one."""

import dataclasses
import errno
import fcntl
from typing import IO, Final

from stream.checkpoint.files import CheckpointPath, DamagedError, check_regular
from stream.checkpoint.objects.lease import ObjectLease
from stream.checkpoint.objects.path import ObjectPath
from stream.errors import ExitCode, Refusal

_IS_LOCKED: Final = frozenset({errno.EACCES, errno.EAGAIN})
"""Errors of a lock that another process has; all others are of a volume that has no locks."""
_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclasses.dataclass(frozen=True, slots=True)
class FileLock:
    """The lock of a file that is open. It ends with the process and cannot be lost."""

    _handle: IO[str]

    def lost(self) -> str | None:
        """Return None; see ObjectLease."""
        return None

    def close(self) -> None:
        """Release the lock."""
        self._handle.close()


CheckpointLock = FileLock | ObjectLease
"""The lock of a checkpoint that this process uses."""


def take_lock(folder: CheckpointPath) -> CheckpointLock:
    """Return the lock of a checkpoint. Raises Refusal if another process has it, or it cannot be created."""
    try:
        if isinstance(folder, ObjectPath):
            return ObjectLease.acquire(folder / "lock")
        folder.mkdir(parents=True, exist_ok=True)
        check_regular(folder / "lock")
        handle = (folder / "lock").open("a")
    except OSError as error:
        raise unusable(folder, error) from error
    except DamagedError as error:
        raise Refusal(
            str(error), "remove it, or set another directory with --checkpoint-dir", ExitCode.CHECKPOINT_UNUSABLE
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        handle.close()
        if error.errno not in _IS_LOCKED:
            raise unusable(folder, error) from error
        raise Refusal(
            f"the checkpoint directory {folder} is in use by another lagwarden",
            "stop the other one, or set another directory with --checkpoint-dir",
            ExitCode.CHECKPOINT_UNUSABLE,
        ) from error
    return FileLock(handle)


def unusable(folder: CheckpointPath, error: OSError) -> Refusal:
    """Return the refusal of a checkpoint that cannot be used because of this error."""
    if isinstance(folder, ObjectPath):
        advice = (
            "check the credentials in the environment of lagwarden, and their rights (docs/object-store.md)"
            if isinstance(error, PermissionError)
            else "check checkpoint.dir, checkpoint.s3_endpoint, checkpoint.s3_region, and that the store answers"
        )
        what = f"the checkpoint {folder} cannot be used: {error.strerror or error}"
        return Refusal(what, advice, ExitCode.CHECKPOINT_UNUSABLE)
    full = error.errno in _NO_SPACE
    problem = f"no space left on its volume ({error.strerror})" if full else error.strerror
    advice = "free some space, or use a larger volume" if full else "grant this user write access"
    return Refusal(
        f"the checkpoint directory {folder} cannot be used: {problem}",
        f"set another one with --checkpoint-dir, or {advice}",
        ExitCode.CHECKPOINT_UNUSABLE,
    )
