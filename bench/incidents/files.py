"""The files of a recording: its capture, its offsets over time, its labels and its logs of verdicts."""

import csv
import gzip
import io
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.incidents.labels import RecordingLabels, load_labels
from bench.incidents.score import CAUSES, GroupScore, causes_of, read_log, score
from bench.report import table
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.record import RecordedEnds, RunRecord, commits_of
from stream.offline.capture import CaptureFile

CAPTURE: Final = "offsets.avro"
ENDS: Final = "ends.csv.gz"
LABELS: Final = "labels.json"
LOGS: Final = "logs"
LAGWARDEN_LOG: Final = f"{LOGS}/lagwarden.csv"
BURROW_LOG: Final = f"{LOGS}/burrow.csv"
SCORES: Final = "scores.md"
FILES: Final = (CAPTURE, ENDS, LABELS, LAGWARDEN_LOG, BURROW_LOG, SCORES)
_COLUMNS: Final = ("time", "topic", "partition", "log_start_offset", "last_stable_offset", "high_watermark")


def write_ends(file: Path, looks: Iterable[RecordedEnds]) -> None:
    """Write a row per partition and look; an unknown offset is empty. A look without an answer has no row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for look in looks:
        kinds = (look.starts, look.stable, look.offsets)
        known = [{(topic, partition): offset for topic, partition, offset in each} for each in kinds]
        for place in sorted({place for offsets in known for place in offsets}):
            writer.writerow((f"{look.time:.3f}", *place, *(offsets.get(place, "") for offsets in known)))
    # Without a name and a time in the header: the same offsets give the same bytes.
    with file.open("wb") as target, gzip.GzipFile("", "wb", fileobj=target, mtime=0) as packed:
        packed.write(text.getvalue().encode())


def read_ends(file: Path) -> list[RecordedEnds]:
    """Return the offsets of each look, in order of time."""
    looks: dict[str, RecordedEnds] = {}
    with gzip.open(file, "rt", newline="") as source:
        reader = csv.reader(source)
        next(reader)
        for time, topic, partition, *offsets in reader:
            look = looks.setdefault(time, RecordedEnds(float(time), []))
            for known, offset in zip((look.starts, look.stable, look.offsets), offsets, strict=True):
                if offset:
                    known.append((topic, int(partition), int(offset)))
    return list(looks.values())


def read_run(folder: Path) -> RunRecord:
    """Return what a monitor could know of a recorded run: commits and offsets, without any verdict or mark."""
    labels = load_labels(folder / LABELS)
    return RunRecord(
        began=labels.began,
        ended=labels.ended,
        groups={each.case: each.group for each in labels.groups},
        marks={},
        snapshots=[],
        ends=read_ends(folder / ENDS),
        commits=list(commits_of(CaptureFile(folder / CAPTURE).rows())),
        stretch=pace.FASTER / labels.faster,
    )


Scores = tuple[GroupScore, ...]
_LOGS: Final = (("lagwarden", LAGWARDEN_LOG, CAUSES), ("Burrow's rules", BURROW_LOG, "burrow"))
_HEAD: Final = """\
# Scores

<!-- Written by `python -m bench.incidents record`; do not edit. -->

Delays are seconds of production. The [README](../README.md) says what each line counts.

"""


def recorded_scores(folder: Path, logs: Sequence[tuple[str, Path, str]] = ()) -> Mapping[str, Scores]:
    """Return the scores by name of the logs in a recording and of further `logs` (name, file, format).

    Raises VerdictLogError.
    """
    labels = load_labels(folder / LABELS)
    recorded = [(name, folder / file, kind) for name, file, kind in _LOGS]
    return {name: score(labels, read_log(file), causes_of(kind)) for name, file, kind in (*recorded, *logs)}


def scores_page(folder: Path) -> str:
    """Return the page of the scores of a recording."""
    scores = recorded_scores(folder)
    cases = case_table(scores, load_labels(folder / LABELS))
    return f"{_HEAD}{total_table(scores)}\n\n{cases}\n"


def total_table(scores: Mapping[str, Scores]) -> str:
    """Return the table of totals, with a column per log."""
    columns = [_totals(each) for each in scores.values()]
    return table(("", *scores), [(head, *(column[head] for column in columns)) for head in columns[0]])


def case_table(scores: Mapping[str, Scores], labels: RecordingLabels) -> str:
    """Return the table of all groups: the delays of a sick one, and the false alarms of each."""
    rows = [
        (label.case, label.fate, "/".join(label.faults[-1].causes) if label.faults else "-", *map(_case, each))
        for label, *each in zip(labels.groups, *scores.values(), strict=True)
    ]
    return table(("case", "fate", "cause", *scores), rows)


def _totals(scores: Scores) -> dict[str, str]:
    sick = [each for each in scores if each.label.fate == "sick"]
    healthy = [each for each in scores if each.label.fate == "healthy"]
    delays = [each.delay for each in sick if each.delay is not None]
    cause_delays = [each.cause_delay for each in sick if each.cause_delay is not None]
    return {
        f"sick groups found (of {len(sick)})": str(len(delays)),
        "delay, median": _seconds(statistics.median(delays) if delays else None),
        "delay, worst": _seconds(max(delays, default=None)),
        "exact cause named": str(len(cause_delays)),
        "delay of the exact cause, median": _seconds(statistics.median(cause_delays) if cause_delays else None),
        "delay of the exact cause, worst": _seconds(max(cause_delays, default=None)),
        f"healthy groups with a false alarm (of {len(healthy)})": _count(healthy),
        "sick groups with an alarm before the fault or after it": _count(sick),
        "sick groups with an untrue cause": str(sum(bool(each.untrue) for each in sick)),
    }


def _count(scores: Iterable[GroupScore]) -> str:
    return str(sum(bool(each.false_alarms) for each in scores))


def _case(score: GroupScore) -> str:
    found = f"{_seconds(score.delay)}, cause {_seconds(score.cause_delay)}" if score.found else "not found"
    parts = [found] if score.label.faults else []
    if score.false_alarms:
        count = len(score.false_alarms)
        parts.append(f"{count} false alarm{'s' * (count > 1)}")
    if score.untrue:
        parts.append(f"untrue: {', '.join(dict.fromkeys(each.verdict for each in score.untrue))}")
    return "; ".join(parts) or "no alarm"


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.0f} s"
