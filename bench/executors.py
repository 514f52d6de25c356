"""`python -m bench.executors`: a start on a standalone Spark cluster with one executor, then with two.

Master, workers, broker and driver are on this machine, so the second executor takes CPU time that others use, too: the
speed-up is a lower bound. With two cores it is worth measuring only if the tasks take much more CPU time than the rest,
hence the large topic. Exits with 1 when an answer differs from the oracle's.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.oracle import final_state
from bench.report import table
from bench.service import Start, start_and_restart
from bench.topic import broker_with
from bench.traffic import Traffic
from sandbox.spark_cluster import StandaloneCluster, make_executor_python

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.oracle import FinalState

_DEFAULT: Final = 5_000_000
_SECRET: Final = "bench"  # noqa: S105 -- on loopback


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.executors", description=__doc__)
    parser.add_argument("--records", type=int, default=_DEFAULT, help=f"records of the topic (default {_DEFAULT:,})")
    parser.add_argument("--executors", type=int, nargs="+", default=[1, 2], help="numbers of executors")
    given = parser.parse_args(arguments)
    traffic = Traffic(given.records)
    wanted = final_state(traffic)
    with tempfile.TemporaryDirectory(prefix="lagwarden-bench-") as scratch, broker_with(traffic) as broker:
        python = make_executor_python(Path(scratch) / "python")
        starts = {
            number: _start(
                broker.bootstrap, traffic, wanted, Path(scratch) / str(number), python=python, executors=number
            )
            for number in given.executors
        }
    print(executors_table(starts))
    wrong = [line for start in starts.values() for line in start.differences]
    print("\nEvery answer equals the oracle's." if not wrong else "\nWRONG: " + "\nWRONG: ".join(wrong))
    return 1 if wrong else 0


def executors_table(starts: dict[int, Start]) -> str:
    """Return the table of starts by number of executors; the last column compares batches with the first row."""
    first = next(iter(starts.values()))
    heads = ("executors", "start to ready s", "first batch s", "speed-up of the batch", "records read")
    rows = [
        (
            str(number),
            f"{start.seconds:.1f}",
            _number(start.batch_seconds),
            _ratio(first, start),
            f"{start.records_read:,}",
        )
        for number, start in starts.items()
    ]
    return table(heads, rows)


def _number(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds:.1f}"


def _ratio(first: Start, other: Start) -> str:
    if not first.batch_seconds or not other.batch_seconds:
        return "unknown"
    return f"{first.batch_seconds / other.batch_seconds:.2f}"


def _start(
    bootstrap: str, traffic: Traffic, wanted: FinalState, folder: Path, *, python: Path, executors: int
) -> Start:
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(StandaloneCluster(folder / "spark", _SECRET))
        for _ in range(executors):
            cluster.add_worker(memory="2g")
        secret = folder / "secret"
        secret.write_text(_SECRET)
        settings = {
            "job.master": cluster.url,
            "job.executors": str(executors),
            "job.executor_memory": "1g",
            "job.executor_python": str(python),
            "job.auth_secret_file": str(secret),
            # The same number of tasks for each number of executors: the same work.
            "job.read_tasks": "4",
            "checkpoint.shared": "true",
        }
        return start_and_restart(bootstrap, traffic, wanted, folder, restarts=0, settings=settings)[0]


if __name__ == "__main__":
    sys.exit(main())
