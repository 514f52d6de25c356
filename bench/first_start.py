"""`python -m bench.first_start [RECORDS]`: the first start on a new machine against later ones, as a table.

A new machine has none of lagwarden's files in memory. This is made by emptying the page cache, which needs root, and by
reading the broker's log back into it, because a broker usually is another machine. Every start has an empty checkpoint.
Exits with 1 if an answer differs from the oracle's.
"""

from __future__ import annotations

import datetime as dt
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench import report
from bench.oracle import final_state
from bench.service import start
from bench.topic import broker_with
from bench.traffic import Traffic

if TYPE_CHECKING:
    from bench.service import Start

_RECORDS: Final = 1_000_000
_ROUNDS: Final = 3
_LIMIT: Final = 1.2
_DROP_CACHES: Final = Path("/proc/sys/vm/drop_caches")
_COLUMNS: Final = ("start", "seconds to ready", "CPU s", "answer")
_FIRST: Final = "the first"
_LATER: Final = "a later one"


def empty_page_cache(broker_folder: Path) -> None:
    """Drop the pages of all files, and read the broker's log again. Raises PermissionError without root."""
    os.sync()
    _DROP_CACHES.write_text("3")
    for log in broker_folder.rglob("*.log"):
        log.read_bytes()


def measure(records: int) -> list[Start]:
    """Return rounds of a first and a later start."""
    traffic = Traffic(records)
    wanted = final_state(traffic)
    found = []
    with broker_with(traffic) as broker:
        for what in (_LATER, *(_FIRST, _LATER) * _ROUNDS):  # one more, before which classes may not be archived
            if what == _FIRST:
                empty_page_cache(Path(broker.folder))
            with tempfile.TemporaryDirectory(prefix="lagwarden-bench-") as scratch:
                found.append(start(what, broker.bootstrap, traffic, wanted, Path(scratch)))
    return found[1:]


def main() -> int:
    """Print the table and the ratio of the medians."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else _RECORDS
    print(f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC, {report.machine()}; {records:,} records\n", flush=True)
    starts = measure(records)
    rows = [
        (each.what, f"{each.seconds:.1f}", f"{sum(each.cpu.values()):.1f}", "WRONG" if each.differences else "true")
        for each in starts
    ]
    print(report.table(_COLUMNS, rows))
    first, later = (statistics.median(each.seconds for each in starts if each.what == w) for w in (_FIRST, _LATER))
    print("\n" + report.target_table([report.Target("first start : later start", _LIMIT, first / later, "")]))
    return 1 if any(each.differences for each in starts) else 0


if __name__ == "__main__":
    sys.exit(main())
