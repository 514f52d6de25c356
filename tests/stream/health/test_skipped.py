"""Records that are skipped or lost: commits that go forward past records, and records that retention removes."""

import numpy as np

from stream.groups.membership.model import MemberClient
from stream.health.verdict import Verdict
from tests.stream.health.simulator import (
    HOUR,
    MINUTE,
    SECOND,
    TICK,
    Membership,
    Partition,
    Scene,
    consume,
    evenly,
    new_evaluator,
    verdicts,
    watch,
    watch_together,
)
from tests.stream.health.situations import EMPTY, LATE, LONG, SICK, STEADY, leaves_its_backlog, steady

V = Verdict


def starts_at_the_end_after_expiry() -> Scene:
    """Return a group whose offset the broker removes, and that begins at the end at six minutes."""
    restart = 6 * MINUTE
    after = Partition(STEADY, consume(STEADY, restart + 5 * SECOND, LATE), exists_from=restart)
    parts = [steady(0, gone_from=3 * MINUTE), after, steady(topic="others")]
    return Scene(parts, memberships=[Membership(LONG), Membership(restart)])


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


def loses_its_offset(owner: int, rate: float) -> Scene:
    """Return a group whose offset the broker removes too early; six seconds later this owner commits at the end."""
    end = evenly(rate)
    at, removed = 6 * SECOND, {"forgotten": 1, "removed": 1, "exists_from": 1}
    parts = [
        Partition(end, consume(end, LONG, 0), owner=0, gone_from=1),
        Partition(end, [], owner=0, gone_from=at, **removed),  # type: ignore[arg-type] # times
        Partition(end, consume(end, 11 * SECOND, LATE), owner=owner, **(removed | {"exists_from": at})),  # type: ignore[arg-type]
    ]
    clients = [MemberClient(name, name, "/10.0.0.7") for name in ("shop-1", "shop-2")]
    return Scene(parts, rebalances=[at], clients=clients)


def test_another_member_without_an_offset_skips_however_few_records_it_passes() -> None:
    """It begins at the log start or at the end, and has read a log from its start that is short enough for that.

    The owner that had the partition before knows its position.
    """
    for owner, rate, passed in ((1, 100, 1_600), (0, 100, None), (1, 10, None)):
        ticks = watch(loses_its_offset(owner, rate), LONG, MINUTE)
        finding = ticks[-1].result.row_finding(0)
        memory = ticks[-1].result.window.memory
        assert (finding.verdict, finding.evidence.get("also")) == (V.FORGOTTEN, passed and "skipped")
        assert passed is None or int(memory.skip_to[0] - memory.skip_from[0]) == passed


def test_skipped_records_are_reported_for_ten_minutes_also_after_a_restart() -> None:
    """The verdict begins at the first tick after the commit, has the number of offsets, and lasts ten minutes.

    Removed rows are remembered by name, because groups and topics get other numbers at each tick.
    """
    since, first = 6 * MINUTE + 5 * SECOND, new_evaluator()
    ticks = watch(starts_at_the_end_after_expiry(), -3 * MINUTE, 7 * MINUTE, evaluator=first)
    (row,) = np.flatnonzero(ticks[-1].result.window.memory.skip_time[:] >= 0)
    assert ticks[-1].result.partition_name(int(row)) == "orders-0"
    before = ticks[-1].result.row_finding(0)
    second = new_evaluator(first.pack())
    ticks += watch(
        starts_at_the_end_after_expiry(), 7 * MINUTE + TICK, since + 11 * MINUTE, evaluator=second, tick=TICK
    )
    found = [each for each in ticks if V.SKIPPED in {each.of(0), each.verdict}]
    assert since <= found[0].time <= since + TICK
    assert since + 10 * MINUTE <= found[-1].time <= since + 10 * MINUTE + 4 * TICK
    assert {each.of(0) for each in ticks if found[0].time <= each.time <= since + 10 * MINUTE} == {V.SKIPPED}
    assert found[-5].result.row_finding(0).sentence == before.sentence
    assert before.evidence["jump_to"] - before.evidence["jump_from"] == 37_000
    assert "(37,000 offsets, written" in before.sentence
    assert "faster than it can read" in before.sentence


