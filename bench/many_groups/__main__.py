"""`python -m bench.many_groups`: the cost of many groups, as tables. Exits with 1 if an answer differs from the oracle.

Every group has its membership record and a commit for each of its partitions in a real `__consumer_offsets`; then
`lagwarden run` reads them, follows rounds of commits, and is restarted. The steps of one tick are measured in a
separate process. Speed does not change the exit code.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime as dt
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench import report
from bench.many_groups.answers import WrittenGroups
from bench.many_groups.groups_topic import traffic_of
from bench.many_groups.monitor import Monitor, folder_bytes
from bench.many_groups.tables import GroupsResults, tables
from bench.topic import broker_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.traffic import Traffic

_QUICK: Final = 2_000
_TINY: Final = 10
_BATCHES: Final = 5
_TICKS: Final = 4
_TICK_LIMIT: Final = 1800.0


def main() -> int:
    """Run the benchmark that the options select."""
    given = _options()
    began = time.monotonic()
    groups = _QUICK if given.quick else given.groups
    traffic = traffic_of(groups, given.partitions)
    print(f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC, {report.machine()}")
    print(f"{traffic.groups:,} groups of {traffic.partitions_per_group} partitions\n", flush=True)
    settings = {"job.shards": str(given.shards), "job.driver_memory": given.driver_memory}
    with tempfile.TemporaryDirectory(prefix="lagwarden-bench-") as scratch:
        _say("measuring the steps of a tick", began)
        steps = _tick(traffic, given, Path(scratch))
        _say("measuring a driver with few groups", began)
        tiny = _tiny(settings, Path(scratch))
        _say("writing all groups", began)
        with broker_for(traffic) as broker:
            written = WrittenGroups(traffic, broker.bootstrap)
            _say("lagwarden run", began)
            results = measure(written, settings, Path(scratch), min(given.committing, groups))
    results = dataclasses.replace(results, tiny_resident=tiny, steps=steps)
    print("\n\n".join(tables(results)))
    wrong = results.differences
    print("\nEvery answer equals the oracle's." if not wrong else "\nWRONG: " + "\nWRONG: ".join(wrong))
    return 1 if wrong else 0


def measure(written: WrittenGroups, settings: Mapping[str, str], scratch: Path, committing: int) -> GroupsResults:
    """Measure the service on groups in the topic: first start, rounds of commits, and restart."""
    checkpoint, log = scratch / "checkpoint", scratch / "lagwarden.log"
    with Monitor(written.bootstrap, checkpoint, log, settings) as monitor:
        starts = [monitor.ready("process start to ready")]
        quiet = monitor.ticks(_TICKS)
        batches = [monitor.batch(lambda: written.commit(committing)) for _ in range(_BATCHES)]
        busy = monitor.ticks(_TICKS)
        resident, series = monitor.resident_between_ticks(), int(monitor.number("lagwarden_series"))
        scrapes = {encoding: monitor.scrape(encoding) for encoding in ("identity", "gzip")}
        wrong = written.differences(monitor)
        peak = monitor.peak()
        monitor.stop()
    kept = folder_bytes(checkpoint)
    with Monitor(written.bootstrap, checkpoint, log, settings) as monitor:
        starts.append(monitor.ready("restart to ready"))
        read = int(monitor.number("lagwarden_records_read_total"))
        wrong += [f"after the restart: {line}" for line in written.differences(monitor)]
        monitor.stop()
    if read:
        wrong.append(f"{read} records were read twice")
    ticks = [*quiet, *busy]
    return GroupsResults(written.traffic, starts, batches, ticks, resident, peak, kept, series, scrapes, wrong)


def _tiny(settings: Mapping[str, str], scratch: Path) -> int:
    """Return the resident bytes, between two ticks, of a driver that monitors a few small groups."""
    with broker_for(traffic_of(_TINY, 1)) as broker:
        written = WrittenGroups(traffic_of(_TINY, 1), broker.bootstrap)
        with Monitor(written.bootstrap, scratch / "tiny", scratch / "tiny.log", settings) as monitor:
            monitor.ready("tiny")
            monitor.ticks(_TICKS)
            return monitor.resident_between_ticks()


def _tick(traffic: Traffic, given: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Measure the steps of a tick in a separate process."""
    out = scratch / "tick.json"
    sizes = ["--groups", traffic.groups, "--partitions", traffic.partitions_per_group, "--shards", given.shards]
    command = [sys.executable, "-m", "bench.many_groups.tick", *map(str, sizes), "--out", str(out)]
    subprocess.run(command, timeout=_TICK_LIMIT, check=True)
    steps: dict[str, Any] = json.loads(out.read_text())
    return steps


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.many_groups", description=__doc__)
    parser.add_argument("--groups", type=int, default=100_000)
    parser.add_argument("--partitions", type=int, default=20, help="partitions with a commit per group")
    parser.add_argument("--committing", type=int, default=2000, help="groups that commit all partitions per trigger")
    parser.add_argument("--shards", type=int, default=256, help="job.shards")
    parser.add_argument("--driver-memory", default="4g", help="job.driver_memory")
    parser.add_argument("--quick", action="store_true", help=f"only {_QUICK:,} groups")
    return parser.parse_args()


def _say(what: str, began: float) -> None:
    print(f"[{time.monotonic() - began:4.0f} s] {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
