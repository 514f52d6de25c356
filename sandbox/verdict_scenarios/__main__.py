"""Runs and assesses all verdict scenarios: `python -m sandbox.verdict_scenarios --report docs/verdicts.md`.

The environment variable PLAY_STRETCH makes a run slower (`pace`).
"""

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sandbox.verdict_scenarios import record
from sandbox.verdict_scenarios.assess import outcomes
from sandbox.verdict_scenarios.burrow import burrow_outcomes
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.report import summary, write_page
from sandbox.verdict_scenarios.runner import run_scenarios
from sandbox.verdict_scenarios.scenario import END


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, or load a record, and report. Returns the exit code: 1 where a verdict is missing, late or false."""
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.verdict_scenarios", description="compare verdicts with those expected of real groups"
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write the totals to this file; default: print a summary",
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the record of the run to this file")
    parser.add_argument("--again", type=Path, metavar="FILE", help="assess this record instead of running")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="run only these scenarios")
    parser.add_argument("--end", type=float, default=END, metavar="SECONDS", help="end of the run, in its seconds")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.again:
        recorded = record.load(options.again)
        scenarios = [each for each in SCENARIOS if each.name in recorded.groups]
    else:
        scenarios = [each for each in SCENARIOS if not options.only or each.name in options.only]
        with tempfile.TemporaryDirectory(prefix="lagwarden-verdicts-") as folder:
            recorded = run_scenarios(scenarios, Path(folder), lambda line: print(line, flush=True), options.end)
    if options.record:
        recorded.save(options.record)
    found = outcomes(scenarios, recorded)
    if options.report:
        write_page(options.report, found, burrow_outcomes(scenarios, recorded), recorded)
    print(summary(found, recorded))
    return 0 if all(each.good for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
