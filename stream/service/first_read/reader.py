"""The process that reads a topic first, and forks one more per task.

It is started before the modules of the service are imported, and imports what it needs while they are. So this module
imports neither PyArrow nor anything of the reader.
"""

import contextlib
import os
import pickle
import subprocess
import sys
from typing import Final, Self

from stream.process_memory import CHILD_ENVIRONMENT
from stream.spark.jvm_process import OutputReader, describe_exit_code

PROGRAM: Final = "stream.service.first_read.worker"
"""The module that the processes run; stands in their command lines."""

_POLL_SECONDS: Final = 0.1


class FirstReadError(RuntimeError):
    """The topic was not read to the end; the message is the reason."""


class FirstReader:
    """The process, which waits for its request. It ends with the `with` block, and with this process."""

    def __init__(self) -> None:
        """Start the process. Raises OSError."""
        self._output, writer = OutputReader.open("first read")
        with writer:
            self._process = subprocess.Popen(
                [sys.executable, "-m", PROGRAM, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=writer,
                stderr=subprocess.STDOUT,
                env={**CHILD_ENVIRONMENT, **os.environ},
                # Ctrl-C is for this process.
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Kill the process."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.communicate()

    def begin(self, read: object) -> None:
        """Make the process read this `FirstRead`."""
        assert self._process.stdin is not None  # noqa: S101 -- a pipe
        with contextlib.suppress(BrokenPipeError), self._process.stdin as pipe:  # `finished` has the reason
            pickle.dump(read, pipe)

    def finished(self) -> bool:
        """Return whether all is read, soon after that or after 0.1 s. Raises FirstReadError."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_POLL_SECONDS)
        code = self._process.returncode
        if code:
            raise FirstReadError(self._output.last_line() or f"the process {describe_exit_code(code)}")
        return code == 0
