"""Labels alone score a log of any monitor: found, exact cause, delays, false alarms, untrue causes."""

import json
import re
from pathlib import Path
from typing import Final

import pytest

from bench.incidents.labels import GroupLabel, LabelledFault, RecordingLabels
from bench.incidents.score import GroupScore, score
from bench.incidents.verdict_log import BURROW, VerdictLogError, VerdictRow, causes_of, read_log

SICK: Final = GroupLabel(
    "stops",
    "g",
    "sick",
    "it stops, and later its records are deleted",
    ("g-in",),
    (LabelledFault(("stopped",), 60.0, 63.0), LabelledFault(("losing_data",), 80.0, 81.0)),
    ((10.0, 60.0),),
    ("expiring",),
    None,
)
HEALTHY: Final = GroupLabel("fine", "f", "healthy", "it keeps up", ("f-in",), (), ((10.0, 110.0),), (), None)
LABELS: Final = RecordingLabels(0.0, 120.0, 5.0, 2.0, 240.0, {}, (SICK, HEALTHY))
ALARMS: Final = {"stopped", "losing_data", "no_members", "expiring", "STOP", "WARN"}


def rows(verdicts: dict[float, str], group: str = "g", partition: str = "") -> list[VerdictRow]:
    """Return a log with these verdicts from these times on."""
    return [
        VerdictRow(time, group, partition, verdict, "critical" if verdict in ALARMS else "fine")
        for time, verdict in verdicts.items()
    ]


def of_sick(verdicts: dict[float, str], kind: str = "causes") -> GroupScore:
    """Return the score of the sick group."""
    return score(LABELS, rows(verdicts), causes_of(kind))[0]


DELAYS: Final = [
    # verdicts since second, delay, delay of the cause
    ("both causes one second late", {0: "ok", 64: "stopped", 82: "losing_data"}, 5.0, 5.0),
    ("no delay before a fault is knowable", {0: "ok", 61: "stopped", 81: "losing_data"}, 0.0, 0.0),
    ("only the first cause", {0: "ok", 64: "stopped"}, 5.0, None),
    ("only the last cause", {0: "ok", 83: "losing_data"}, 100.0, 10.0),
    ("an alarm with an untrue cause", {0: "ok", 64: "no_members"}, 5.0, None),
    ("no alarm", {0: "ok"}, None, None),
    ("alarm that ends before the fault", {0: "ok", 40: "stopped", 50: "ok"}, None, None),
    ("alarm that begins before the fault and continues", {0: "ok", 40: "stopped"}, 0.0, None),
]


def test_a_sick_group_is_found_by_any_alarm_and_named_by_its_last_cause() -> None:
    """Delays count from the time when the fault is knowable, in production seconds: five per second of the run.

    A notice with the cause of the fault finds the group. A notice of another verdict finds nothing.
    """
    for story, verdicts, delay, cause_delay in DELAYS:
        found = of_sick(verdicts)
        assert (found.delay, found.cause_delay) == (delay, cause_delay), story
        assert (found.found, found.exact) == (delay is not None, cause_delay is not None), story
    assert score(LABELS, [VerdictRow(64.0, "g", "", "stopped", "notice")], None)[0].delay == 5.0
    assert score(LABELS, [VerdictRow(64.0, "g", "", "other", "notice")], None)[0].delay is None


def test_a_cause_that_is_not_true_of_a_sick_group_is_counted() -> None:
    """Causes of the group's faults, further causes that are true, and causes before the fault are no error."""
    fine = ({64: "stopped"}, {64: "expiring"}, {40: "no_members", 50: "ok"})
    assert [of_sick(verdicts).untrue for verdicts in fine] == [()] * 3
    assert [each.verdict for each in of_sick({64: "no_members"}).untrue] == ["no_members"]


FALSE: Final = [
    ("a healthy group", {0: "ok", 40: "stopped", 50: "ok"}, "f", [(40.0, 50.0)]),
    ("cut to the healthy phase", {0: "stopped", 12: "ok"}, "f", [(10.0, 12.0)]),
    ("after the healthy phase", {0: "ok", 111: "stopped"}, "f", []),
    ("before the fault", {0: "ok", 40: "stopped", 64: "losing_data"}, "g", [(40.0, 60.0)]),
]


def test_an_alarm_in_a_healthy_phase_is_false() -> None:
    """A row is valid until the next one of its group."""
    for story, verdicts, group, alarms in FALSE:
        found = next(each for each in score(LABELS, rows(verdicts, group), None) if each.label.group == group)
        assert [(each.since, each.until) for each in found.false_alarms] == alarms, story


def test_a_group_alarms_while_one_of_its_partitions_does() -> None:
    """A row of one partition does not end the alarm of another."""
    log = [*rows({0: "ok", 64: "stopped"}, partition="t-0"), *rows({0: "ok", 66: "ok"}, partition="t-1")]
    (sick, _) = score(LABELS, log, None)
    assert sick.delay == 5.0


def test_formats_map_verdicts_to_causes(tmp_path: Path) -> None:
    """`burrow` maps STOP to `stopped` and keeps WARN, `alarms` maps nothing to a cause, and a file has its own map."""
    assert of_sick({64: "STOP"}, "burrow").untrue == ()
    assert [each.verdict for each in of_sick({64: "WARN"}, "burrow").untrue] == ["WARN"]
    assert of_sick({64: "STOP"}, "alarms").untrue == ()
    assert of_sick({64: "STOP"}, "alarms").found
    words = tmp_path / "words.json"
    words.write_text(json.dumps({"STOP": "losing_data"}))
    assert of_sick({82: "STOP"}, str(words)).exact
    assert BURROW["STOP"] == "stopped"


def test_a_wrong_row_is_refused_with_its_line(tmp_path: Path) -> None:
    """The error names the file, the line and the fault. The first line must be the header."""
    file, header = tmp_path / "log.csv", "time,group,partition,verdict,severity\n"
    for text, error in (
        (f"{header}soon,g,,ok,fine\n", ", line 2: not a time"),
        (f"{header}1.0,g,ok,fine\n", ", line 2: not a time"),
        (f"{header}1.0,g,,ok,bad\n", ", line 2: severity bad"),
        ("1.0,g,,ok,fine\n", ": the first line must be "),
    ):
        file.write_text(text)
        with pytest.raises(VerdictLogError, match=f"^{re.escape(str(file))}{error}"):
            read_log(file)
