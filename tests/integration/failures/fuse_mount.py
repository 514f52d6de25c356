"""A folder on its own FUSE file system that can stop answering or lose its server: `bindfs` from Debian.

The mount needs root and /dev/fuse. While the server is paused, calls block, as those of a hard NFS mount do; when the
server has died, calls fail with ENOTCONN.
"""

import os
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from sandbox.process import GuardedProcess
from sandbox.programs.debian import PackagesMissingError, unpacked
from tests.support.processes import wait_until

_PACKAGES: Final = ("bindfs", "libfuse2")


class MountMissingError(RuntimeError):
    """This machine cannot mount such a file system; the message is the reason in one line."""


class FuseMount:
    """`with FuseMount(path, kept) as mount: ...`. The folder `kept` has what is written below `path`."""

    def __init__(self, path: Path, kept: Path) -> None:
        if os.geteuid() != 0 or not Path("/dev/fuse").exists():
            raise MountMissingError("needs root and /dev/fuse")
        try:
            root = unpacked("bindfs", _PACKAGES)
        except PackagesMissingError as error:
            raise MountMissingError(str(error)) from error
        (library,) = root.rglob("libfuse.so.2")
        self.path: Final = path
        self._kept = kept
        self._log = kept.with_suffix(".log")
        self._environment = {"LD_LIBRARY_PATH": str(library.parent)}
        self._command = [str(root / "usr" / "bin" / "bindfs"), "-f", str(self._kept), str(self.path)]
        self._server: GuardedProcess | None = None

    def __enter__(self) -> Self:
        self._kept.mkdir()
        self.path.mkdir()
        self.mount()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lose()
        self.unmount()

    def mount(self) -> None:
        """Start a server, and wait until the folder is mounted."""
        self._server = GuardedProcess(self._command, self._log, env=self._environment)
        wait_until(lambda: os.path.ismount(self.path), f"{self.path} to be mounted", limit=20)

    def unmount(self) -> None:
        """Detach the folder, also while it is in use."""
        subprocess.run(["umount", "--lazy", str(self.path)], check=False, capture_output=True)

    def pause(self) -> None:
        """Stop the server, so that all calls block from now on."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue the server, so that calls are answered again."""
        self._signal(signal.SIGCONT)

    def lose(self) -> None:
        """Kill the server: all calls fail from now on."""
        if self._server is not None:
            self._server.kill()

    def _signal(self, number: signal.Signals) -> None:
        if self._server is None:
            raise RuntimeError("nothing is mounted")
        os.kill(self._server.pid, number)
