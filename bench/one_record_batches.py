"""`python -m bench.one_record_batches [RECORDS]`: the same records in batches of one and in full batches, as a table.

Coordinators write most commits as a batch of their own, so a real `__consumer_offsets` has more batch headers than
the topic of the other benchmarks. Both topics are read by the reader alone and by the reader with the fold, in one
process, and by `lagwarden run`; KMinion reads them if its binary is named. Exits with 1 if an answer differs from the
oracle's.
"""

from __future__ import annotations

import datetime as dt
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench import kminion, report
from bench.oracle import final_state
from bench.service import start_and_restart
from bench.topic import BATCHES_OF_ONE, FULL_BATCHES, broker_with
from bench.traffic import Traffic
from bench.warm import read_alone

if TYPE_CHECKING:
    from bench.service import Start

_RECORDS: Final = 300_000
_ROUNDS: Final = 5
_COLUMNS: Final = ("batches", "measured", "records/s", "seconds", "CPU s", "answer")


def measure(batches: str, records: int) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the rows of the table for a topic with these batches, and the differences from the oracle."""
    traffic = Traffic(records)
    wanted = final_state(traffic)
    rows: list[tuple[str, ...]] = []
    starts: list[Start] = []
    with broker_with(traffic, batches) as broker:
        for what, fold in (("reader, one process", False), ("the same with the fold", True)):
            read = min(
                (read_alone(broker.bootstrap, traffic, fold=fold) for _ in range(_ROUNDS)), key=lambda each: each[0]
            )
            rows.append((batches, what, f"{records / read[0]:,.0f}", f"{read[0]:.2f}", f"{read[1]:.2f}", ""))
        with tempfile.TemporaryDirectory(prefix="lagwarden-bench-") as scratch:
            starts += start_and_restart(broker.bootstrap, traffic, wanted, Path(scratch))
            if program := kminion.binary():
                starts.append(kminion.start_kminion(program, broker.bootstrap, traffic, wanted, Path(scratch)))
    for start in starts:
        answer = "WRONG" if start.differences else "true"
        rows.append((batches, start.what, "", f"{start.seconds:.1f}", f"{sum(start.cpu.values()):.1f}", answer))
    return rows, [f"{batches}: {start.what}: {line}" for start in starts for line in start.differences]


def main() -> int:
    """Print the table for both kinds of batches."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else _RECORDS
    print(f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC, {report.machine()}; {records:,} records\n", flush=True)
    measured = [measure(batches, records) for batches in (FULL_BATCHES, BATCHES_OF_ONE)]
    print(report.table(_COLUMNS, [row for rows, _ in measured for row in rows]))
    wrong = [line for _, differences in measured for line in differences]
    print("\nEvery answer equals the oracle's." if not wrong else "\nWRONG: " + "\nWRONG: ".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
