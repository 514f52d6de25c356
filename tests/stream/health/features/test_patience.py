"""The time that groups may leave records unread."""

import dataclasses

import numpy as np

from stream.groups.commits.slots import Slots
from stream.health.columns import Ints
from stream.health.features.end_history import EndHistory
from stream.health.features.patience import (
    Patience,
    learn_patience,
    longest_wait,
    sibling_patience,
    transaction_patience,
)
from stream.health.inputs import NO_COMMIT
from stream.health.limits import HealthLimits
from tests.stream.health.columns import ints
from tests.stream.health.panes import MINUTE, NOW, SECOND, Row, pane
from tests.stream.health.tables import wrong

LIMITS = HealthLimits()
TICK = LIMITS.tick


def commits_every(minutes: float) -> Slots:
    time = NOW - int(minutes * MINUTE) * np.arange(5, -1, -1)
    return Slots(np.zeros(len(time), np.int64), time // LIMITS.slot, time, time, np.ones(len(time), np.int64))


def history() -> EndHistory:
    """Return a history of one row without ends."""
    made = EndHistory()
    made.grow(1)
    return made


def waits(slots: Slots, width: int = LIMITS.slot) -> Ints:
    """Return the longest wait of one row."""
    return longest_wait(slots, 1, history(), ints(0), width)


def test_a_suspect_has_the_patience_of_its_commits() -> None:
    """The patience is learned from slots; a default applies without slots."""
    stories = {
        "twice its longest wait and a tick": (Row(), 2, ([4 * MINUTE + TICK], [False])),
        "no commit yet": (Row(committed=NO_COMMIT), 0, ([LIMITS.first_commit_grace], [False])),
        "one commit and no siblings": (Row(commits=1), 0, ([LIMITS.unlearned], [True])),
    }

    def patience(row: Row, minutes: int) -> tuple[list[int], list[bool]]:
        slots = commits_every(minutes) if minutes else Slots.empty()
        inputs = dataclasses.replace(pane(row).inputs, slots=slots)
        if not minutes:
            inputs = dataclasses.replace(inputs, spans=dataclasses.replace(inputs.spans, commits=ints(1)))
        found = learn_patience(inputs, history(), LIMITS, ints(0), ints(0), waits(slots))
        return found.time.tolist(), found.is_default.tolist()

    assert wrong(stories, patience) == []


def test_any_group_may_pause() -> None:
    """A group may pause however often it commits; a group that commits rarely may pause for its patience."""
    for minutes, pause in ((1 / 60, LIMITS.pause + SECOND), (2, 4 * MINUTE + TICK)):
        inputs = dataclasses.replace(pane(Row()).inputs, slots=commits_every(minutes))
        limits = dataclasses.replace(LIMITS, slot=SECOND)
        found = learn_patience(inputs, history(), limits, ints(0), ints(0), waits(inputs.slots, SECOND))
        assert found.longest_pause.tolist() == [pause]


def test_static_members_may_be_away_for_longer() -> None:
    """The coordinator notices that a static member has left only after the session timeout."""
    window = pane(Row(topic="a"))
    groups = dataclasses.replace(window.inputs.groups, static=np.array([True]))
    inputs = dataclasses.replace(window.inputs, groups=groups)
    time = NOW - SECOND * np.arange(5, -1, -1)
    slots = Slots(np.zeros(6, np.int64), np.arange(6), time, time, np.full(6, 9))
    assert learn_patience(inputs, history(), LIMITS, ints(0), ints(0), waits(slots)).time.tolist() == [
        LIMITS.static_restart_grace
    ]


def test_sibling_patience() -> None:
    """A row without progress gets the longest patience of the partitions of its topic."""
    stories = {
        "patience of the sibling": (2 * MINUTE, 2 * MINUTE),
        "at least the time of a restart": (SECOND, LIMITS.restart_grace),
        "at most the default": (60 * MINUTE, LIMITS.unlearned),
        "no sibling with a known patience": (-1, LIMITS.unlearned),
    }
    window = pane(Row(), Row(), Row(group="other"))
    spans = dataclasses.replace(window.inputs.spans, first_time=window.inputs.spans.reached_time - ints(9, 0, 9))
    inputs = dataclasses.replace(window.inputs, spans=spans)
    for story, (known, patience) in stories.items():
        found = sibling_patience(inputs, ints(known, -1, -1), LIMITS).tolist()
        assert (story, found) == (story, [patience, patience, LIMITS.unlearned])


def test_transaction_patience() -> None:
    """The time that a transaction may be open follows from earlier ones, else from the group or a default."""
    stories = {
        "patience of the row": (5 * MINUTE, False, 0, 5 * MINUTE),
        "default patience": (LIMITS.unlearned, True, 0, LIMITS.transaction + TICK),
        "at least a pause": (20 * SECOND, False, 0, LIMITS.pause),
        "twice the longest earlier transaction": (20 * SECOND, False, 2 * MINUTE, 4 * MINUTE + TICK),
        "at most ten minutes": (20 * SECOND, False, 60 * MINUTE, LIMITS.unlearned),
    }

    def patience(own: int, is_default: bool, earlier: int) -> int:  # noqa: FBT001 - a table
        known = Patience(ints(own), np.array([is_default]), ints(max(own, LIMITS.pause)))
        return int(transaction_patience(known, ints(earlier), LIMITS)[0])

    assert wrong(stories, patience) == []
