"""Commits that go forward past records: which of them skip records, which are planned, and what is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream.health.evaluator import Evaluator
from stream.health.limits import HealthLimits
from stream.health.verdict import Verdict
from tests.stream.health.simulator import (
    HOUR,
    MINUTE,
    SECOND,
    SLOT,
    TICK,
    Membership,
    Partition,
    Scene,
    consume,
    watch,
)
from tests.stream.health.situations import EMPTY, LATE, LONG, STEADY

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.stream.health.simulator import Seen

V = Verdict


def starts_at_the_end_after_expiry() -> Scene:
    """Return a group whose offset the broker removes, and that begins at the end at six minutes."""
    restart = 6 * MINUTE
    before = Partition(STEADY, consume(STEADY, LONG, 0), gone_from=3 * MINUTE)
    after = Partition(STEADY, consume(STEADY, restart + 5 * SECOND, LATE), exists_from=restart)
    other = Partition(STEADY, consume(STEADY, LONG, LATE), topic="others")
    return Scene([before, after, other], memberships=[Membership(LONG), Membership(restart)])


def is_back_and_fast() -> Scene:
    """Return a group without members for two hours that then reads all records before its first commit."""
    commits = [*consume(STEADY, -3 * HOUR, -2 * HOUR), *consume(STEADY, 5 * SECOND, LATE)]
    memberships = [Membership(-3 * HOUR), Membership(-2 * HOUR + SECOND, EMPTY, 0), Membership(0)]
    return Scene([Partition(STEADY, commits)], memberships=memberships)


def passes_an_aborted_transaction() -> Scene:
    """Return a slow group before a transaction that hangs for three minutes, is aborted at noon and passed at once."""

    def stable(t: int) -> int:
        return STEADY(-3 * MINUTE) if -3 * MINUTE <= t < 0 else STEADY(t)

    before = consume(STEADY, LONG, -3 * MINUTE, rate=150, position=STEADY(LONG) - 40_000)
    commits = [*before, *consume(stable, -3 * MINUTE + 5 * SECOND, 0), *consume(STEADY, 5 * SECOND, LATE)]
    return Scene([Partition(STEADY, commits, stable=stable)])


def passes_records_of_an_aborted_transaction(size: int = 200_000, *, hangs: bool = False) -> Scene:
    """Return a group that works off a backlog and passes a transaction of `size` records that was aborted before.

    The transaction was open for 20 seconds, or is still open if it `hangs`. In this case, the group reads uncommitted
    records, and starts at the end instead of passing them.
    """
    opened, ended = -3 * MINUTE - 25 * SECOND, -3 * MINUTE - 5 * SECOND
    first, passed_at = STEADY(opened), -3 * MINUTE + 12 * SECOND

    def end(t: int) -> int:
        return STEADY(t) + (size if t >= opened else 0)

    def stable(t: int) -> int:
        return first if opened <= t and (hangs or t < ended) else end(t)

    until = first + 1_000 if hangs else first
    before = consume(lambda t: min(end(t), until), LONG, passed_at, rate=150, position=first - 150 * 1_020)
    after = consume(end, passed_at + SECOND, LATE, rate=150, position=first + size + 2_000)
    return Scene([Partition(end, [*before, *after], stable=stable)])


def set_forward() -> Scene:
    """Return a group that is stopped, set to the end by a tool, and started again."""
    memberships = (Membership(LONG), Membership(-2 * MINUTE + SECOND, EMPTY, 0), Membership(30 * SECOND))
    commits = [*consume(STEADY, LONG, -2 * MINUTE), (0, STEADY(0)), *consume(STEADY, 35 * SECOND, LATE)]
    return Scene([Partition(STEADY, commits)], memberships=memberships)


def leaves_its_backlog(*, gapless: bool = True, back: bool = False) -> Scene:
    """Return a group with a backlog of hours that begins at the end at noon; with `back` it is set back to read it."""
    before = consume(STEADY, LONG, 0, rate=150, position=STEADY(LONG) - 500_000)
    after = consume(STEADY, 5 * SECOND, 3 * MINUTE if back else LATE)
    again = consume(STEADY, 3 * MINUTE + 5 * SECOND, LATE, rate=150, position=before[-1][1]) if back else []
    return Scene([Partition(STEADY, [*before, *after, *again], gapless=gapless)])


def leaves_records_of_a_new_leader() -> Scene:
    """Return a group that skips records that an unclean leader election put in the place of those it read."""

    def truncated(t: int) -> int:
        return STEADY(t) if t < -15 * MINUTE else STEADY(t) - 150_000

    start = -15 * MINUTE + 5 * SECOND
    before = [*consume(truncated, LONG, -15 * MINUTE), (start, truncated(start))]
    before += consume(truncated, start + 5 * SECOND, 0, rate=50, position=truncated(start))
    return Scene([Partition(truncated, [*before, *consume(truncated, 5 * SECOND, LATE)])])


def falls_behind_and_is_repaired() -> Scene:
    """Return a group that falls behind for an hour; at noon a process that is eight times as fast takes over."""
    before = consume(STEADY, -2 * HOUR, -HOUR)
    before += consume(STEADY, -HOUR, 0, rate=80, position=before[-1][1])
    return Scene([Partition(STEADY, [*before, *consume(STEADY, 5 * SECOND, LATE, rate=640, position=before[-1][1])])])


def a_second_client_begins_at_the_start() -> Scene:
    """Return a group at the end after a backlog; from noon on, a second client commits in turns, from the start."""
    before = consume(STEADY, LONG, 0, rate=150, position=STEADY(LONG) - 40_000)
    first, second = consume(STEADY, 5 * SECOND, LATE), consume(STEADY, 5 * SECOND, LATE, rate=150, position=0)
    turns = [(first, second)[time // (2 * TICK) % 2][at] for at, (time, _) in enumerate(first)]
    return Scene([Partition(STEADY, [*before, *turns])])


def verdicts(ticks: list[Seen], since: int) -> set[Verdict]:
    """Return the verdicts of partition 0 from a time on."""
    return {each.of(0) for each in ticks if each.time >= since}


@pytest.mark.parametrize(
    ("scene", "since", "passed"),
    [
        pytest.param(starts_at_the_end_after_expiry, 6 * MINUTE + 5 * SECOND, 37_000, id="the offset was removed"),
        pytest.param(leaves_its_backlog, 5 * SECOND, None, id="a backlog is left behind"),
    ],
)
def test_skipped_records_are_reported_for_ten_minutes(
    scene: Callable[[], Scene], since: int, passed: int | None
) -> None:
    """The verdict begins at the first tick after the commit, has the number of offsets, and lasts ten minutes."""
    ticks = watch(scene(), LONG, since + 15 * MINUTE)
    found = [each for each in ticks if V.SKIPPED in {each.of(0), each.verdict}]
    assert since <= found[0].time <= since + TICK
    assert since + 10 * MINUTE <= found[-1].time <= since + 10 * MINUTE + 4 * TICK
    finding = found[0].result.row_finding(0)
    size = finding.evidence["jump_to"] - finding.evidence["jump_from"]  # type: ignore[operator] # both are known
    assert passed is None or size == passed
    assert f"({size:,} offsets, written" in finding.sentence
    assert "faster than it can read" in finding.sentence


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(is_back_and_fast, id="unknown reading rate"),
        pytest.param(passes_an_aborted_transaction, id="records not readable before"),
        pytest.param(passes_records_of_an_aborted_transaction, id="aborted transaction in the backlog"),
        pytest.param(lambda: leaves_its_backlog(gapless=False), id="gaps of a compacted topic"),
        pytest.param(falls_behind_and_is_repaired, id="faster process"),
        pytest.param(set_forward, id="offset set forward by a tool"),
        pytest.param(a_second_client_begins_at_the_start, id="records read by another client of the group"),
    ],
)
def test_a_large_step_with_an_explanation_skips_nothing(scene: Callable[[], Scene]) -> None:
    """No tick reports skipped records, and no offset is counted as skipped."""
    evaluator = Evaluator(HealthLimits(tick=TICK, slot=SLOT))
    ticks = watch(scene(), LONG, 7 * MINUTE, evaluator=evaluator)
    assert V.SKIPPED not in verdicts(ticks, LONG)
    assert sum(evaluator.history.memory.skipped.values()) == 0


def test_a_reader_of_uncommitted_records_skips_those_of_an_open_transaction() -> None:
    """A reader of uncommitted records has read beyond the first record of the transaction."""
    ticks = watch(passes_records_of_an_aborted_transaction(hangs=True), LONG, 0)
    assert V.SKIPPED in verdicts(ticks, -3 * MINUTE)


def test_a_planned_reset_forward_is_a_notice_with_its_size() -> None:
    """A planned reset is no fault, and its sentence states that the records are not read."""
    ticks = watch(set_forward(), LONG, 7 * MINUTE)
    assert verdicts(ticks, MINUTE) == {V.RESET}
    sentence = ticks[-1].result.row_finding(0).sentence
    assert "was reset from 1,068,000 to 1,080,000 (12,000 offsets, written from" in sentence
    assert sentence.endswith("while the group was empty: these records are not read.")


def test_a_group_that_is_set_back_has_not_skipped_the_records() -> None:
    """The verdict ends when the group returns to an offset before the records."""
    assert V.SKIPPED not in verdicts(watch(leaves_its_backlog(back=True), LONG, 7 * MINUTE), 4 * MINUTE)


def test_skipped_records_are_counted_per_group() -> None:
    """The counter has every group, and grows by the offsets of each jump."""
    evaluator = Evaluator(HealthLimits(tick=TICK, slot=SLOT))
    watch(leaves_its_backlog(), LONG, 0, evaluator=evaluator)
    assert evaluator.history.memory.skipped == {"billing": 0}
    watch(leaves_its_backlog(), TICK, TICK, evaluator=evaluator)
    counted = evaluator.history.memory.skipped["billing"]
    assert counted > 400_000
    watch(leaves_its_backlog(), 2 * TICK, MINUTE, evaluator=evaluator)
    assert evaluator.history.memory.skipped == {"billing": counted}


def test_records_of_a_new_leader_are_new_records() -> None:
    """After a truncation, offsets that the group has read before belong to records that it has not read."""
    evaluator = Evaluator(HealthLimits(tick=TICK, slot=SLOT))
    ticks = watch(leaves_records_of_a_new_leader(), LONG, MINUTE, evaluator=evaluator)
    assert ticks[-1].of(0) is V.SKIPPED
    assert evaluator.history.memory.skipped["billing"] > 40_000


def test_a_restart_of_the_monitor_keeps_the_jump() -> None:
    """The next process shows the verdict with the same numbers."""
    first = Evaluator(HealthLimits(tick=TICK, slot=SLOT))
    before = watch(leaves_its_backlog(), LONG, MINUTE, evaluator=first)[-1]
    second = Evaluator(HealthLimits(tick=TICK, slot=SLOT), packed=first.pack())
    after = watch(leaves_its_backlog(), MINUTE + TICK, 5 * MINUTE, evaluator=second)
    assert {each.verdict for each in after} == {V.SKIPPED}
    assert after[-1].result.row_finding(0).sentence == before.result.row_finding(0).sentence


def test_offsets_that_are_removed_and_written_again_are_compared() -> None:
    """Removed rows are remembered by name, because groups and topics get other numbers at each tick."""
    ticks = watch(starts_at_the_end_after_expiry(), LONG, 7 * MINUTE)
    (row,) = np.flatnonzero(ticks[-1].result.window.remembered.jumps.jump_time >= 0)
    assert ticks[-1].result.partition_name(int(row)) == "orders-0"
