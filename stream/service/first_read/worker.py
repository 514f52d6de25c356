"""The program of the processes that read the topic first: `python -m stream.service.first_read.worker PARENT`.

PARENT is the id of the process that started this one. It imports what tasks need, waits for a pickled `FirstRead` on
its standard input, and forks one process per task. Exits with 0 if all results are written, and if its input ends
without a request. All processes end when PARENT does.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from stream.groups.codec import pack, unpack_delta
from stream.groups.reduce import reduce
from stream.groups.shard import empty_state
from stream.process_memory import keep_arrow_from_pandas
from stream.spark.offsets_reading import FOLDED_SCHEMA, read_deltas

if TYPE_CHECKING:
    from stream.service.first_read.request import FirstRead

_POLL_SECONDS: Final = 0.2


def write_result(read: FirstRead, task: int) -> None:
    """Fetch, fold and reduce the ranges of a task; write one row per shard. Raises ClusterError and OSError."""
    with pa.ipc.new_file(str(read.result(task)), FOLDED_SCHEMA) as writer:
        for row in read_deltas(read.reading, read.tasks[task]):
            partition = read.reading.placement.offsets_partition(row.column("shard")[0].as_py())
            limits = read.rules.in_partition(partition, read.live_from, int(time.time() * 1000))
            _, change = reduce(empty_state(), [unpack_delta(row.column("delta")[0].as_py())], limits)
            changes = pa.array([pack(change)], pa.binary())
            writer.write_batch(pa.record_batch([*row.columns, changes], schema=FOLDED_SCHEMA))


def run(read: FirstRead, parent: int, write: Callable[[FirstRead, int], None] = write_result) -> int:
    """Write the results of all tasks in processes of their own; return 0, or 1 as soon as one has failed."""
    running = {_fork(read, task, write) for task in range(len(read.tasks))}
    # After the forks: a thread would not run in the children.
    _end_with(parent)
    while running:
        process, status = os.waitpid(-1, 0)
        running.discard(process)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            _tell(f"a process was ended by signal {-code}")
        if code:
            return 1  # the others see that this process has ended
    return 0


def _fork(read: FirstRead, task: int, write: Callable[[FirstRead, int], None]) -> int:
    """Return the id of the process that writes the result of this task."""
    parent = os.getpid()
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        _end_with(parent)
        write(read, task)
        code = 0
    except Exception as error:  # noqa: BLE001 -- reported to the driver, by the last line
        _tell(f"{type(error).__name__}: {error}")
    finally:
        os._exit(code)


def _tell(reason: str) -> None:
    """Write the reason of a failure, which the driver logs, as one line."""
    sys.stderr.write(" ".join(reason.split()) + "\n")
    sys.stderr.flush()


def _end_with(parent: int) -> None:
    """Make this process end when its parent has ended, also by SIGKILL."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def main() -> int:
    """Wait for the request and run it."""
    keep_arrow_from_pandas()
    try:
        read: FirstRead = pickle.load(sys.stdin.buffer)  # noqa: S301 -- written by the driver
    except EOFError:
        return 0
    # As in `stream.spark.worker_daemon`: the pages of the modules stay shared.
    gc.collect()
    gc.freeze()
    return run(read, int(sys.argv[1]))


if __name__ == "__main__":
    os._exit(main())  # the driver waits, and the end of an interpreter with these modules takes 20 ms and more
