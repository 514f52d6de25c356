"""A child process that leaves nothing behind: its own process group, ended with us however we end.

Three nets lie under each other: the context manager, `atexit`, and a guard process that reads from a pipe which only
we hold open; when we die by SIGKILL the pipe closes and the guard kills the group. (PR_SET_PDEATHSIG would not do: it
fires when the *thread* that started the child ends.)
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

GUARD: Final = 'read -r _; kill -s KILL -- "-$1" 2>/dev/null'


class GuardedProcess:
    """A running child process; its output goes to a log file. Ctrl-C in the terminal does not reach it."""

    def __init__(self, command: Sequence[str], log: Path, *, env: Mapping[str, str] | None = None) -> None:
        self.log: Final = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        self._guard = subprocess.Popen(
            ["sh", "-c", GUARD, "guard", str(self.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        atexit.register(self.kill)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """The child's process id, which is its process group's id too."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """What the child ended with, negative for a signal; None while it runs."""
        return self._process.poll()

    @property
    def running(self) -> bool:
        """Tell whether the child still runs (a paused one does)."""
        return self.exit_code is None

    def wait(self, seconds: float) -> int:
        """Wait for the child's end and give its exit code. Raises subprocess.TimeoutExpired."""
        code = self._process.wait(seconds)
        self._bury()
        return code

    def terminate(self, patience: float) -> int:
        """Ask the child to end; kill it when `patience` seconds pass. Gives its exit code."""
        if self.running:
            self.resume()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
        return self.kill()

    def kill(self) -> int:
        """End the child and all it started at once, as `kill -9` would. Gives the exit code; harmless when repeated."""
        if self._guard.returncode is None:
            self._signal_group(signal.SIGKILL)
        code = self._process.wait()
        self._bury()
        return code

    def pause(self) -> None:
        """Stop the whole group where it stands (SIGSTOP)."""
        self._signal_group(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused group go on."""
        self._signal_group(signal.SIGCONT)

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _bury(self) -> None:
        """End the group's remainder, then the guard: from here on the process id may belong to someone else."""
        atexit.unregister(self.kill)
        if self._guard.returncode is None:
            self._signal_group(signal.SIGKILL)
            self._guard.kill()
            self._guard.wait()
        if self._guard.stdin is not None:
            self._guard.stdin.close()
