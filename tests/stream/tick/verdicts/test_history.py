"""The verdict history: which changes are recorded, counted, logged and stored."""

import dataclasses
from typing import Any, cast

import numpy as np
import pytest
import structlog

from exporters.readmodel import VerdictChange
from stream.health.evaluator import EvaluationResult
from stream.health.verdict import CODE, SEVERITIES, VERDICTS, Verdict
from stream.tick.verdicts.store import VerdictHistory

V = Verdict


@dataclasses.dataclass
class Names:
    """A window of which only the names of groups are read."""

    names: list[str]

    @property
    def window(self) -> Any:
        return self

    inputs = groups = window


class FakeEvaluation(Names):
    """An evaluation with given verdicts."""

    verdict_names = VERDICTS
    severities = SEVERITIES

    def __init__(self, **verdicts: Verdict) -> None:
        super().__init__(list(verdicts))
        self.group_verdict = np.array([CODE[each] for each in verdicts.values()], np.int8)

    def group_sentence(self, group: int) -> str:
        return f"{self.names[group]} is {VERDICTS[self.group_verdict[group]]}"


def record(history: VerdictHistory, now: float, dead: tuple[str, ...] = (), **verdicts: Verdict) -> None:
    """Record these verdicts at `now`."""
    alive = np.array([name not in dead for name in verdicts], np.bool_)
    history.record(cast("EvaluationResult", FakeEvaluation(**verdicts)), alive, now)


STORIES: list[tuple[str, list[Verdict], list[tuple[str | None, str]], dict[str, int]]] = [
    ("always unknown", [V.UNKNOWN, V.UNKNOWN], [], {}),
    ("fine from the start", [V.UNKNOWN, V.OK, V.OK], [(None, "ok")], {}),
    ("stopped from the start", [V.UNKNOWN, V.STOPPED], [(None, "stopped")], {}),
    ("changes between fine verdicts", [V.OK, V.CAUGHT_UP, V.OK, V.CAUGHT_UP], [(None, "ok")], {}),
    (
        "stopped and recovered",
        [V.OK, V.CAUGHT_UP, V.STOPPED, V.STOPPED, V.OK],
        [(None, "ok"), ("caught_up", "stopped"), ("stopped", "ok")],
        {"stopped": 1, "ok": 1},
    ),
    (
        "unknown for a while",
        [V.OK, V.UNKNOWN, V.OK],
        [(None, "ok"), ("ok", "unknown"), ("unknown", "ok")],
        {"unknown": 1, "ok": 1},
    ),
]


@pytest.mark.parametrize(("shown", "changes", "counts"), [s[1:] for s in STORIES], ids=[s[0] for s in STORIES])
def test_recorded_changes(shown: list[Verdict], changes: list[tuple[str | None, str]], counts: dict[str, int]) -> None:
    """The first verdict of a group is in its history, but not counted."""
    history = VerdictHistory(9)
    for second, verdict in enumerate(shown):
        record(history, second, g=verdict)
    assert [(each.before, each.verdict) for each in history.changes_of("g")] == changes
    assert all(each.sentence == f"g is {each.verdict}" for each in history.changes_of("g"))
    assert {verdict: count for verdict, count in history.counts.items() if count} == counts
    assert set(history.counts) == set(VERDICTS), "every counter starts at zero"


def test_stored_changes_are_continued() -> None:
    """A restart is no change; a new verdict after the downtime is a change."""
    stored = {"g": [VerdictChange(1, None, "ok", "."), VerdictChange(2, "ok", "stopped", ".")]}
    history = VerdictHistory(9, stored)
    record(history, 50, g=V.STOPPED)
    assert list(history.changes_of("g")) == stored["g"]
    record(history, 60, g=V.OK)
    assert history.changes_of("g")[-1] == VerdictChange(60, "stopped", "ok", "g is ok")
    assert history.counts["ok"] == 1


def test_dead_groups_have_no_changes_and_removed_groups_no_history() -> None:
    """A dead group keeps its history while it is shown."""
    history = VerdictHistory(9)
    record(history, 1, g=V.STOPPED, h=V.OK)
    record(history, 2, dead=("g",), g=V.UNKNOWN, h=V.OK)
    assert [each.verdict for each in history.changes_of("g")] == ["stopped"]
    record(history, 3, h=V.OK)
    assert (history.changes_of("g"), list(history.changes)) == ((), ["h"])


def test_many_changes_at_once_make_few_log_lines() -> None:
    """A recovered broker changes all groups at once: twenty are logged by name, the others as a number."""
    history = VerdictHistory(9)
    names = [f"g{number}" for number in range(50)]
    with structlog.testing.capture_logs() as lines:
        record(history, 1, **dict.fromkeys(names, V.OK))
    assert lines == [], "the first verdict is not logged"
    with structlog.testing.capture_logs() as lines:
        record(history, 2, **dict.fromkeys(names, V.STOPPED))
    assert [line["event"] for line in lines] == ["verdict changed"] * 20 + ["more verdicts changed"]
    assert lines[-1]["groups"] == 30