def test_a_large_step_with_an_explanation_skips_nothing() -> None:
    """No tick reports skipped records, and no offset is counted as skipped."""
    scenes = {
        "unknown reading rate": is_back_and_fast(),
        "records not readable before": passes_an_aborted_transaction(),
        "aborted transaction in the backlog": passes_records_of_an_aborted_transaction(),
        "gaps of a compacted topic": leaves_its_backlog(gapless=False),
        "faster process": falls_behind_and_is_repaired(),
        "offset set forward by a tool": set_forward(),
        "records read by another client of the group": a_second_client_begins_at_the_start(),
    }
    evaluator = new_evaluator()
    ticks = watch_together(list(scenes.values()), LONG, 3 * MINUTE, evaluator=evaluator)
    found = {story: {each.first for each in own} for story, own in zip(scenes, ticks, strict=True)}
    assert [story for story, verdicts in found.items() if V.SKIPPED in verdicts] == []
    assert sum(evaluator.history.memory.skipped.values()) == 0


def test_a_reader_of_uncommitted_records_skips_those_of_an_open_transaction() -> None:
    """A reader of uncommitted records has read beyond the first record of the transaction."""
    ticks = watch(passes_records_of_an_aborted_transaction(hangs=True), LONG, -2 * MINUTE)
    assert ticks[-1].of(0) is V.SKIPPED


def test_a_planned_reset_forward_is_a_notice_with_its_size() -> None:
    """A planned reset is no fault, and its sentence states that the records are not read."""
    ticks = watch(set_forward(), -3 * MINUTE, 3 * MINUTE)
    assert {each.of(0) for each in ticks if each.time >= MINUTE} == {V.RESET}
    sentence = ticks[-1].result.row_finding(0).sentence
    assert "was reset from 1,068,000 to 1,080,000 (12,000 offsets, written from" in sentence
    assert sentence.endswith("while the group was empty: these records are not read.")


def test_skipped_records_are_counted_per_group_until_it_is_set_back() -> None:
    """The counter has every group, and grows by the offsets of each jump.

    The verdict ends when the group returns to an offset before the records.
    """
    evaluator, scene = new_evaluator(), leaves_its_backlog(back=True)
    watch(scene, LONG, 0, evaluator=evaluator)
    assert evaluator.history.memory.skipped == {"billing": 0}
    assert watch(scene, TICK, TICK, evaluator=evaluator)[0].of(0) is V.SKIPPED
    counted = evaluator.history.memory.skipped["billing"]
    assert counted > 400_000
    ticks = watch(scene, 2 * TICK, 5 * MINUTE, evaluator=evaluator)
    assert evaluator.history.memory.skipped == {"billing": counted}
    assert V.SKIPPED not in {each.of(0) for each in ticks if each.time >= 4 * MINUTE}


def test_records_of_a_new_leader_are_new_records() -> None:
    """After a truncation, offsets that the group has read before belong to records that it has not read."""
    evaluator = new_evaluator()
    ticks = watch(leaves_records_of_a_new_leader(), LONG, MINUTE, evaluator=evaluator)
    assert ticks[-1].of(0) is V.SKIPPED
    assert evaluator.history.memory.skipped["billing"] > 40_000


def test_a_group_that_cannot_start_keeps_its_verdict_between_its_starts() -> None:
    """The verdict does not change while the group has no members, and the next step is a reset of the offset."""
    (situation,) = (each for each in SICK if each.story == "cannot start after its records are lost")
    ticks = watch(situation.scene(), -2 * MINUTE, 10 * MINUTE)
    finding = ticks[-1].result.row_finding(0)
    assert verdicts(ticks, 8 * MINUTE + 1) == {V.LOSING_DATA}
    assert "does not get past that: " in finding.sentence
    assert "--reset-offsets --to-earliest" in finding.next_step
