"""`python -m bench.incidents`: `record` makes a recording, `scores` holds logs of verdicts against one.

`burrow` writes the log of Burrow's rules from capture and offsets only, as an example of a monitor that runs offline.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.incidents import files
from bench.incidents.files import case_table, recorded_scores, total_table
from bench.incidents.labels import load_labels
from bench.incidents.recording import burrow_rows, record
from bench.incidents.score import CAUSES, FORMATS, VerdictLogError, write_log
from sandbox.verdict_scenarios.assess import outcomes
from sandbox.verdict_scenarios.burrow import burrow_outcomes
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.report import summary, write_page
from sandbox.verdict_scenarios.scenario import END

RECORDED: Final = Path(__file__).parent / "data"
"""The recording of the repository."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns 1 when a group of a new recording got a wrong or late verdict, 2 for an unreadable log."""
    given = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return int(given.command(given))
    except VerdictLogError as error:
        print(error, file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.incidents", description=__doc__)
    commands = parser.add_subparsers(required=True)
    recording = commands.add_parser("record", help="run all verdict scenarios and replace the recording")
    recording.set_defaults(command=_record)
    recording.add_argument("folder", type=Path)
    recording.add_argument("--report", type=Path, metavar="FILE", help="write the page about the verdicts to this file")
    recording.add_argument("--run", type=Path, metavar="FILE", help="write the record of the run to this file")
    recording.add_argument("--only", nargs="*", metavar="NAME", help="run only these scenarios")
    recording.add_argument("--end", type=float, default=END, metavar="SECONDS", help="end of the run, in its seconds")
    scores = commands.add_parser("scores", help="print the scores of the logs in a recording, and of one more")
    scores.set_defaults(command=_scores)
    scores.add_argument("folder", type=Path, nargs="?", default=RECORDED)
    scores.add_argument("--log", type=Path, metavar="FILE", help="a log of verdicts")
    scores.add_argument(
        "--format", default=CAUSES, help=f"what its verdicts claim: {', '.join(FORMATS)}, or a JSON file"
    )
    scores.add_argument("--cases", action="store_true", help="print each group as well")
    burrow = commands.add_parser("burrow", help="write the log of Burrow's rules, from capture and offsets")
    burrow.set_defaults(command=_burrow)
    burrow.add_argument("log", type=Path)
    burrow.add_argument("folder", type=Path, nargs="?", default=RECORDED)
    return parser


def _record(given: argparse.Namespace) -> int:
    scenarios = [each for each in SCENARIOS if not given.only or each.name in given.only]
    run = record(scenarios, given.folder, lambda line: print(line, flush=True), given.end)
    found = outcomes(scenarios, run)
    if given.run:
        run.save(given.run)
    if given.report:
        write_page(given.report, found, burrow_outcomes(scenarios, run), run)
    print(f"{summary(found, run)}\n\n{total_table(recorded_scores(given.folder))}")
    labelled = {each.case for each in load_labels(given.folder / files.LABELS).groups}
    missing = [each.name for each in scenarios if each.name not in labelled]
    if missing:
        print(f"without a label, because the run did not produce their fault: {', '.join(missing)}")
    return 0 if all(each.good for each in found) else 1


def _scores(given: argparse.Namespace) -> int:
    scores = recorded_scores(given.folder, [(given.log.stem, given.log, given.format)] if given.log else [])
    print(total_table(scores))
    if given.cases:
        print(f"\n{case_table(scores, load_labels(given.folder / files.LABELS))}")
    return 0


def _burrow(given: argparse.Namespace) -> int:
    write_log(given.log, burrow_rows(given.folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
