"""Simulated situations of groups, faulty and unusual but healthy, each with its verdict and when it can be known.

A fault can be known when an observer of every commit, every end and every membership record would be sure: after the
group has made no progress for longer than a pause may take, or when the event itself has happened.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.groups.membership.model import MemberClient
from stream.health.features.control_records import LogTails
from stream.health.inputs import NO_OWNER, GroupStage, Subscribers
from stream.health.verdict import Verdict
from tests.stream.health.simulator import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    TICK,
    Membership,
    Partition,
    Scene,
    by_list,
    consume,
    evenly,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream.health.inputs import HealthInputs


@dataclasses.dataclass(frozen=True)
class Situation:
    """A scene with its story. `wanted` is None where there is no fault."""

    story: str
    scene: Callable[[], Scene]
    wanted: Verdict | None = None
    known_at: int = 0
    ends_at: int | None = None
    """The time at which the fault is over and must be withdrawn; None: the fault never ends."""
    until: int = 7 * MINUTE
    start: int = -6 * MINUTE
    tick: int = TICK
    on_the_way: tuple[Verdict, ...] = ()
    """Other faults that are also true before (or after) the wanted one."""


STEADY = evenly(100)
LONG, LATE = -20 * MINUTE, 30 * MINUTE
EMPTY = GroupStage.EMPTY
PAUSED = 50 * SECOND
"""The longest pause of a group that commits every five seconds."""


def _alone(commits: list[tuple[int, int]], **more: object) -> Scene:
    return Scene([Partition(STEADY, commits)], **more)  # type: ignore[arg-type] # the fields of Scene


def _bursts() -> Scene:
    # Producers write 60,000 records at once every five minutes; the group reads them in two and a half minutes.

    def end(t: int) -> int:
        return 60_000 * ((t + 3 * HOUR) // (5 * MINUTE))

    return Scene([Partition(end, consume(end, LONG, LATE, rate=400))])


def _hourly(*, leaves: bool) -> Scene:
    # The job reads all records once an hour, within three minutes; between two runs it may not exist.
    commits: list[tuple[int, int]] = []
    memberships = []
    for hour in range(-6, 2):
        at = hour * HOUR + 7 * MINUTE
        position = commits[-1][1] if commits else STEADY(at) - 100_000
        memberships += [Membership(at), Membership(at + 3 * MINUTE, EMPTY, 0)] if leaves else []
        commits += consume(STEADY, at, at + 3 * MINUTE, rate=4_000, position=position, repeats=False)
    return _alone(commits, memberships=[Membership(-7 * HOUR), *memberships])


def _slow_committer() -> Scene:
    return _alone(consume(STEADY, LONG, LATE, every=MINUTE))


def _irregular_committer() -> Scene:
    # The group commits when a batch is full, which takes between 20 and 75 seconds.
    times = np.cumsum(np.random.default_rng(3).integers(20, 75, 160)) * SECOND + LONG
    return _alone([(int(t), STEADY(int(t))) for t in times])


def _quiet() -> Scene:
    # A record comes every twenty minutes; a client that commits only new offsets reads it at once.
    end = by_list(range(-HOUR, 2 * HOUR, 20 * MINUTE))
    return Scene([Partition(end, consume(end, -HOUR, HOUR, repeats=False))])


def _marker() -> Scene:
    # A transaction every ten minutes has ten records and a marker, and the client does not commit past the marker.

    def end(t: int) -> int:
        return 11 * ((t - LONG) // (10 * MINUTE))

    def committed(t: int) -> int:
        return max(end(t) - 1, 0)

    commits = consume(committed, LONG, LATE, repeats=False)
    return Scene([Partition(end, commits)], tails=_read_tails)


def _read_tails(seen: HealthInputs) -> LogTails:
    # The tail of each partition is fetched, and the last offset is a marker.
    end = seen.ends.high_watermark
    return LogTails(seen.ends.place, end, seen.spans.last_offset, np.maximum(end - 1, seen.spans.last_offset))


class _ReadAtRest:
    """Reads the tail of partition 0 when its end has not moved since the last tick, as the monitor does."""

    def __init__(self) -> None:
        self._end = -1
        self._found: LogTails | None = None

    def __call__(self, seen: HealthInputs) -> LogTails:
        end = int(seen.ends.high_watermark[0])
        if end == self._end:
            self._found = _read_tails(seen)
        self._end = end
        return self._found or no_tails()


def no_tails() -> LogTails:
    """Return what is known before any tail has been read."""
    return LogTails(*(np.empty(0, np.int64) for _ in range(4)))


def _unreadable(seen: HealthInputs) -> LogTails:
    # The right to read the topic is missing.
    places = seen.ends.place
    return dataclasses.replace(no_tails(), unreadable=places, reasons=np.full(len(places), "not_authorized", object))


def _transactions(t: int) -> int:
    # Ten records and a marker are written every five seconds until -20 minutes, and once more at 0.
    until = min(t, -20 * MINUTE)
    return 11 * ((until + HOUR) // (5 * SECOND) + (1 if t >= 0 else 0))


def _stands_before_the_marker(tails: Callable[[HealthInputs], LogTails], **more: object) -> Scene:
    # A consumer commits the offset after the last record within three seconds, and nothing without new records.
    times = [*range(-40 * MINUTE, -20 * MINUTE + 1, 5 * SECOND)]
    commits = [(t, _transactions(t) - 1) for t in times] + [(3 * SECOND, _transactions(0) - 1)]
    return Scene([Partition(_transactions, commits)], tails=tails, **more)  # type: ignore[arg-type] # fields of Scene


def _marker_that_retention_took() -> Scene:
    # Retention has removed all records of the log, and only the marker was not read.
    scene = _stands_before_the_marker(_unreadable)
    gone = dataclasses.replace(scene.partitions[0], log_start=lambda t: _transactions(t) if -5 * MINUTE <= t < 0 else 0)
    return dataclasses.replace(scene, partitions=[gone])


def _compacted() -> Scene:
    # Committed offsets jump by hundreds, as those of a group do that reads a compacted topic from its start.
    return Scene([Partition(STEADY, [(t, o - o % 700) for t, o in consume(STEADY, LONG, LATE, every=7 * SECOND)])])


def _planned_reset() -> Scene:
    # The group is stopped, reset by 200,000 offsets and started; then it reads at ten times the rate.
    before = consume(STEADY, LONG, 0)
    back = STEADY(0) - 200_000
    after = consume(STEADY, 30 * SECOND, LATE, rate=1_000, position=back)
    memberships = (Membership(LONG), Membership(1 * SECOND, EMPTY, 0), Membership(29 * SECOND))
    return _alone([*before, (20 * SECOND, back), *after], memberships=memberships)


def _static_restarts() -> Scene:
    # Three static members are restarted one after the other, each away for 35 seconds; no rebalance is written.
    partitions = []
    for member in range(3):
        away = member * MINUTE
        commits = consume(STEADY, LONG, away)
        commits += consume(STEADY, away + 35 * SECOND, LATE, rate=1_000, position=STEADY(away))
        partitions.append(Partition(STEADY, commits, owner=member))
    return Scene(partitions, memberships=[Membership(LONG, members=3)], static=True)


def _autoscaling() -> Scene:
    # Members join and leave, and every change stops all of them for eight seconds.
    steps = [0, 2 * MINUTE, 4 * MINUTE, 8 * MINUTE]
    partitions = []
    for _ in range(4):
        commits, at = consume(STEADY, LONG, 0), 0
        for this, following in zip(steps, [*steps[1:], HOUR], strict=True):
            commits += consume(STEADY, this + 8 * SECOND, following, rate=1_000, position=commits[-1][1])
            at = this
        partitions.append(Partition(STEADY, commits))
        assert at == steps[-1]
    return Scene(partitions, memberships=[Membership(LONG, members=4)], rebalances=steps)


def _deploy() -> Scene:
    # A group that reads a backlog leaves in an orderly way, and its members join again after 25 seconds.
    before = consume(STEADY, LONG, 0, rate=300, position=STEADY(LONG) - 2_000_000)
    after = consume(STEADY, 25 * SECOND, LATE, rate=300, position=before[-1][1])
    memberships = (Membership(LONG), Membership(1 * SECOND, EMPTY, 0), Membership(24 * SECOND))
    return _alone([*before, *after], memberships=memberships)


def _grown() -> Scene:
    # A partition is added; the members find it when they next refresh their metadata, four minutes later.
    end = evenly(100, start=0)
    late = Partition(end, consume(end, 4 * MINUTE, LATE, position=0), exists_from=0)
    return Scene([Partition(STEADY, consume(STEADY, LONG, LATE)), late])


def _transactional(length: int) -> Scene:
    # Records become readable when their transaction ends; the group reads up to there at once.

    def stable(t: int) -> int:
        return STEADY(t - (t % length))

    return Scene([Partition(STEADY, consume(stable, LONG, LATE), stable=stable)])


def _election() -> Scene:
    # The partition has no leader for 25 seconds: no end is known, and no member can read.
    pause = (0, 25 * SECOND)
    commits = consume(STEADY, LONG, 0) + consume(STEADY, pause[1], LATE, rate=500, position=STEADY(0))
    return Scene([Partition(STEADY, commits, known=lambda t: not pause[0] < t < pause[1])])


def _leaderless() -> Scene:
    # One of two partitions has no leader from noon on: no end is known, no member can read, nothing is written.
    good, bad = consume(STEADY, LONG, LATE), consume(STEADY, LONG, 0)
    return Scene([Partition(STEADY, good, owner=0), Partition(STEADY, bad, owner=0, known=lambda t: t <= 0)])


def _at_a_distance() -> Scene:
    # The group stays five minutes behind, at the rate of the producer.
    return Scene([Partition(STEADY, [(t, STEADY(t - 5 * MINUTE)) for t in range(LONG, HOUR, 5 * SECOND)])])


def _recovering() -> Scene:
    # The group reads a backlog of an hour at twice the rate of the producer.
    position = STEADY(LONG) - 720_000
    return _alone(consume(STEADY, LONG, LATE, rate=200, position=position), memberships=[Membership(LONG)])


def _short_of_a_spike() -> Scene:
    # For one minute, producers write at ten times the rate; the group needs four minutes to catch up.

    def end(t: int) -> int:
        return STEADY(t) + 900 * min(max(t, 0), MINUTE) // SECOND

    return Scene([Partition(end, consume(end, LONG, LATE, rate=350))])


def _broker_restart(*, hangs: bool) -> Scene:
    # The cluster does not answer for 45 seconds, and nothing is written; clients continue 15 seconds after that.
    pause = (60 * SECOND, 105 * SECOND)

    def end(t: int) -> int:
        return STEADY(min(t, pause[0]) + max(t - pause[1], 0))

    commits = consume(end, LONG, 0 if hangs else pause[0])
    if not hangs:
        commits += consume(end, pause[1] + 15 * SECOND, LATE, rate=500, position=commits[-1][1])
    return Scene([Partition(end, commits)], away=lambda t: pause[0] < t < pause[1])


def _broker_restart_and_rebalance() -> Scene:
    # The cluster does not answer for 45 seconds; the group rebalances until a lost session ends, and then reads on.
    pause, settled = (60 * SECOND, 105 * SECOND), 145 * SECOND
    commits = consume(STEADY, LONG, pause[0])
    commits += consume(STEADY, settled + 12 * SECOND, LATE, rate=500, position=commits[-1][1])
    memberships = (Membership(LONG), Membership(110 * SECOND, GroupStage.REBALANCING), Membership(settled))
    return _alone(commits, memberships=memberships, away=lambda t: pause[0] < t < pause[1])


def _reader_behind() -> Scene:
    # The group is healthy, but the monitor reads its commits up to two minutes late for three minutes.

    def read(t: int) -> int:
        return t if not 0 < t < 3 * MINUTE else max(0, t - 2 * MINUTE)

    return _alone(consume(STEADY, LONG, LATE), read_until=read)


def _grown_and_unowned() -> Scene:
    # A partition is added, and a member owns it after the next refresh of metadata.
    end = evenly(100, start=0)
    owned_from = 4 * MINUTE
    late = [
        Partition(end, [], exists_from=0, owner=NO_OWNER, subscribed=1, gone_from=owned_from),
        Partition(end, consume(end, owned_from, LATE, position=0), exists_from=owned_from, owner=0, subscribed=1),
    ]
    memberships = [Membership(LONG), Membership(owned_from)]
    return Scene(
        [Partition(STEADY, consume(STEADY, LONG, LATE), owner=0, subscribed=1), *late], memberships=memberships
    )


def _visits() -> Scene:
    # A batch, as the only member, joins every 100 seconds for 15 seconds, with two rebalances each time.
    commits: list[tuple[int, int]] = []
    memberships, rebalances = [Membership(LONG, EMPTY, 0)], []
    for at in range(LONG, LATE, 100 * SECOND):
        commits += consume(STEADY, at + SECOND, at + 15 * SECOND, every=SECOND, repeats=False)
        memberships += [Membership(at), Membership(at + 15 * SECOND, EMPTY, 0)]
        rebalances += [at]
    return _alone(commits, memberships=memberships, rebalances=rebalances)


def _moves_seldom() -> Scene:
    # The group commits every five seconds, but its records become readable every two minutes; its start is observed.

    def stable(t: int) -> int:
        return STEADY(t - t % (2 * MINUTE))

    return Scene([Partition(STEADY, consume(stable, -5 * MINUTE, LATE), stable=stable)])


def _distance_from_log_start() -> Scene:
    # The group stays five minutes behind; retention keeps ten minutes in segments of one minute.
    commits = [(t, STEADY(t - 5 * MINUTE)) for t in range(LONG, HOUR, 5 * SECOND)]
    return Scene([Partition(STEADY, commits, log_start=lambda t: STEADY(t - t % MINUTE - 10 * MINUTE))])


def _end_too_low() -> Scene:
    # For 20 seconds the end that the cluster reports is lower than the commits, in the same leader epoch.

    def end(t: int) -> int:
        return STEADY(t) - (5_000 if 0 <= t < 20 * SECOND else 0)

    part = Partition(end, consume(STEADY, LONG, LATE), leader_epoch=lambda _: 4, commit_epoch=4)
    return Scene([part])


def _hot_but_read() -> Scene:
    # One of four partitions suddenly gets eight times as many records, and its member reads all of them.

    def hot(t: int) -> int:
        return STEADY(t) + max(t, 0) * 7 // 10

    others = [Partition(STEADY, consume(STEADY, LONG, LATE)) for _ in range(3)]
    return Scene([*others, Partition(hot, consume(hot, LONG, LATE, rate=850))])


def _deleted_topic() -> Scene:
    # The topic is deleted; the offsets stay until the broker removes them.
    gone = Partition(STEADY, consume(STEADY, LONG, 0), known=lambda t: t < 5 * SECOND, reason="not_found")
    return Scene([gone])


def _first_commit_after_a_rebalance() -> Scene:
    # Records are rare, and members join and leave: the group reads the first record after that at once.
    end = by_list([0, 9 * MINUTE])
    late = Partition(end, [(9 * MINUTE + 5 * SECOND, 2)], exists_from=0)
    often = [*range(2 * MINUTE, HOUR, 4 * MINUTE)]
    return Scene([Partition(STEADY, consume(STEADY, LONG, LATE)), late], rebalances=often)


def _with_another_topic(partitions: list[Partition], **more: object) -> Scene:
    # Another topic is read all the time.
    other = Partition(STEADY, consume(STEADY, LONG, LATE), topic="others")
    return Scene([*partitions, other], **more)  # type: ignore[arg-type] # the fields of Scene


def _starts_before_a_transaction(length: int) -> Scene:
    # The group is new just after a transaction was opened, and commits by the clock; it moves when that ends.

    def stable(t: int) -> int:
        return STEADY(t - t % length)

    return _with_another_topic([Partition(STEADY, consume(stable, SECOND, LATE), stable=stable, exists_from=SECOND)])


def _starts_again_before_long_transactions() -> Scene:
    # Transactions last five minutes. At noon a group of uncommitted records is deleted, and begins to wait for them.

    def stable(t: int) -> int:
        return STEADY(t - t % (5 * MINUTE))

    before = Partition(STEADY, consume(STEADY, LONG, 0), stable=stable, gone_from=SECOND)
    after = Partition(STEADY, consume(stable, SECOND, LATE), stable=stable, exists_from=SECOND)
    return _with_another_topic([before, after])


def _reads_uncommitted_and_starts() -> Scene:
    # A transaction hangs, and a group that reads uncommitted records starts at the end; it commits every four minutes.

    def stable(t: int) -> int:
        return STEADY(min(t, -MINUTE))

    commits = [(t, STEADY(t)) for t in range(0, LATE, 4 * MINUTE)]
    return _with_another_topic([Partition(STEADY, commits, stable=stable, exists_from=0)])


def pausing(pauses: tuple[tuple[int, int], ...]) -> Callable[[int], int]:
    """Return the end offset over time with 100 records per second, and none in these pauses."""
    return lambda t: STEADY(t - sum(max(min(t, until) - since, 0) for since, until in pauses))


PAUSES = ((0, 4 * MINUTE), (5 * MINUTE, 9 * MINUTE))


def commits_last_read(partitions: int, pauses: tuple[tuple[int, int], ...] = PAUSES, until: int = LATE) -> Scene:
    """Return a client that commits the offset of the last record it has read, while producers pause now and then."""
    end = pausing(pauses)
    commits = [(t, offset - 1) for t, offset in consume(end, LONG, until)]
    return Scene([Partition(end, commits, owner=0, subscribed=1) for _ in range(partitions)])


def _last_record_is_bad() -> Scene:
    # The group reads ten records a minute at once; it cannot process the last one before the end of production.
    end = by_list([minute * MINUTE + at * SECOND for minute in range(-20, 0) for at in range(10)])
    return Scene([Partition(end, consume(end, LONG, LATE, stuck_at=199, repeats=False))])


def _starts_at_the_end_after_retention() -> Scene:
    # The group hangs, retention passes it, and at six minutes a restarted process begins at the end.
    restart = 6 * MINUTE
    commits = consume(STEADY, LONG, 0) + consume(STEADY, restart + 5 * SECOND, LATE)
    part = Partition(STEADY, commits, log_start=lambda t: STEADY(0) + 5_000 if t >= 4 * MINUTE else 0)
    return Scene([part], memberships=[Membership(LONG), Membership(restart)])


def _leaves_its_backlog() -> Scene:
    # A group works off a backlog of hours at 150 records a second; at noon one of its members begins at the end.
    before = consume(STEADY, LONG, 0, rate=150, position=STEADY(LONG) - 500_000)
    return Scene([Partition(STEADY, [*before, *consume(STEADY, 5 * SECOND, LATE)])])


def _split(since: int, until: int = 1 << 40) -> Scene:
    # All partitions are read; from one time until another the members subscribe to different topics.
    members = [MemberClient(name, name, "/10.0.0.7") for name in ("shop-1", "shop-2", "audit-1")]
    differ = (Subscribers(("orders",), tuple(members[:2])), Subscribers(("orders", "returns"), tuple(members[2:])))
    part = Partition(STEADY, consume(STEADY, LONG, LATE), owner=0, subscribed=1)
    return Scene([part], clients=members, subscribers=lambda t: differ if since <= t < until else ())


def _two_clients(until: int = LATE) -> Scene:
    # From noon on a second client commits the same partition; it begins two hours back and reads as slowly.
    first = consume(STEADY, LONG, LATE)
    second = consume(STEADY, 2 * SECOND, until, rate=200, position=STEADY(0) - 700_000)
    return _alone(sorted([*first, *second]), memberships=[Membership(LONG, GroupStage.OFFSETS_ONLY)])


def _every_transaction_aborts(until: int = LATE, *, back: int = LATE) -> Scene:
    # Each transaction is aborted from noon on, until the client ends or commits again.
    commits = [*consume(STEADY, LONG, 0), *consume(STEADY, back, LATE, rate=1_000, position=STEADY(0))]
    return _alone_aborting(commits, range(5 * SECOND, min(until, back), 5 * SECOND))


def _aborts_from_the_beginning() -> Scene:
    # A partition is added, and none of the transactions with its records is ever committed.
    aborts = range(5 * SECOND, LATE, 5 * SECOND)
    new = Partition(evenly(100, start=0), [], aborts=aborts, exists_from=0)
    return Scene([Partition(STEADY, consume(STEADY, LONG, LATE)), new])


def _some_transactions_abort() -> Scene:
    # Two of five transactions are aborted, and every five minutes three more in a row.
    commits = [each for each in consume(STEADY, LONG, LATE) if each[0] // (5 * SECOND) % 5 < 3]
    commits = [each for each in commits if each[0] % (5 * MINUTE) >= 15 * SECOND]
    times = {time for time, _ in commits}
    return _alone_aborting(commits, [time for time in range(LONG, LATE, 5 * SECOND) if time not in times])


def _alone_aborting(commits: list[tuple[int, int]], aborts: Sequence[int]) -> Scene:
    return Scene([Partition(STEADY, commits, aborts=aborts, owner=0, subscribed=1)])


HEALTHY = (
    Situation("a group that aborts some of its transactions", _some_transactions_abort, until=12 * MINUTE),
    Situation("a rolling deploy to another subscription", lambda: _split(0, 9 * MINUTE), until=12 * MINUTE),
    Situation("a new partition that is read late", _first_commit_after_a_rebalance, until=15 * MINUTE),
    Situation("a steady consumer", lambda: _alone(consume(STEADY, LONG, LATE))),
    Situation("a bursty producer", _bursts, until=25 * MINUTE),
    Situation(
        "an hourly batch whose members stay",
        lambda: _hourly(leaves=False),
        start=-100 * MINUTE,
        until=HOUR,
        tick=3 * TICK,
    ),
    Situation(
        "an hourly batch that leaves in between",
        lambda: _hourly(leaves=True),
        start=-100 * MINUTE,
        until=HOUR,
        tick=3 * TICK,
    ),
    Situation("a slow committer", _slow_committer),
    Situation("a committer without a rhythm", _irregular_committer, start=-10 * MINUTE, until=20 * MINUTE),
    Situation("a quiet topic", _quiet, start=-50 * MINUTE, until=HOUR, tick=2 * TICK),
    Situation("a marker at the end of a quiet topic", _marker, start=-15 * MINUTE, until=25 * MINUTE),
    Situation(
        "a transaction after a long rest before a marker",
        lambda: _stands_before_the_marker(_ReadAtRest()),
        start=-30 * MINUTE,
        until=5 * MINUTE,
    ),
    Situation(
        "at rest before a marker that may not be read",
        lambda: _stands_before_the_marker(_unreadable),
        start=-30 * MINUTE,
        until=5 * MINUTE,
    ),
    Situation(
        "stopped before a marker that may not be read",
        lambda: _stands_before_the_marker(
            _unreadable, memberships=[Membership(-2 * HOUR), Membership(-19 * MINUTE, EMPTY, 0)]
        ),
        start=-30 * MINUTE,
        until=-SECOND,
    ),
    Situation(
        "rebalancing before a marker that may not be read",
        lambda: _stands_before_the_marker(
            _unreadable, memberships=[Membership(-2 * HOUR), Membership(-19 * MINUTE, GroupStage.REBALANCING, 2)]
        ),
        start=-30 * MINUTE,
        until=-SECOND,
    ),
    Situation(
        "retention takes a marker that may not be read",
        _marker_that_retention_took,
        start=-30 * MINUTE,
        until=-SECOND,
    ),
    Situation("a compacted topic", _compacted),
    Situation("a planned reset that catches up", _planned_reset),
    Situation("a rolling restart of static members", _static_restarts),
    Situation("an autoscaling group", _autoscaling, until=15 * MINUTE),
    Situation("a deploy while working off a backlog", _deploy),
    Situation("a partition count that grew", _grown, until=15 * MINUTE),
    Situation("a transactional producer, one transaction a second", lambda: _transactional(SECOND)),
    Situation("a transactional producer that commits with its checkpoint", lambda: _transactional(2 * MINUTE)),
    Situation(
        "a group that starts while a transaction of a minute is open", lambda: _starts_before_a_transaction(MINUTE)
    ),
    Situation("the same with transactions of two minutes", lambda: _starts_before_a_transaction(2 * MINUTE)),
    Situation(
        "a reader of uncommitted records that starts while a transaction hangs",
        _reads_uncommitted_and_starts,
        until=15 * MINUTE,
    ),
    Situation("a leader election", _election),
    Situation("a young group that moves seldom and commits often", _moves_seldom, start=-5 * MINUTE),
    Situation("a broker restart", lambda: _broker_restart(hangs=False)),
    Situation("a broker restart, and a rebalance after it", _broker_restart_and_rebalance),
    Situation("a monitor whose reader is behind", _reader_behind),
    Situation("a partition without owner until the members look for it", _grown_and_unowned, until=15 * MINUTE),
    Situation("a batch that comes and goes all the time", _visits),
    Situation("a group that keeps its distance", _at_a_distance),
    Situation("a group that keeps its distance from the log start", _distance_from_log_start, until=20 * MINUTE),
    Situation("an end that is reported too low for a moment", _end_too_low),
    Situation("a hot partition whose member keeps up", _hot_but_read),
    Situation("a slow group that recovers", _recovering),
    Situation("a spike that is worked off", _short_of_a_spike),
    Situation("a topic deleted under its group", _deleted_topic),
)


KNOWN_TO_BE_LONG = Situation(
    "a group that starts where transactions are known to be long",
    _starts_again_before_long_transactions,
    start=-18 * MINUTE,
    until=16 * MINUTE,
)
"""This group is also healthy, but a restarted monitor does not know how long the transactions were."""


def _stuck_record() -> Scene:
    # One of four partitions has a record that cannot be processed, and has no more commits.
    good = [Partition(STEADY, consume(STEADY, LONG, LATE)) for _ in range(3)]
    return Scene([*good, Partition(STEADY, consume(STEADY, LONG, LATE, stuck_at=STEADY(0), repeats=False))])


def _stuck_at_once() -> Scene:
    # One of four partitions does not move since its first commit: its patience is that of its siblings.
    good = [Partition(STEADY, consume(STEADY, LONG, LATE)) for _ in range(3)]
    return Scene([*good, Partition(STEADY, consume(STEADY, 0, LATE, stuck_at=STEADY(0)))])


def _two_stuck_records() -> Scene:
    # One member owns five partitions, and two of them stand still; the other member is fine.
    good = [Partition(STEADY, consume(STEADY, LONG, LATE), owner=at % 2) for at in range(6)]
    bad = [Partition(STEADY, consume(STEADY, LONG, LATE, stuck_at=STEADY(0)), owner=0) for _ in range(2)]
    return Scene([*good, *bad], memberships=[Membership(LONG, members=2)])


def _dead_member() -> Scene:
    # One of two members dies; its partitions wait for its session to end, and then for the other one.
    good = [Partition(STEADY, consume(STEADY, LONG, LATE), owner=0) for _ in range(2)]
    gone = [Partition(STEADY, consume(STEADY, LONG, 0), owner=1) for _ in range(2)]
    return Scene([*good, *gone], memberships=[Membership(LONG, members=2)])


def _slow_group() -> Scene:
    commits = consume(STEADY, LONG, 0)
    return _alone([*commits, *consume(STEADY, SECOND, LATE, rate=80, position=STEADY(0))])


def _slow_group_and_restart() -> Scene:
    # The group is slow; after five minutes the cluster does not answer for 45 seconds, and the group stays as slow.
    pause = (5 * MINUTE, 5 * MINUTE + 45 * SECOND)
    commits = consume(STEADY, LONG, 0)
    commits += consume(STEADY, SECOND, pause[0], rate=80, position=STEADY(0))
    commits += consume(STEADY, pause[1] + 5 * SECOND, LATE, rate=80, position=commits[-1][1])
    return _alone(commits, away=lambda t: pause[0] < t < pause[1])


def _hot_partition() -> Scene:
    # One of four partitions suddenly gets eight times as much as its member can read.
    others = [Partition(STEADY, consume(STEADY, LONG, LATE)) for _ in range(3)]

    def hot(t: int) -> int:
        return STEADY(t) + max(t, 0)

    return Scene([*others, Partition(hot, consume(hot, LONG, LATE, rate=130))])


def _goes_back() -> Scene:
    # A live consumer goes back half an hour and reads on, hardly faster than records come.
    before = consume(STEADY, LONG, 0)
    return _alone([*before, *consume(STEADY, 5 * SECOND, LATE, rate=110, position=STEADY(-30 * MINUTE))])


def _hanging() -> Scene:
    # A transaction is opened at noon and never ends.

    def stable(t: int) -> int:
        return STEADY(min(t, 0))

    return Scene([Partition(STEADY, consume(stable, LONG, LATE), stable=stable)])


def _starts_before_a_hanging_transaction(*, repeats: bool, commits: bool = True) -> Scene:
    # A transaction is opened a minute before noon and never ends; the group is new at noon and finds nothing to read.

    def stable(t: int) -> int:
        return STEADY(min(t, -MINUTE))

    made = consume(stable, 0, LATE, repeats=repeats) if commits else []
    part = Partition(STEADY, made, stable=stable, owner=0, subscribed=1, exists_from=0)
    return _with_another_topic([part])


def _alone_with_hanging_transaction(commits: list[tuple[int, int]]) -> Scene:
    # A transaction was opened a minute before noon and never ends.

    def stable(t: int) -> int:
        return STEADY(min(t, -MINUTE))

    return Scene([Partition(STEADY, commits, stable=stable)])


def _hanging_behind_a_marker() -> Scene:
    # A transaction never ends; before it is the marker of an earlier transaction, which clients do not commit past.

    def stable(t: int) -> int:
        return STEADY(min(t, 0))

    return Scene([Partition(STEADY, consume(lambda t: stable(t) - 1, LONG, LATE), stable=stable)])


def _hanging_where_nothing_may_be_read() -> Scene:
    # A transaction never ends and the monitor may not read the topic: the last stable offset shows a record.
    return dataclasses.replace(_hanging_behind_a_marker(), tails=_unreadable)


def _dies_where_nothing_may_be_read() -> Scene:
    # The group dies, and there are more offsets than markers explain.
    return dataclasses.replace(_alone(consume(STEADY, LONG, 0)), tails=_unreadable)


def _overtaken() -> Scene:
    # Retention keeps ten minutes, in segments of one; the group reads half of what is written.

    def log_start(t: int) -> int:
        return STEADY(t - t % MINUTE - 10 * MINUTE)

    before = consume(STEADY, LONG, 0, rate=100, position=STEADY(LONG) - 20_000)
    commits = [*before, *consume(STEADY, 5 * SECOND, LATE, rate=50, position=before[-1][1])]
    return Scene([Partition(STEADY, commits, log_start=log_start)])


def _lost() -> Scene:
    # The group hangs, and retention passes it four minutes later.

    def log_start(t: int) -> int:
        return STEADY(0) + 5_000 if t >= 4 * MINUTE else 0

    return Scene([Partition(STEADY, consume(STEADY, LONG, 0), log_start=log_start)])


def _cannot_start() -> Scene:
    # The group hangs and retention passes it; from six minutes on, that loss ends each new process within seconds.
    memberships = [Membership(LONG)]
    starts = [*range(6 * MINUTE, 12 * MINUTE, 30 * SECOND)]
    for start in starts:
        memberships += [Membership(start), Membership(start + 5 * SECOND, EMPTY, 0)]
    part = Partition(STEADY, consume(STEADY, LONG, 0), log_start=lambda t: STEADY(0) + 5_000 if t >= 4 * MINUTE else 0)
    return Scene([part], memberships=memberships, rebalances=starts)


def _below_log_start() -> Scene:
    # The records of one partition end at noon. The last five are of no use to the group, and are deleted soon.
    end = by_list([*range(LONG, 0, SECOND)])

    def log_start(t: int) -> int:
        return end(t) if t >= 20 * SECOND else 0

    sparse = Partition(end, consume(end, LONG, -5 * SECOND), log_start=log_start, owner=0, subscribed=1)
    return Scene([Partition(STEADY, consume(STEADY, LONG, LATE), owner=0, subscribed=1), sparse])


def _storm() -> Scene:
    # Every twenty seconds, the only member is removed and joins again before it commits.
    times = [*range(0, HOUR, 20 * SECOND)]
    return _alone(consume(STEADY, LONG, 0), rebalances=times)


def _endless_rebalance() -> Scene:
    # One member does not join again in a rebalance, and the other members wait for it.
    memberships = (Membership(LONG, members=3), Membership(SECOND, GroupStage.REBALANCING, 3))
    return _alone(consume(STEADY, LONG, 0), memberships=memberships)


def _left_out() -> Scene:
    # After a rebalance one of the partitions has no owner.
    good = [Partition(STEADY, consume(STEADY, LONG, LATE), owner=at) for at in range(2)]
    out = Partition(STEADY, consume(STEADY, LONG, 0), owner=NO_OWNER, subscribed=1)
    return Scene([*good, out], memberships=[Membership(LONG, members=2), Membership(SECOND, members=2)])


def _never() -> Scene:
    # A partition is added, gets records, and is never read.
    late = Partition(evenly(100, start=0), [], exists_from=0)
    return Scene([Partition(STEADY, consume(STEADY, LONG, LATE)), late])


def _left_out_by_a_simple_group() -> Scene:
    # A consumer assigns three of four partitions to itself; the fourth one was added at noon.
    late = Partition(evenly(100, start=0), [], exists_from=0)
    good = [Partition(STEADY, consume(STEADY, LONG, LATE)) for _ in range(3)]
    return Scene([*good, late], memberships=[Membership(LONG, GroupStage.OFFSETS_ONLY)])


def _forgotten_early(*, again: int | None = None) -> Scene:
    # The topic is quiet. At noon the broker removes the offset of its only partition, although a member subscribes.
    def end(t: int) -> int:
        return STEADY(min(t, -2 * MINUTE))

    before = Partition(end, consume(end, LONG, 0, repeats=False), gone_from=0)
    commits = [] if again is None else [(again, end(again))]
    after = Partition(end, commits, exists_from=0, forgotten=-SECOND, owner=0, subscribed=1)
    return _with_another_topic([before, after])


def _never_between_rebalances() -> Scene:
    # A partition is added and never read, while members join and leave every four minutes.
    late = Partition(evenly(100, start=0), [], exists_from=0)
    often = [*range(2 * MINUTE, HOUR, 4 * MINUTE)]
    return Scene([Partition(STEADY, consume(STEADY, LONG, LATE)), late], rebalances=often)


def _unsubscribed() -> Scene:
    # The group moves to another topic; its offsets for the old one stay.
    old = Partition(STEADY, consume(STEADY, LONG, 0), topic="old", subscribed=0)
    new = Partition(STEADY, consume(STEADY, LONG, LATE), topic="new", subscribed=1)
    return Scene([old, new], memberships=[Membership(LONG), Membership(SECOND)])


def _cut() -> Scene:
    # An unclean election cuts the log below what the group has read; it is set back and reads on.

    def end(t: int) -> int:
        return STEADY(t) - (50_000 if t >= 0 else 0)

    def epoch(t: int) -> int:
        return 5 if t >= 0 else 4

    return Scene([Partition(end, consume(STEADY, LONG, -1), leader_epoch=epoch, commit_epoch=4)])


def _soon_expired() -> Scene:
    # The offsets of a stopped group expire after a day; the verdict is shown two hours before.
    commits = [(t, STEADY(t)) for t in range(LONG, 0, 5 * SECOND)]
    memberships = (Membership(LONG), Membership(SECOND, EMPTY, 0))
    return Scene([Partition(STEADY, commits, expiry=lambda _: 24 * HOUR)], memberships=memberships)


SICK = (
    Situation(
        "a process that hangs while its heartbeats go on",
        lambda: _alone(consume(STEADY, LONG, 0)),
        Verdict.STOPPED,
        known_at=PAUSED,
    ),
    Situation(
        "a dead process, whose session ends after 45 seconds",
        lambda: _alone(consume(STEADY, LONG, 0), memberships=(Membership(LONG), Membership(45 * SECOND, EMPTY, 0))),
        Verdict.NO_MEMBERS,
        known_at=75 * SECOND,
        on_the_way=(Verdict.STOPPED,),
    ),
    Situation(
        "members that left",
        lambda: _alone(consume(STEADY, LONG, 0), memberships=(Membership(LONG), Membership(SECOND, EMPTY, 0))),
        Verdict.NO_MEMBERS,
        known_at=PAUSED,
    ),
    Situation(
        "a simple group without a process",
        lambda: _alone(consume(STEADY, LONG, 0), memberships=[Membership(LONG, GroupStage.OFFSETS_ONLY)]),
        Verdict.STOPPED,
        known_at=PAUSED,
    ),
    Situation(
        "an hourly batch that does not come",
        lambda: dataclasses.replace(
            _hourly(leaves=False),
            partitions=[
                Partition(STEADY, [c for c in _hourly(leaves=False).partitions[0].commits if c[0] < -30 * MINUTE])
            ],
        ),
        Verdict.STOPPED,
        known_at=65 * MINUTE,  # twice the usual pause after the last commit
        start=-100 * MINUTE,
        until=75 * MINUTE,
        tick=3 * TICK,
    ),
    Situation(
        "a zombie that commits but does not poll further",
        lambda: _alone(consume(STEADY, LONG, LATE, stuck_at=STEADY(0))),
        Verdict.STALLED,
        known_at=PAUSED,
    ),
    Situation("a poison record", _stuck_record, Verdict.POISON_RECORD, known_at=PAUSED),
    Situation("a partition stuck at its first commit", _stuck_at_once, Verdict.POISON_RECORD, known_at=30 * SECOND),
    Situation("two poison records of one member", _two_stuck_records, Verdict.POISON_RECORD, known_at=PAUSED),
    Situation(
        "a paused partition",
        lambda: Scene(
            [
                *[Partition(STEADY, consume(STEADY, LONG, LATE)) for _ in range(2)],
                Partition(STEADY, consume(STEADY, LONG, LATE, stuck_at=STEADY(0))),
            ]
        ),
        Verdict.POISON_RECORD,
        known_at=PAUSED,
    ),
    Situation("one of two members dies", _dead_member, Verdict.STOPPED, known_at=PAUSED),
    Situation("a group that falls behind", _slow_group, Verdict.FALLING_BEHIND, known_at=140 * SECOND),
    Situation(
        "a group that falls behind, and a broker restart on top",
        _slow_group_and_restart,
        Verdict.FALLING_BEHIND,
        known_at=140 * SECOND,
        until=10 * MINUTE,
    ),
    Situation("a hot partition", _hot_partition, Verdict.SKEWED, known_at=40 * SECOND),
    Situation("a live consumer that goes back", _goes_back, Verdict.REWOUND, known_at=5 * SECOND),
    Situation("a hanging transaction", _hanging, Verdict.HELD_BACK, known_at=PAUSED),
    Situation("a hanging transaction behind a marker", _hanging_behind_a_marker, Verdict.HELD_BACK, known_at=PAUSED),
    Situation(
        "a group that starts before a hanging transaction and commits by the clock",
        lambda: _starts_before_a_hanging_transaction(repeats=True),
        Verdict.HELD_BACK,
        known_at=130 * SECOND,
    ),
    Situation(
        "a group that starts before a hanging transaction and commits once",
        lambda: _starts_before_a_hanging_transaction(repeats=False),
        Verdict.HELD_BACK,
        known_at=130 * SECOND,
    ),
    Situation(
        "a group that starts before a hanging transaction and commits nothing",
        lambda: _starts_before_a_hanging_transaction(repeats=False, commits=False),
        Verdict.HELD_BACK,
        known_at=6 * MINUTE,
        until=10 * MINUTE,
    ),
    Situation(
        "a reader of uncommitted records that hangs behind the beginning of a hanging transaction",
        lambda: _alone_with_hanging_transaction(consume(STEADY, LONG, 0)),
        Verdict.STOPPED,
        known_at=PAUSED,
    ),
    Situation(
        "a hanging transaction on a topic that may not be read",
        _hanging_where_nothing_may_be_read,
        Verdict.HELD_BACK,
        known_at=PAUSED,
    ),
    Situation(
        "a consumer dies on a topic that may not be read",
        _dies_where_nothing_may_be_read,
        Verdict.STOPPED,
        known_at=PAUSED,
    ),
    Situation(
        "a process that hangs, and a broker restart on top",
        lambda: _broker_restart(hangs=True),
        Verdict.STOPPED,
        known_at=PAUSED,
    ),
    Situation(
        "retention that overtakes a slow group",
        _overtaken,
        Verdict.LOSING_DATA,
        known_at=4 * MINUTE,
        start=-10 * MINUTE,
        on_the_way=(Verdict.FALLING_BEHIND,),
    ),
    Situation(
        "records lost under a hung group",
        _lost,
        Verdict.LOSING_DATA,
        known_at=4 * MINUTE,
        on_the_way=(Verdict.STOPPED,),
    ),
    Situation(
        "a client that commits the last offset it has read and hangs",
        lambda: commits_last_read(2, until=4 * MINUTE),
        Verdict.STOPPED,
        known_at=4 * MINUTE + PAUSED,
        until=6 * MINUTE,
    ),
    Situation(
        "a last record that cannot be processed", _last_record_is_bad, Verdict.STOPPED, known_at=0, start=-10 * MINUTE
    ),
    Situation(
        "a restart at the end after retention",
        _starts_at_the_end_after_retention,
        Verdict.SKIPPED,
        known_at=6 * MINUTE + 5 * SECOND,
        until=10 * MINUTE,
        on_the_way=(Verdict.STOPPED, Verdict.LOSING_DATA),
    ),
    Situation(
        "a group that leaves its backlog behind",
        _leaves_its_backlog,
        Verdict.SKIPPED,
        known_at=5 * SECOND,
        start=LONG,
    ),
    Situation(
        "a group that cannot start after its records are lost",
        _cannot_start,
        Verdict.LOSING_DATA,
        known_at=4 * MINUTE,
        until=12 * MINUTE,
        on_the_way=(Verdict.STOPPED,),
    ),
    Situation(
        "a partition that a group without membership leaves out",
        _left_out_by_a_simple_group,
        Verdict.NEVER_COMMITTED,
        known_at=6 * MINUTE,
        until=15 * MINUTE,
    ),
    Situation("an offset that is removed too early", _forgotten_early, Verdict.FORGOTTEN, known_at=0),
    Situation(
        "an offset that is removed too early and committed again",
        lambda: _forgotten_early(again=2 * MINUTE),
        Verdict.FORGOTTEN,
        known_at=0,
        until=14 * MINUTE,
        ends_at=10 * MINUTE,
    ),
    Situation(
        "two applications in one group",
        lambda: _split(0),
        Verdict.TWO_APPLICATIONS,
        known_at=10 * MINUTE,
        until=15 * MINUTE,
    ),
    Situation("a group whose transactions are all aborted", _every_transaction_aborts, Verdict.ABORTING, PAUSED),
    Situation(
        "a group whose transactions are all aborted, until it commits again",
        lambda: _every_transaction_aborts(back=3 * MINUTE),
        Verdict.ABORTING,
        known_at=PAUSED,
        ends_at=3 * MINUTE,
    ),
    Situation(
        "a group whose transactions are all aborted, until its process ends",
        lambda: _every_transaction_aborts(2 * MINUTE),
        Verdict.STOPPED,
        known_at=2 * MINUTE + 30 * SECOND,
        on_the_way=(Verdict.ABORTING,),
    ),
    Situation(
        "a group that has never committed, because all its transactions are aborted",
        _aborts_from_the_beginning,
        Verdict.ABORTING,
        known_at=6 * MINUTE,
        until=15 * MINUTE,
    ),
    Situation(
        "two clients that commit one partition",
        _two_clients,
        Verdict.TWO_COMMITTERS,
        known_at=2 * TICK,
        on_the_way=(Verdict.REWOUND,),
    ),
    Situation(
        "a second client that commits one partition and ends",
        lambda: _two_clients(4 * MINUTE),
        Verdict.TWO_COMMITTERS,
        known_at=2 * TICK,
        ends_at=4 * MINUTE + 3 * TICK,
        on_the_way=(Verdict.REWOUND,),
    ),
    Situation("a log that was cut", _cut, Verdict.TRUNCATED, known_at=0),
    Situation("a partition without leader", _leaderless, Verdict.NO_LEADER, known_at=30 * SECOND),
    Situation("a rebalance storm", _storm, Verdict.REBALANCE_STORM, known_at=80 * SECOND),
    Situation("a rebalance that does not end", _endless_rebalance, Verdict.REBALANCING_TOO_LONG, known_at=MINUTE),
    Situation("a partition without owner", _left_out, Verdict.UNASSIGNED, known_at=30 * SECOND),
    Situation(
        "a new partition that is never read", _never, Verdict.NEVER_COMMITTED, known_at=6 * MINUTE, until=15 * MINUTE
    ),
    Situation(
        "a new partition that is never read, between rebalances",
        _never_between_rebalances,
        Verdict.NEVER_COMMITTED,
        known_at=6 * MINUTE + 30 * SECOND,  # at six minutes it rebalances
        until=15 * MINUTE,
    ),
    Situation(
        "offsets about to expire",
        _soon_expired,
        Verdict.EXPIRING,
        known_at=18 * HOUR,
        start=18 * HOUR - 10 * MINUTE,
        until=18 * HOUR + 10 * MINUTE,
        on_the_way=(Verdict.NO_MEMBERS,),
    ),
    Situation(
        "a batch of one partition that ends: caught up and sound again",
        lambda: _alone([*consume(STEADY, LONG, 0), *consume(STEADY, 2 * MINUTE, LATE, rate=2_000, position=STEADY(0))]),
        Verdict.STOPPED,
        known_at=PAUSED,
        ends_at=2 * MINUTE,
    ),
)
NOTICED = (
    Situation(
        "a client that commits the last offset it has read, on two partitions",
        lambda: commits_last_read(2),
        Verdict.COMMITS_LAST_READ,
        known_at=2 * TICK,
        until=10 * MINUTE,
    ),
    Situation(
        "a partition whose last records are gone, and were of no use to the group",
        _below_log_start,
        Verdict.BELOW_LOG_START,
        known_at=20 * SECOND,
    ),
    Situation(
        "a batch in its first pause",
        lambda: _alone(consume(STEADY, 0, 10 * MINUTE, rate=1_000, position=STEADY(-HOUR), repeats=False)),
        Verdict.HABIT_UNKNOWN,
        known_at=10 * MINUTE + PAUSED,
        start=0,
        until=HOUR,
    ),
    Situation("an abandoned topic", _unsubscribed, Verdict.ABANDONED, known_at=30 * SECOND),
    Situation("a planned reset", _planned_reset, Verdict.RESET, known_at=20 * SECOND, ends_at=220 * SECOND),
    Situation("a group that recovers", _recovering, Verdict.RECOVERING, known_at=-340 * SECOND, ends_at=70 * MINUTE),
    Situation("a topic that is gone", _deleted_topic, Verdict.UNKNOWN, known_at=5 * SECOND),
)
assert NOON % HOUR == 0
