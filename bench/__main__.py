"""`python -m bench`: all benchmarks in one run, as tables. Exits with 1 when an answer differs from the oracle's.

Speed does not change the exit code, because it depends on the machine and its load; the last table shows which targets
were met.
"""

import argparse
import datetime as dt
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench import report, service
from bench.report import Target
from bench.scrape import Scrape, scrape_table, scrapes
from bench.service import Start, start_and_restart
from bench.topic import broker_with
from bench.traffic import Traffic
from bench.verify import final_state
from bench.warm import STEADY_GROUPS, Measured

QUICK: Final = 500_000
SMALL: Final = 1_000_000
DEFAULT: Final = 5_000_000
LARGE: Final = 20_000_000
_LIMIT: Final = 900.0
_READY_SECONDS: Final = {SMALL: 12.0, DEFAULT: 12.0, LARGE: 18.0}
_RESTART_SECONDS: Final = 7.0
_STEADY_SECONDS: Final = dict(zip((0, *STEADY_GROUPS), (0.2, 0.5, 0.5, 0.8), strict=True))
_TO_KMINION: Final = defaultdict(lambda: 0.8, {LARGE: 0.6})


class Results:
    """The measurements of a run so far."""

    def __init__(self) -> None:
        self.warm: list[Measured] = []
        self.starts: dict[int, list[Start]] = {}
        self.differences: list[str] = []
        self.scrapes: list[Scrape] = []
        self.kminion: dict[int, Start] = {}
        """The start of KMinion by records."""

    def measure_warm(self, bootstrap: str, records: int, scratch: Path, repeats: int) -> None:
        """Measure reader, pipeline and steady batches in a separate process. It writes to the topic: run it last."""
        out = scratch / "warm.json"
        command = [sys.executable, "-m", "bench.warm", "--bootstrap", bootstrap, "--records", str(records)]
        with (scratch / "warm.log").open("w") as log:
            done = subprocess.run(
                [*command, "--repeats", str(repeats), "--out", str(out)],
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=_LIMIT,
                check=False,
            )
        if done.returncode:
            raise RuntimeError(
                f"bench.warm ended with {done.returncode}:\n{(scratch / 'warm.log').read_text()[-3000:]}"
            )
        result: dict[str, Any] = json.loads(out.read_text())
        self.warm = [Measured(**row) for row in result["rows"]]
        self.differences += result["differences"]

    def measure_service(self, bootstrap: str, traffic: Traffic, scratch: Path) -> None:
        """Measure `lagwarden run` from an empty checkpoint and after a restart."""
        wanted = final_state(traffic)
        starts = start_and_restart(bootstrap, traffic, wanted, scratch)
        self.starts[traffic.records] = starts
        program = service.binary()
        if program is not None:
            self.kminion[traffic.records] = service.start_kminion(program, bootstrap, traffic, wanted, scratch)
        for start in starts:
            self.differences += [f"{start.what} at {traffic.records:,}: {line}" for line in start.differences]

    def kminion_start(self, records: int) -> list[Start]:
        """Return the start of KMinion on a topic of this size, if it was measured."""
        return [self.kminion[records]] if records in self.kminion else []

    @property
    def catch_ups(self) -> list[Measured]:
        """The rows that read the whole topic."""
        return [row for row in self.warm if "steady" not in row.what]

    @property
    def steady(self) -> list[Measured]:
        """The rows of steady batches."""
        return [row for row in self.warm if "steady" in row.what]

    def warm_rate(self, what: str) -> float:
        """Return the best records/s of the warm rows whose name has this prefix."""
        return max(row.rate for row in self.warm if row.what.startswith(what) and "warm" in row.what)

    def targets(self) -> list[Target]:
        """Return the targets with the measured values."""
        found = []
        if self.warm:
            ratio = self.warm_rate("pipeline") / self.warm_rate("reader")
            found.append(Target("pipeline : reader in one process, warm", 0.7, ratio, "", at_least=True))
        for records, (first, *again) in self.starts.items():
            limit = _READY_SECONDS.get(records, _READY_SECONDS[DEFAULT])
            found.append(Target(f"process start to ready, {records:,} records", limit, first.seconds, "s"))
            found += [
                Target(f"restart to ready, {records:,} records", _RESTART_SECONDS, each.seconds, "s") for each in again
            ]
            if records in self.kminion:
                ratio = first.seconds / self.kminion[records].seconds
                found.append(Target(f"start : start of KMinion, {records:,} records", _TO_KMINION[records], ratio, ""))
        found += [Target(row.what, _STEADY_SECONDS[row.records], row.seconds, "s") for row in self.steady]
        found += [Target(f"scrape, {row.encoding}", 20.0, row.seconds * 1000, "ms") for row in self.scrapes]
        return found


def main() -> int:
    """Run the benchmarks that the options select."""
    given = _options()
    began = time.monotonic()
    print(f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC, {report.machine()}\n", flush=True)
    results = Results()
    default = QUICK if given.quick else given.records
    for records in _sizes(given, default):
        with tempfile.TemporaryDirectory(prefix="lagwarden-bench-") as scratch, broker_with(Traffic(records)) as broker:
            _say(f"wrote {records:,} records; measuring lagwarden run", began)
            if not given.no_service:
                results.measure_service(broker.bootstrap, Traffic(records), Path(scratch))
            if records == default:
                _say("measuring reader, pipeline and steady batches", began)
                results.measure_warm(broker.bootstrap, records, Path(scratch), given.repeats)
    results.scrapes = scrapes()
    if service.binary() is None:
        print(f"KMinion was not measured: {service.VARIABLE} does not name its binary.\n")
    _print(results)
    return 1 if results.differences else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--records", type=int, default=DEFAULT, help=f"records of the topic (default {DEFAULT:,})")
    parser.add_argument("--quick", action="store_true", help=f"only {QUICK:,} records, two minutes")
    parser.add_argument("--large", action="store_true", help=f"also a start at {LARGE:,} records")
    parser.add_argument("--no-service", action="store_true", help="leave out `lagwarden run`")
    parser.add_argument("--repeats", type=int, default=3, help="queries per JVM; the first is the cold one")
    return parser.parse_args()


def _sizes(given: argparse.Namespace, default: int) -> list[int]:
    more = [SMALL] if not (given.quick or given.no_service) else []
    return sorted({default, *more, *([LARGE] if given.large else [])})


def _say(what: str, began: float) -> None:
    print(f"[{time.monotonic() - began:4.0f} s] {what}", file=sys.stderr, flush=True)


def _print(results: Results) -> None:
    tables: Sequence[str] = [
        report.catch_up_table(results.catch_ups, results.warm_rate("reader")),
        report.steady_table(results.steady),
        report.service_table(
            {records: [*starts, *results.kminion_start(records)] for records, starts in results.starts.items()}
        ),
        scrape_table(results.scrapes),
        report.target_table(results.targets()),
    ]
    print("\n\n".join(tables))
    wrong = results.differences
    print("\nEvery answer equals the oracle's." if not wrong else "\nWRONG: " + "\nWRONG: ".join(wrong))


if __name__ == "__main__":
    sys.exit(main())
