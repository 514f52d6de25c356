"""Runs and assesses all verdict scenarios: `python -m sandbox.verdict_scenarios --report docs/verdicts.md`."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.verdict_scenarios import record
from sandbox.verdict_scenarios.assess import outcomes
from sandbox.verdict_scenarios.burrow import burrow_outcomes
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.report import page, summary
from sandbox.verdict_scenarios.runner import run_scenarios
from sandbox.verdict_scenarios.scenario import END

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Play (or read a play on record) and report. Gives the exit code: 1 where a verdict is late, wrong or in vain."""
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.verdict_scenarios", description="the proof of the verdicts"
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="where the page goes; else only sums are printed")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep the play there, to be judged again")
    parser.add_argument("--again", type=Path, metavar="FILE", help="judge this record instead of playing")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="play these scenarios")
    parser.add_argument("--end", type=float, default=END, metavar="SECONDS", help="when the play ends")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.again:
        played = record.load(options.again)
        scenarios = [each for each in SCENARIOS if each.name in played.groups]
    else:
        scenarios = [each for each in SCENARIOS if not options.only or each.name in options.only]
        with tempfile.TemporaryDirectory(prefix="lagwarden-verdicts-") as folder:
            played = run_scenarios(scenarios, Path(folder), lambda said: print(said, flush=True), options.end)
    if options.record:
        played.save(options.record)
    found = outcomes(scenarios, played)
    if options.report:
        options.report.write_text(page(found, burrow_outcomes(scenarios, played), played))
    print(summary(found))
    return 0 if all(each.good for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
