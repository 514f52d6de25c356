"""Makes a recording: runs the verdict scenarios once and writes all files of it."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from bench.incidents import files
from bench.incidents.files import scores_page
from bench.incidents.labels import label_run
from bench.incidents.score import VerdictRow, write_log
from sandbox.verdict_scenarios.assess import verdicts_of
from sandbox.verdict_scenarios.burrow import burrow_statuses
from sandbox.verdict_scenarios.record import RunRecord
from sandbox.verdict_scenarios.runner import run_scenarios
from sandbox.verdict_scenarios.scenario import VerdictScenario
from stream.health.burrow import BurrowStatus
from stream.health.verdict import Severity

_SEVERITIES: Final = {
    BurrowStatus.NOTFOUND: Severity.UNKNOWN,
    BurrowStatus.OK: Severity.FINE,
    BurrowStatus.WARN: Severity.WARNING,
}
"""Of Burrow's statuses that are not critical."""


def record(scenarios: Sequence[VerdictScenario], folder: Path, report: Callable[[str], None], end: float) -> RunRecord:
    """Run the scenarios and replace the recording in `folder`, which changes only when the run has ended."""
    with tempfile.TemporaryDirectory(prefix="lagwarden-incidents-") as scratch:
        new = Path(scratch) / "recording"
        new.mkdir()
        run = run_scenarios(scenarios, Path(scratch), report, end, capture=new / files.CAPTURE)
        write_recording(new, scenarios, run)
        for name in files.FILES:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(new / name, folder / name)
    return run


def write_recording(folder: Path, scenarios: Sequence[VerdictScenario], run: RunRecord) -> None:
    """Write labels, offsets, logs and scores of a run beside its capture."""
    label_run(scenarios, run).save(folder / files.LABELS)
    files.write_ends(folder / files.ENDS, run.ends)
    (folder / files.LOGS).mkdir(exist_ok=True)
    write_log(folder / files.LAGWARDEN_LOG, lagwarden_rows(run))
    write_log(folder / files.BURROW_LOG, burrow_rows(folder))
    (folder / files.SCORES).write_text(scores_page(folder))


def lagwarden_rows(run: RunRecord) -> Iterator[VerdictRow]:
    """Yield lagwarden's verdict on each group of the run in each snapshot."""
    severities = {
        (each.taken_at, name): group.severity for each in run.snapshots for name, group in each.groups.items()
    }
    for group in run.groups.values():
        for each in verdicts_of(run, group):
            yield VerdictRow(each.time, group, "", each.verdict, severities.get((each.time, group), "unknown"))


def burrow_rows(folder: Path) -> Iterator[VerdictRow]:
    """Yield the status by Burrow's rules of each labelled group at each look, from capture and offsets of a recording.

    STOP, STALL and REWIND of its worst partition are shown instead of the group's ERR.
    """
    run = files.read_run(folder)
    groups = set(run.groups.values())
    for group, statuses in burrow_statuses(run).items():
        if group in groups:
            for each in statuses:
                severity = _SEVERITIES.get(BurrowStatus[each.verdict], Severity.CRITICAL)
                yield VerdictRow(each.time, group, "", each.verdict, severity.name.lower())
