"""A child process that leaves nothing behind: it has its own process group, which is killed however this process ends.

There are three safeguards: the context manager, `atexit`, and a guard process that reads from a pipe which only this
process holds open; when this process dies by SIGKILL the pipe closes and the guard kills the group. (PR_SET_PDEATHSIG
would not do: it fires when the *thread* that started the child ends.)
"""

import atexit
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

GUARD: Final = 'read -r _; kill -s KILL -- "-$1" 2>/dev/null'


class GuardedProcess:
    """A running child process with its output in a log file. It does not receive Ctrl-C of the terminal."""

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
        """The child's process id, which is also the id of its process group."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code of the child, negative for a signal; None while it runs."""
        return self._process.poll()

    @property
    def running(self) -> bool:
        """True while the child runs, also while it is paused."""
        return self.exit_code is None

    def wait(self, seconds: float) -> int:
        """Wait for the end of the child and return its exit code. Raises subprocess.TimeoutExpired."""
        code = self._process.wait(seconds)
        self._end_guard()
        return code

    def terminate(self, timeout: float) -> int:
        """Send SIGTERM, and SIGKILL after `timeout` seconds. Returns the exit code."""
        if self.running:
            self.resume()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout)
        return self.kill()

    def kill(self) -> int:
        """Kill the process group with SIGKILL. Returns the exit code; may be repeated."""
        if self._guard.returncode is None:
            self._signal_group(signal.SIGKILL)
        code = self._process.wait()
        self._end_guard()
        return code

    def pause(self) -> None:
        """Suspend the whole group (SIGSTOP); returns when no thread of the child runs any more.

        A thread that waits for a CPU takes the signal later, and until then the other threads go on.
        """
        self._signal_group(signal.SIGSTOP)
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Continue a suspended group (SIGCONT)."""
        self._signal_group(signal.SIGCONT)

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _end_guard(self) -> None:
        """Kill the rest of the group, then the guard: after that the process id may be reused."""
        atexit.unregister(self.kill)
        if self._guard.returncode is None:
            self._signal_group(signal.SIGKILL)
            self._guard.kill()
            self._guard.wait()
        if self._guard.stdin is not None:
            self._guard.stdin.close()
