"""How verdicts change: what is a change, what is counted, what is said, and how much is kept."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
import structlog

from exporters.readmodel import VerdictChange
from stream.health.verdict import CODE, SEVERITIES, VERDICTS, Verdict
from stream.tick.verdicts.history import VerdictHistory

if TYPE_CHECKING:
    from stream.health.evaluation import Evaluation

V = Verdict


@dataclasses.dataclass
class Names:
    """Stands for a window and what it was seen in, of which only the names of groups are asked."""

    names: list[str]

    @property
    def window(self) -> Any:
        """See Opinion."""
        return self

    inputs = groups = window


class Said(Names):
    """An opinion on groups."""

    verdict_names = VERDICTS
    severities = SEVERITIES

    def __init__(self, **verdicts: Verdict) -> None:
        super().__init__(list(verdicts))
        self.group_verdict = np.array([CODE[each] for each in verdicts.values()], np.int8)

    def group_sentence(self, group: int) -> str:
        """Give a sentence that is known again."""
        return f"{self.names[group]} is {VERDICTS[self.group_verdict[group]]}"


def note(history: VerdictHistory, now: float, dead: tuple[str, ...] = (), **verdicts: Verdict) -> None:
    """Let these verdicts be shown at a moment."""
    alive = np.array([name not in dead for name in verdicts], np.bool_)
    history.record(cast("Evaluation", Said(**verdicts)), alive, now)


STORIES: list[tuple[str, list[Verdict], list[tuple[str | None, str]], dict[str, int]]] = [
    ("never known", [V.UNKNOWN, V.UNKNOWN], [], {}),
    ("fine from the start on", [V.UNKNOWN, V.OK, V.OK], [(None, "ok")], {}),
    ("sick from the start on", [V.UNKNOWN, V.STOPPED], [(None, "stopped")], {}),
    ("turns of fine verdicts", [V.OK, V.CAUGHT_UP, V.OK, V.CAUGHT_UP], [(None, "ok")], {}),
    (
        "sick, and well again",
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
def test_what_is_a_change(shown: list[Verdict], changes: list[tuple[str | None, str]], counts: dict[str, int]) -> None:
    """Each story leaves its changes; what a group begins with is in its history, and counted nowhere."""
    history = VerdictHistory(9)
    for second, verdict in enumerate(shown):
        note(history, second, g=verdict)
    assert [(each.before, each.verdict) for each in history.changes_of("g")] == changes
    assert all(each.sentence == f"g is {each.verdict}" for each in history.changes_of("g"))
    assert {verdict: count for verdict, count in history.counts.items() if count} == counts
    assert set(history.counts) == set(VERDICTS), "every counter begins at zero"


def test_the_newest_are_kept() -> None:
    """As many as asked for, oldest first."""
    history = VerdictHistory(2)
    for second, verdict in enumerate([V.OK, V.STOPPED, V.OK, V.STALLED]):
        note(history, second, g=verdict)
    assert [(each.time, each.verdict) for each in history.changes_of("g")] == [(2, "ok"), (3, "stalled")]


def test_it_goes_on_from_what_was_kept() -> None:
    """A restart is no change, and a change while nobody watched is one."""
    kept = {"g": [VerdictChange(1, None, "ok", "."), VerdictChange(2, "ok", "stopped", ".")]}
    history = VerdictHistory(9, kept)
    note(history, 50, g=V.STOPPED)
    assert list(history.changes_of("g")) == kept["g"]
    note(history, 60, g=V.OK)
    assert history.changes_of("g")[-1] == VerdictChange(60, "stopped", "ok", "g is ok")
    assert history.counts["ok"] == 1


def test_of_the_dead_nothing_is_noted_and_of_the_gone_nothing_kept() -> None:
    """A dead group keeps its history while it is shown; then its name is free."""
    history = VerdictHistory(9)
    note(history, 1, g=V.STOPPED, h=V.OK)
    note(history, 2, dead=("g",), g=V.UNKNOWN, h=V.OK)
    assert [each.verdict for each in history.changes_of("g")] == ["stopped"]
    note(history, 3, h=V.OK)
    assert (history.changes_of("g"), list(history.changes)) == ((), ["h"])


def test_many_changes_at_once_make_few_lines() -> None:
    """A broker that comes back turns all groups at once: twenty are told, the others counted."""
    history = VerdictHistory(9)
    names = [f"g{number}" for number in range(50)]
    with structlog.testing.capture_logs() as lines:
        note(history, 1, **dict.fromkeys(names, V.OK))
    assert lines == [], "what a group begins with is no news"
    with structlog.testing.capture_logs() as lines:
        note(history, 2, **dict.fromkeys(names, V.STOPPED))
    assert [line["event"] for line in lines] == ["verdict changed"] * 20 + ["more verdicts changed"]
    assert lines[-1]["groups"] == 30
