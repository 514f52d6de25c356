"""The screens of the demo that the picture shows."""

from __future__ import annotations

import pytest

from deploy.chart.tools import ToolsUnreachableError
from sandbox.demo.picture.frames import DONE, TABLE, ScreenFrame, TextRun, chosen, findings, screens
from sandbox.demo.picture.recording import TerminalRecording


def table(at: float, color: str = "green", verdict: str = "ok", *, complete: bool = True) -> ScreenFrame:
    """Return a screen with the live table: one group and its verdict."""
    rows = [(TextRun(0, TABLE),), (TextRun(0, "│ payments │ 12 │"), TextRun(19, verdict, color))]
    if complete:
        rows.append((TextRun(0, "└──┘"),))
    return ScreenFrame(tuple(rows), at)


def step(at: float, text: str) -> ScreenFrame:
    """Return a screen without a table."""
    return ScreenFrame(((TextRun(0, text),),), at)


def test_each_step_of_the_start_is_shown_once() -> None:
    """A screen that repeats the one before it adds nothing."""
    assert [frame.at for frame in chosen([step(0, "a"), step(1, "a"), step(2, "a b")])] == [0, 2]


def test_parts_of_one_output_are_one_frame() -> None:
    """A screen that another one follows within a moment is not shown."""
    assert [frame.at for frame in chosen([step(0, "a"), step(0.1, "a b"), step(2, "a b c")])] == [0.1, 2]


def test_a_table_is_shown_when_its_findings_change() -> None:
    """Other numbers and verdicts of healthy groups make no frame. A new finding makes one."""
    run = [table(0), table(5, verdict="caught up"), table(10, "red", "stopped"), table(15, "red", "stopped")]
    assert [frame.at for frame in chosen(run)] == [0, 10]
    assert findings(run[2]) == [("payments", "stopped")]


def test_findings_that_change_fast_share_a_frame() -> None:
    """A reader needs time for a table, so the next table is shown some seconds later."""
    assert [frame.at for frame in chosen([table(0), table(2, "red", "stopped"), table(6, "red", "stalled")])] == [0, 6]


def test_a_table_with_unchanged_findings_is_shown_again() -> None:
    """A table with the same findings makes a frame every half minute."""
    assert [frame.at for frame in chosen([table(at) for at in range(0, 70, 10)])] == [0, 30, 60]


def test_an_incomplete_table_is_not_shown() -> None:
    """A table without its last line makes no frame: the live table is written in parts."""
    assert [frame.at for frame in chosen([table(0, complete=False), table(1)])] == [1]


def test_the_end_is_shown_longest() -> None:
    """The comparison with Kafka's tool is the last frame and is shown longest, even below the table."""
    frames = chosen([table(0), ScreenFrame((*table(1).lines, (TextRun(0, DONE),)), 1)])
    assert [frame.at for frame in frames] == [0, 1]
    assert frames[1].shown > frames[0].shown


@pytest.mark.long
def test_screens_are_those_of_a_terminal() -> None:
    """Movements of the cursor, erased lines, colours and bold text are applied."""
    recording = TerminalRecording(
        20, 3, ((0.5, "one\r\ntwo"), (1.5, "\r\x1b[2K\x1b[1A\x1b[2Ka  \x1b[1;31mb c\x1b[0m d"))
    )
    try:
        first, second = screens(recording)
    except ToolsUnreachableError as error:
        pytest.skip(str(error))
    assert (first.text, first.at) == ("one\ntwo", 0.5)
    assert second.lines[0] == (TextRun(0, "a"), TextRun(3, "b c", "red", bold=True), TextRun(7, "d"))
