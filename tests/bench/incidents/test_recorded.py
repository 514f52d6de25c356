"""The committed recording is complete, its scores follow from its files, and a monitor can read it."""

import collections
from pathlib import Path
from typing import Final

import pytest

from bench.incidents import files
from bench.incidents.__main__ import RECORDED, main
from bench.incidents.files import read_run
from bench.incidents.labels import load_labels
from bench.incidents.recording import write_recording
from bench.incidents.tables import recorded_scores, scores_page
from bench.incidents.verdict_log import ALARMING, FORMATS, HEADER, read_log
from sandbox.verdict_scenarios.everything import SCENARIOS
from sandbox.verdict_scenarios.offsets_log import commits_of
from sandbox.verdict_scenarios.record import GroupVerdict, RunRecord, VerdictSnapshot
from stream.health.verdict import Verdict
from stream.offline.capture import CaptureFile
from stream.offline.rows import OFFSETS_TOPIC

LARGEST: Final = 3 << 20
"""Bytes that all files may have."""


def test_scores_and_burrows_log_follow_from_the_files(tmp_path: Path) -> None:
    """scores.md is the scorer's output. The files are enough for a monitor: Burrow's rules give the same log."""
    assert (RECORDED / files.SCORES).read_text() == scores_page(RECORDED)
    assert main(["burrow", str(tmp_path / "burrow.csv"), str(RECORDED)]) == 0
    assert (tmp_path / "burrow.csv").read_text() == (RECORDED / files.BURROW_LOG).read_text()


def test_the_recording_has_all_its_files_and_is_small() -> None:
    """The folder has exactly the files of a recording and a license, of less than 3 MiB together."""
    found = {str(path.relative_to(RECORDED)): path.stat().st_size for path in RECORDED.rglob("*") if path.is_file()}
    assert found.keys() == {*files.FILES, "LICENSE"}
    assert sum(found.values()) < LARGEST


def test_the_capture_is_whole_and_in_log_order() -> None:
    """The capture has only records of the offsets topic, each record once, and those of a partition in log order."""
    capture = CaptureFile(RECORDED / files.CAPTURE)
    rows = list(capture.rows())
    assert not capture.problems
    assert {row.topic for row in rows} == {OFFSETS_TOPIC}
    offsets = collections.defaultdict(list)
    for row in rows:
        offsets[row.partition].append(row.offset)
    for each in offsets.values():
        assert each == sorted(set(each))


def test_every_labelled_group_has_commits_and_offsets_of_its_topics() -> None:
    """Each group has commits, and its topics have offsets. No log start is above its end offset."""
    run, labels = read_run(RECORDED), load_labels(RECORDED / files.LABELS)
    groups = {each.group for each in run.commits}
    seen = {topic for look in run.ends for topic, _, _ in look.offsets}
    for label in labels.groups:
        assert label.group in groups
        assert set(label.topics) <= seen
    for look in run.ends:
        starts, stable, ends = (
            {place[:2]: place[2] for place in each} for each in (look.starts, look.stable, look.offsets)
        )
        assert starts.keys() == stable.keys() == ends.keys()
        assert (OFFSETS_TOPIC, 0) in ends
        assert all(starts[place] <= ends[place] for place in ends)


def test_the_labels_have_both_fates_and_are_within_the_run() -> None:
    """No fault is knowable before it begins, and each healthy phase is before the faults or after the recovery.

    Only a group whose fault begins in the first ten seconds has no healthy phase.
    """
    labels = load_labels(RECORDED / files.LABELS)
    assert {each.fate for each in labels.groups} == {"sick", "healthy"}
    for label in labels.groups:
        assert label.healthy or label.faults[0].began < labels.began + 10
        for fault in label.faults:
            assert labels.began < fault.began <= fault.knowable < labels.ended
            assert set(fault.causes) <= set(Verdict)
        for since, until in label.healthy:
            assert labels.began <= since < until <= labels.ended
            recovered = label.recovered is not None and label.recovered <= since
            assert recovered or all(until <= fault.began for fault in label.faults)


def test_lagwarden_names_more_causes_and_has_no_more_false_alarms() -> None:
    """Lagwarden names at least 90 % of the causes, more than Burrow's rules, with false alarms in no more groups."""
    scores = recorded_scores(RECORDED)
    lagwarden, burrow = scores["lagwarden"], scores["Burrow's rules"]
    sick = [each for each in lagwarden if each.label.fate == "sick"]
    assert sum(each.exact for each in lagwarden) >= 0.9 * len(sick)
    assert sum(each.exact for each in lagwarden) > sum(each.exact for each in burrow)
    assert sum(bool(each.false_alarms) for each in lagwarden) <= sum(bool(each.false_alarms) for each in burrow)


@pytest.mark.parametrize("name", FORMATS)
def test_a_log_is_scored_beside_the_recorded_ones(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log's name is a column. A log without alarms finds nothing, without false alarms. A wrong log is an error."""
    log = tmp_path / "calm.csv"
    log.write_text("time,group,partition,verdict,severity\n")
    assert main(["scores", str(RECORDED), "--log", str(log), "--format", name, "--cases"]) == 0
    lines = [[cell.strip() for cell in line.split("|")] for line in capsys.readouterr().out.splitlines()]
    assert lines[0][-2] == "calm"
    found = [line[-2] for line in lines if line[1:2] and line[1].startswith(("sick groups found", "healthy"))]
    assert found == ["0", "0"]
    log.write_text("time;group\n")
    assert main(["scores", "--log", str(log)]) == 2
    assert capsys.readouterr().err == f"{log}: the first line must be {','.join(HEADER)}\n"


def test_a_run_is_written_as_a_recording(tmp_path: Path) -> None:
    """Labels, offsets, logs and scores of a run are written beside its capture. Lagwarden's log has severities."""
    capture = tmp_path / files.CAPTURE
    capture.write_bytes((RECORDED / files.CAPTURE).read_bytes())
    recorded = read_run(RECORDED)
    steady = next(each for each in SCENARIOS if each.name == "steady")
    shown = GroupVerdict("stopped", "critical")
    run = RunRecord(
        recorded.began,
        recorded.ended,
        {"steady": recorded.groups["steady"]},
        {},
        [VerdictSnapshot(recorded.began + 50, {recorded.groups["steady"]: shown})],
        recorded.ends,
        list(commits_of(CaptureFile(capture).rows())),
    )
    write_recording(tmp_path, [steady], run)
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == set(files.FILES)
    (row,) = read_log(tmp_path / files.LAGWARDEN_LOG)
    assert (row.verdict, row.severity) == ("stopped", "critical")
    assert row.severity in ALARMING
    assert recorded_scores(tmp_path)["lagwarden"][0].false_alarms
