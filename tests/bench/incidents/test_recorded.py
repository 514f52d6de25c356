"""The committed recording is complete, its scores follow from its files, and a monitor can read it."""

from pathlib import Path
from typing import Final

import pytest

from bench.incidents import files
from bench.incidents.__main__ import RECORDED, main
from bench.incidents.files import recorded_scores, scores_page
from bench.incidents.score import FORMATS, HEADER

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
