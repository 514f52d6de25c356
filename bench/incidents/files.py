"""The files of a recording: its capture, its offsets over time, its labels and its logs of verdicts."""

import csv
import gzip
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from bench.incidents.labels import load_labels
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.offsets_log import commits_of
from sandbox.verdict_scenarios.record import RecordedEnds, RunRecord
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
        known = [_by_place(offsets) for offsets in (look.starts, look.stable, look.offsets)]
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


def _by_place(offsets: Sequence[tuple[str, int, int]]) -> dict[tuple[str, int], int]:
    return {(topic, partition): offset for topic, partition, offset in offsets}
