"""Simulated situations of groups, faulty and unusual but healthy, each with its verdict and when it can be known.

A fault can be known when an observer of every commit, every end and every membership record would be sure: after the
group has made no progress for longer than a pause may take, or when the event itself has happened.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from stream.groups.membership.model import MemberClient
from stream.health.features.control_records import LogTails
from stream.health.inputs import KEPT_FOREVER, NO_OWNER, GroupStage, HealthInputs, Subscribers
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


@dataclass(frozen=True)
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
    within: int = 3
    """Ticks from `known_at` to the verdict, at most."""
    on_the_way: tuple[Verdict, ...] = ()
    """Other faults that are also true before (or after) the wanted one."""


STEADY = evenly(100)
LONG, LATE = -20 * MINUTE, 30 * MINUTE
EMPTY, REBALANCING = GroupStage.EMPTY, GroupStage.REBALANCING
PAUSED = 50 * SECOND
"""The longest pause of a group that commits every five seconds."""


def _alone(commits: list[tuple[int, int]], **more: object) -> Scene:
    return Scene([Partition(STEADY, commits)], **more)  # type: ignore[arg-type] # the fields of Scene


def steady(until: int = LATE, **more: object) -> Partition:
    """Return a partition that is read without a lag until a time, with other fields of `Partition`."""
    return Partition(STEADY, consume(STEADY, LONG, until), **more)  # type: ignore[arg-type] # the fields of Partition


def in_transactions(length: int) -> Callable[[int], int]:
    """Return the last stable offset over time if each transaction has this length (ms)."""
    return lambda t: STEADY(t - t % length)


def hangs_since(time: int) -> Callable[[int], int]:
    """Return the last stable offset over time if a transaction is opened at this time and never ends."""
    return lambda t: STEADY(min(t, time))


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

    commits = consume(lambda t: max(end(t) - 1, 0), LONG, LATE, repeats=False)
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
    return LogTails(*(np.empty(0, np.int64) for _ in range(4)))


def _unreadable(seen: HealthInputs) -> LogTails:
    # The right to read the topic is missing.
    places = seen.ends.place
    return replace(no_tails(), unreadable=places, reasons=np.full(len(places), "not_authorized", object))


def _transactions(t: int) -> int:
    # Ten records and a marker are written every five seconds until -20 minutes, and once more at 0.
    until = min(t, -20 * MINUTE)
    return 11 * ((until + HOUR) // (5 * SECOND) + (1 if t >= 0 else 0))


def _stands_before_the_marker(tails: Callable[[HealthInputs], LogTails], **more: object) -> Scene:
    # A consumer commits the offset after the last record within three seconds, and nothing without new records.
    times = [*range(-40 * MINUTE, -20 * MINUTE + 1, 5 * SECOND)]
    commits = [(t, _transactions(t) - 1) for t in times] + [(3 * SECOND, _transactions(0) - 1)]
    return Scene([Partition(_transactions, commits)], tails=tails, **more)  # type: ignore[arg-type] # fields of Scene


def _rests_unread(stage: GroupStage, members: int) -> Scene:
    # The group stops or rebalances at rest before a marker that may not be read.
    memberships = [Membership(-2 * HOUR), Membership(-19 * MINUTE, stage, members)]
    return _stands_before_the_marker(_unreadable, memberships=memberships)


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
    return Scene([steady(), late])


def _transactional(length: int) -> Scene:
    # Records become readable when their transaction ends; the group reads up to there at once.
    stable = in_transactions(length)
    return Scene([Partition(STEADY, consume(stable, LONG, LATE), stable=stable)])


def _election() -> Scene:
    # The partition has no leader for 25 seconds: no end is known, and no member can read.
    pause = (0, 25 * SECOND)
    commits = consume(STEADY, LONG, 0) + consume(STEADY, pause[1], LATE, rate=500, position=STEADY(0))
    return Scene([Partition(STEADY, commits, known=lambda t: not pause[0] < t < pause[1])])


def _at_a_distance(**more: object) -> Scene:
    # The group stays five minutes behind, at the rate of the producer.
    commits = [(t, STEADY(t - 5 * MINUTE)) for t in range(LONG, HOUR, 5 * SECOND)]
    return Scene([Partition(STEADY, commits, **more)])  # type: ignore[arg-type] # the fields of Partition


def _kept_for_ten_minutes(t: int) -> int:
    # The log start over time: retention keeps ten minutes in segments of one minute.
    return STEADY(t - t % MINUTE - 10 * MINUTE)


def _deleting(commits: list[tuple[int, int]], every: int, kept: int = -1) -> Partition:
    # After a commit, but at most once in a time, the application deletes what it has read.
    purges: list[tuple[int, int]] = []
    for time, offset in commits:
        if not purges or time - purges[-1][0] >= every:
            purges.append((time, offset))
    times = np.array([time for time, _ in purges])
    return Partition(
        STEADY,
        commits,
        log_start=lambda t: purges[at][1] if (at := int(np.searchsorted(times, t, side="right")) - 1) >= 0 else 0,
        kept=kept,
    )


def _streams_application(pause: int) -> Scene:
    # It commits and purges a repartition topic every 30 seconds and pauses at noon; commits are read a second late.
    commits = consume(STEADY, LONG, 0, every=30 * SECOND)
    commits += consume(STEADY, pause, LATE, every=30 * SECOND, rate=400, position=STEADY(0))
    return Scene([_deleting(commits, 30 * SECOND, KEPT_FOREVER)], read_until=lambda t: t - SECOND)


def _wave(**more: object) -> Scene:
    # An exactly-once application commits every second, a minute behind, while the rate swings by a third.
    def read(t: int) -> int:
        swing = 100 * MINUTE / SECOND * np.sin(2 * np.pi * t / (5 * MINUTE)) / (2 * np.pi) * 5 / 3
        return STEADY(t - MINUTE) - int(swing)

    commits = [(t, read(t)) for t in range(LONG, LATE, SECOND)]
    return Scene([_deleting(commits, 30 * SECOND, **more)])  # type: ignore[arg-type] # kept


def _deletes_now_and_then() -> Scene:
    # A script deletes what the group has read every four minutes, twenty seconds after it has asked for its offset.
    commits = consume(STEADY, LONG, 0, rate=100, position=STEADY(LONG) - 2_000)
    commits += consume(STEADY, 40 * SECOND, LATE, rate=100, position=commits[-1][1])
    asked = _deleting(commits, 4 * MINUTE, 168 * HOUR)
    return Scene([replace(asked, log_start=lambda t: asked.log_start(t - 20 * SECOND))])


def _overtaken_by_another_group(rate: int) -> Scene:
    # Another group deletes what it has read, every 30 seconds; this one has a tenth of a backlog and reads more slowly.
    other = _deleting([(t, STEADY(t - 10 * MINUTE)) for t in range(LONG, LATE, 30 * SECOND)], 30 * SECOND, KEPT_FOREVER)
    before = consume(STEADY, LONG, 0, rate=100, position=STEADY(LONG) - 20_000)
    commits = [*before, *consume(STEADY, 5 * SECOND, LATE, rate=rate, position=before[-1][1])]
    return Scene([replace(other, commits=commits)])


def _removed_at_four_minutes(t: int) -> int:
    # The log start over time: retention passes what the group has read until noon.
    return STEADY(0) + 5_000 if t >= 4 * MINUTE else 0


def _recovering() -> Scene:
    # The group reads a backlog of an hour at twice the rate of the producer.
    position = STEADY(LONG) - 720_000
    return _alone(consume(STEADY, LONG, LATE, rate=200, position=position), memberships=[Membership(LONG)])


def _slow_for_a_minute() -> Scene:
    # The group reads a tenth of what is written, and then catches up.
    commits = consume(STEADY, LONG, 0)
    commits += consume(STEADY, 5 * SECOND, MINUTE, rate=10, position=commits[-1][1])
    return _alone([*commits, *consume(STEADY, 65 * SECOND, LATE, rate=300, position=commits[-1][1])])


def _more_than_usual() -> Scene:
    # For a minute and a half, producers write three times as much; the group reads twice as much as usual.

    def end(t: int) -> int:
        return STEADY(t) + 200 * min(max(t, 0), 90 * SECOND) // SECOND

    return Scene([Partition(end, consume(end, LONG, LATE, rate=200))])


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
    memberships = (Membership(LONG), Membership(110 * SECOND, REBALANCING), Membership(settled))
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
    stable = in_transactions(2 * MINUTE)
    return Scene([Partition(STEADY, consume(stable, -5 * MINUTE, LATE), stable=stable)])


def _end_too_low() -> Scene:
    # For 20 seconds the end that the cluster reports is lower than the commits, in the same leader epoch.

    def end(t: int) -> int:
        return STEADY(t) - (5_000 if 0 <= t < 20 * SECOND else 0)

    return Scene([Partition(end, consume(STEADY, LONG, LATE), leader_epoch=lambda _: 4, commit_epoch=4)])


def _hot_but_read() -> Scene:
    # One of four partitions suddenly gets eight times as many records, and its member reads all of them.

    def hot(t: int) -> int:
        return STEADY(t) + max(t, 0) * 7 // 10

    return Scene([*(steady() for _ in range(3)), Partition(hot, consume(hot, LONG, LATE, rate=850))])


def _deleted_topic() -> Scene:
    # The topic is deleted; the offsets stay until the broker removes them.
    return Scene([steady(0, known=lambda t: t < 5 * SECOND, reason="not_found")])


def _first_commit_after_a_rebalance() -> Scene:
    # Records are rare, and members join and leave: the group reads the first record after that at once.
    end = by_list([0, 9 * MINUTE])
    late = Partition(end, [(9 * MINUTE + 5 * SECOND, 2)], exists_from=0)
    return Scene([steady(), late], rebalances=range(2 * MINUTE, HOUR, 4 * MINUTE))


def _with_another_topic(partitions: list[Partition], **more: object) -> Scene:
    # Another topic is read all the time.
    return Scene([*partitions, steady(topic="others")], **more)  # type: ignore[arg-type] # the fields of Scene


def _starts_before_a_transaction(length: int) -> Scene:
    # The group is new just after a transaction was opened, and commits by the clock; it moves when that ends.
    stable = in_transactions(length)
    return _with_another_topic([Partition(STEADY, consume(stable, SECOND, LATE), stable=stable, exists_from=SECOND)])


def _reads_uncommitted_and_starts() -> Scene:
    # A transaction hangs, and a group that reads uncommitted records starts at the end; it commits every four minutes.
    commits = [(t, STEADY(t)) for t in range(0, LATE, 4 * MINUTE)]
    return _with_another_topic([Partition(STEADY, commits, stable=hangs_since(-MINUTE), exists_from=0)])


def pausing(pauses: tuple[tuple[int, int], ...]) -> Callable[[int], int]:
    """Return the end offset over time with 100 records per second, and none in these pauses."""
    return lambda t: STEADY(t - sum(max(min(t, until) - since, 0) for since, until in pauses))


PAUSES = ((0, 4 * MINUTE), (5 * MINUTE, 9 * MINUTE))


def commits_last_read(partitions: int, pauses: tuple[tuple[int, int], ...] = PAUSES, until: int = LATE) -> Scene:
    """Return a client that commits the offset of the last record it has read, while producers pause now and then."""
    end = pausing(pauses)
    commits = [(t, offset - 1) for t, offset in consume(end, LONG, until)]
    return Scene([Partition(end, commits, owner=0, subscribed=1) for _ in range(partitions)])


def _hangs_at_last_read() -> Scene:
    return commits_last_read(2, until=4 * MINUTE)


def _first_pause() -> Scene:
    # A batch reads an hour of records in ten minutes.
    return _alone(consume(STEADY, 0, 10 * MINUTE, rate=1_000, position=STEADY(-HOUR), repeats=False))


def _last_record_is_bad() -> Scene:
    # The group reads ten records a minute at once; it cannot process the last one before the end of production.
    end = by_list([minute * MINUTE + at * SECOND for minute in range(-20, 0) for at in range(10)])
    return Scene([Partition(end, consume(end, LONG, LATE, stuck_at=199, repeats=False))])


def _starts_at_the_end_after_retention() -> Scene:
    # The group hangs, retention passes it, and at six minutes a restarted process begins at the end.
    restart = 6 * MINUTE
    commits = consume(STEADY, LONG, 0) + consume(STEADY, restart + 5 * SECOND, LATE)
    part = Partition(STEADY, commits, log_start=_removed_at_four_minutes)
    return Scene([part], memberships=[Membership(LONG), Membership(restart)])


def leaves_its_backlog(*, gapless: bool = True, back: bool = False) -> Scene:
    """Return a group with a backlog of hours that begins at the end at noon; with `back` it is set back to read it."""
    before = consume(STEADY, LONG, 0, rate=150, position=STEADY(LONG) - 500_000)
    after = consume(STEADY, 5 * SECOND, 3 * MINUTE if back else LATE)
    again = consume(STEADY, 3 * MINUTE + 5 * SECOND, LATE, rate=150, position=before[-1][1]) if back else []
    return Scene([Partition(STEADY, [*before, *after, *again], gapless=gapless)])


def _slow_for_a_while() -> Scene:
    # A group keeps up with 26 records per second; a slow database lets it read one for 200 seconds, and it recovers.
    end = evenly(26)
    commits = consume(end, LONG, 0)
    commits += consume(end, 5 * SECOND, 200 * SECOND, rate=1, position=end(0))
    return Scene([Partition(end, [*commits, *consume(end, 205 * SECOND, LATE)])])


def _hand_over(*, at_the_end: bool) -> Scene:
    # The member that works off a backlog leaves; after 25 seconds another one begins at the end, or goes on, faster.
    before = consume(STEADY, LONG, 0, rate=110, position=STEADY(LONG) - 18_000)
    goes_on = consume(STEADY, 27 * SECOND, LATE, rate=500, position=before[-1][1])
    commits = [*before, *(consume(STEADY, 27 * SECOND, LATE) if at_the_end else goes_on)]
    parts = [
        Partition(STEADY, commits, owner=0, gone_from=25 * SECOND),
        Partition(STEADY, commits, owner=1, exists_from=25 * SECOND),
    ]
    clients = [MemberClient(name, name, "/10.0.0.7") for name in ("shop-1", "shop-2")]
    return Scene(parts, rebalances=[25 * SECOND], clients=clients)


def _split(since: int, until: int = 1 << 40) -> Scene:
    # All partitions are read; from one time until another the members subscribe to different topics.
    members = [MemberClient(name, name, "/10.0.0.7") for name in ("shop-1", "shop-2", "audit-1")]
    differ = (Subscribers(("orders",), tuple(members[:2])), Subscribers(("orders", "returns"), tuple(members[2:])))
    parts = [steady(owner=0, subscribed=1)]
    return Scene(parts, clients=members, subscribers=lambda t: differ if since <= t < until else ())


def _two_clients(until: int = LATE) -> Scene:
    # From noon on a second client commits the same partition; it begins two hours back and reads as slowly.
    first = consume(STEADY, LONG, LATE)
    second = consume(STEADY, 2 * SECOND, until, rate=200, position=STEADY(0) - 700_000)
    return _alone(sorted([*first, *second]), memberships=[Membership(LONG, GroupStage.OFFSETS_ONLY)])


def _every_transaction_aborts(until: int) -> Scene:
    # Each transaction is aborted from noon on, until the client ends.
    return _alone_aborting(consume(STEADY, LONG, 0), range(5 * SECOND, until, 5 * SECOND))


def _aborts_from_the_beginning() -> Scene:
    # A partition is added, and none of the transactions with its records is ever committed.
    aborts = range(5 * SECOND, LATE, 5 * SECOND)
    return Scene([steady(), Partition(evenly(100, start=0), [], aborts=aborts, exists_from=0)])


def _some_transactions_abort() -> Scene:
    # Two of five transactions are aborted, and every five minutes three more in a row.
    commits = [each for each in consume(STEADY, LONG, LATE) if each[0] // (5 * SECOND) % 5 < 3]
    commits = [each for each in commits if each[0] % (5 * MINUTE) >= 15 * SECOND]
    times = {time for time, _ in commits}
    return _alone_aborting(commits, [time for time in range(LONG, LATE, 5 * SECOND) if time not in times])


def _alone_aborting(commits: list[tuple[int, int]], aborts: Sequence[int]) -> Scene:
    return Scene([Partition(STEADY, commits, aborts=aborts, owner=0, subscribed=1)])


HOURLY = {"start": -100 * MINUTE, "until": HOUR, "tick": 3 * TICK}
BEFORE_NOON = {"start": -30 * MINUTE, "until": -SECOND}
HEALTHY = (
    Situation("a group that aborts some of its transactions", _some_transactions_abort, until=12 * MINUTE),
    Situation("a rolling deploy to another subscription", lambda: _split(0, 9 * MINUTE), until=12 * MINUTE),
    Situation("a new partition that is read late", _first_commit_after_a_rebalance, until=15 * MINUTE),
    Situation("a bursty producer", _bursts, until=25 * MINUTE),
    Situation("an hourly batch whose members stay", lambda: _hourly(leaves=False), **HOURLY),
    Situation("an hourly batch that leaves in between", lambda: _hourly(leaves=True), **HOURLY),
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
    Situation("stopped before a marker that may not be read", lambda: _rests_unread(EMPTY, 0), **BEFORE_NOON),
    Situation("a compacted topic", _compacted),
    Situation("a rolling restart of static members", _static_restarts),
    Situation("a deploy while working off a backlog", _deploy),
    Situation("a partition count that grew", _grown, until=15 * MINUTE),
    Situation("a transactional producer that commits with its checkpoint", lambda: _transactional(2 * MINUTE)),
    Situation("a group that starts in a transaction of a minute", lambda: _starts_before_a_transaction(MINUTE)),
    Situation("an uncommitted reader starts in a transaction", _reads_uncommitted_and_starts, until=15 * MINUTE),
    Situation("a leader election", _election),
    Situation("a young group that moves seldom and commits often", _moves_seldom, start=-5 * MINUTE),
    Situation("a broker restart", lambda: _broker_restart(hangs=False)),
    Situation("a broker restart, and a rebalance after it", _broker_restart_and_rebalance),
    Situation("a monitor whose reader is behind", _reader_behind),
    Situation("a partition without owner until the members look for it", _grown_and_unowned, until=15 * MINUTE),
    Situation("a batch that comes and goes all the time", _visits),
    Situation(
        "a group that keeps its distance from the log start",
        lambda: _at_a_distance(log_start=_kept_for_ten_minutes),
        until=20 * MINUTE,
    ),
    Situation("a pause of an application that purges its repartition topic", lambda: _streams_application(40 * SECOND)),
    Situation("a swinging rate of an exactly-once application that purges", partial(_wave, kept=KEPT_FOREVER)),
    Situation("a script that deletes what has been read", _deletes_now_and_then, until=20 * MINUTE),
    Situation("an offset deleted on purpose", lambda: _deleted_offset(again=4 * MINUTE), until=15 * MINUTE),
    Situation("a new partition that a simple group finds later", lambda: _grown_and_found(290), until=15 * MINUTE),
    Situation("a deploy where retention keeps 40 seconds", lambda: _gone_with_short_retention(until=25 * SECOND)),
    Situation("a hand-over to a faster member", lambda: _hand_over(at_the_end=False), start=LONG),
    Situation("an end that is reported too low for a moment", _end_too_low),
    Situation("a hot partition whose member keeps up", _hot_but_read),
    Situation("a spike that is worked off", _short_of_a_spike),
    Situation("a group that is slow for a minute", _slow_for_a_minute),
    Situation("more records than usual for a minute and a half", _more_than_usual),
    Situation("a copy of offsets whose source rests", lambda: _copied(GroupStage.MIRRORED), until=15 * MINUTE),
)


def _stuck_record() -> Scene:
    # One of four partitions of a member has a record that cannot be processed, and has no more commits.
    stuck = Partition(STEADY, consume(STEADY, LONG, LATE, stuck_at=STEADY(0), repeats=False))
    return Scene([*(steady() for _ in range(3)), stuck])


def _only_partition_of_a_member(*restarts: int) -> Scene:
    # Each of three members owns one partition, and one of them stands still.
    stuck = Partition(STEADY, consume(STEADY, LONG, LATE, stuck_at=STEADY(0), repeats=False), owner=2)
    parts = [steady(owner=0), steady(owner=1), stuck]
    return Scene(parts, memberships=[Membership(LONG, members=3)], rebalances=restarts)


def _dead_member() -> Scene:
    # One of two members dies; its partitions wait for its session to end, and then for the other one.
    parts = [steady(owner=0), steady(owner=0), steady(0, owner=1), steady(0, owner=1)]
    return Scene(parts, memberships=[Membership(LONG, members=2)])


def _slow_group() -> Scene:
    commits = consume(STEADY, LONG, 0)
    return _alone([*commits, *consume(STEADY, SECOND, LATE, rate=80, position=STEADY(0))])


def _hanging(before: int = 0, **more: object) -> Scene:
    # A transaction is opened at noon and never ends; clients stop `before` it, at the marker of an earlier one.
    stable = hangs_since(0)
    return Scene([Partition(STEADY, consume(lambda t: stable(t) - before, LONG, LATE), stable=stable)], **more)


def _starts_when_it_hangs(*, repeats: bool = True, commits: bool = True) -> Scene:
    # A transaction is opened a minute before noon and never ends; the group is new at noon and finds nothing to read.
    stable = hangs_since(-MINUTE)
    made = consume(stable, 0, LATE, repeats=repeats) if commits else []
    return _with_another_topic([Partition(STEADY, made, stable=stable, owner=0, subscribed=1, exists_from=0)])


def _overtaken() -> Scene:
    # Retention keeps ten minutes, in segments of one; the group reads half of what is written.
    before = consume(STEADY, LONG, 0, rate=100, position=STEADY(LONG) - 20_000)
    commits = [*before, *consume(STEADY, 5 * SECOND, LATE, rate=50, position=before[-1][1])]
    return Scene([Partition(STEADY, commits, log_start=_kept_for_ten_minutes)])


def _cannot_start() -> Scene:
    # The group hangs and retention passes it; from six minutes on, that loss ends each new process within seconds.
    starts = [*range(6 * MINUTE, 12 * MINUTE, 30 * SECOND)]
    memberships = [Membership(LONG)]
    for start in starts:
        memberships += [Membership(start), Membership(start + 5 * SECOND, EMPTY, 0)]
    return Scene([steady(0, log_start=_removed_at_four_minutes)], memberships=memberships, rebalances=starts)


def below_log_start(removed_at: int) -> Scene:
    """Return a group that does not need the last records of a partition, which end at noon and are removed later."""
    end = by_list([*range(LONG, 0, SECOND)])
    commits = consume(end, LONG, -5 * SECOND)
    sparse = Partition(end, commits, log_start=lambda t: end(t) if t >= removed_at else 0, owner=0, subscribed=1)
    return Scene([steady(owner=0, subscribed=1), sparse])


def _storm() -> Scene:
    # Every twenty seconds, the only member is removed and joins again before it commits.
    return _alone(consume(STEADY, LONG, 0), rebalances=[*range(0, HOUR, 20 * SECOND)])


def _never(rebalances: Sequence[int] = ()) -> Scene:
    # A partition is added, gets records, and is never read.
    return Scene([steady(), Partition(evenly(100, start=0), [], exists_from=0)], rebalances=rebalances)


def _left_out_by_a_simple_group() -> Scene:
    # A consumer assigns three of four partitions to itself; the fourth one was added at noon.
    late = Partition(evenly(100, start=0), [], exists_from=0)
    return Scene([*(steady() for _ in range(3)), late], memberships=[Membership(LONG, GroupStage.OFFSETS_ONLY)])


def _grown_and_found(seconds: int) -> Scene:
    # A consumer assigns three of four partitions to itself; the fourth one was added at noon, and is found later.
    end = evenly(100, start=0)
    late = Partition(end, consume(end, seconds * SECOND, LATE, position=0), exists_from=0)
    return Scene([*(steady() for _ in range(3)), late], memberships=[Membership(LONG, GroupStage.OFFSETS_ONLY)])


def _forgotten_early(*, again: int | None = None) -> Scene:
    # The topic is quiet. At noon the broker removes the offset of its only partition, although a member subscribes.
    def end(t: int) -> int:
        return STEADY(min(t, -2 * MINUTE))

    before = Partition(end, consume(end, LONG, 0, repeats=False), gone_from=0)
    commits = [] if again is None else [(again, end(again))]
    after = Partition(end, commits, exists_from=0, forgotten=-SECOND, owner=0, subscribed=1)
    return _with_another_topic([before, after])


def _deleted_offset(*, again: int | None = None) -> Scene:
    # The group is stopped for a minute, and a tool deletes its offset; the new member commits late, or never.
    before = steady(0, gone_from=10 * SECOND)
    commits = [] if again is None else consume(STEADY, again, LATE)
    after = Partition(STEADY, commits, exists_from=MINUTE, removed=10 * SECOND, owner=0, subscribed=1)
    memberships = [Membership(LONG), Membership(SECOND, EMPTY, 0), Membership(MINUTE)]
    return Scene([before, after], memberships=memberships)


def _unsubscribed() -> Scene:
    # The group moves to another topic; its offsets for the old one stay.
    parts = [steady(0, topic="old", subscribed=0), steady(topic="new", subscribed=1)]
    return Scene(parts, memberships=[Membership(LONG), Membership(SECOND)])


def _scaled_to_zero(*, back: bool = False) -> Scene:
    # The group moves to another topic, later it is scaled to zero; that topic is not written any more.
    quiet = Partition(lambda t: STEADY(min(t, 0)), consume(lambda t: STEADY(min(t, 0)), LONG, MINUTE), topic="new")
    old = steady(-4 * MINUTE, topic="old")
    parts = [
        replace(part, subscribed=subscribed, exists_from=since, gone_from=until)
        for part, known in (
            (old, [(1, LONG, -3 * MINUTE), (0, -3 * MINUTE, 2 * MINUTE), (-1, 2 * MINUTE, 5 * MINUTE)]),
            (quiet, [(1, LONG, 2 * MINUTE), (-1, 2 * MINUTE, 5 * MINUTE)]),
        )
        for subscribed, since, until in (*known, (1 if back else -1, 5 * MINUTE, 1 << 40))
    ]
    memberships = [Membership(LONG), Membership(-3 * MINUTE), Membership(2 * MINUTE, EMPTY, 0)]
    return Scene(parts, memberships=[*memberships, *([Membership(5 * MINUTE)] if back else [])])


def _reads_three_of_four() -> Scene:
    # The members leave; a minute later a consumer with a fixed list of partitions goes on, without the last one.
    gone, start = -6 * MINUTE, -5 * MINUTE
    before = consume(STEADY, LONG, gone)
    parts = [
        Partition(STEADY, [*before, *consume(STEADY, start, LATE, rate=500, position=before[-1][1])]) for _ in range(3)
    ]
    return Scene([*parts, steady(gone)], memberships=[Membership(LONG), Membership(gone, EMPTY, 0)])


def _copied(stage: GroupStage) -> Scene:
    # A program writes the offsets by the minute, without members and up to 60 offsets behind; at noon its source rests.
    commits = [(t, STEADY(t) - STEADY(t) % 100 - 60) for t in range(LONG, 1, MINUTE)]
    return _alone(commits, memberships=[Membership(LONG, stage, -1)])


def _cut() -> Scene:
    # An unclean election cuts the log below what the group has read; it is set back and reads on.

    def end(t: int) -> int:
        return STEADY(t) - (50_000 if t >= 0 else 0)

    part = Partition(end, consume(STEADY, LONG, -1), leader_epoch=lambda t: 5 if t >= 0 else 4, commit_epoch=4)
    return Scene([part])


def _soon_expired() -> Scene:
    # The offsets of a stopped group expire after a day; the verdict is shown two hours before.
    commits = [(t, STEADY(t)) for t in range(LONG, 0, 5 * SECOND)]
    memberships = (Membership(LONG), Membership(SECOND, EMPTY, 0))
    return Scene([Partition(STEADY, commits, expiry=lambda _: 24 * HOUR)], memberships=memberships)


def _stops(*later: Membership, **more: object) -> Callable[[], Scene]:
    # The group commits until noon, and its membership changes after that.
    return lambda: Scene([steady(0)], memberships=(Membership(LONG), *later), **more)  # type: ignore[arg-type]


def _gone_with_short_retention(*, until: int = LATE) -> Scene:
    # Retention keeps 40 seconds; the members leave at noon, and are back after a deploy or not at all.
    commits = consume(STEADY, LONG, 0)
    commits += consume(STEADY, until, LATE, rate=500, position=STEADY(0)) if until < LATE else []
    memberships = [Membership(LONG), Membership(SECOND, EMPTY, 0), Membership(until)]
    return Scene(
        [Partition(STEADY, commits, log_start=lambda t: STEADY(t - 40 * SECOND), retention=40 * SECOND)],
        memberships=memberships,
    )


def _a_missing_batch() -> Scene:
    whole = _hourly(leaves=False)
    return replace(whole, partitions=[Partition(STEADY, [c for c in whole.partitions[0].commits if c[0] < -HOUR // 2])])


def sick_until(until: int, kind: str) -> Scene:
    """Return a group whose last partition has this kind of fault from noon until a time."""
    before, well = consume(STEADY, LONG, 0), consume(STEADY, until, LATE, rate=5_000, position=STEADY(0))
    slow = consume(STEADY, SECOND, until - SECOND, rate=60, position=STEADY(0))
    back = consume(STEADY, 5 * SECOND, until - SECOND, rate=110, position=STEADY(-60 * MINUTE))
    slow += consume(STEADY, until, LATE, rate=500, position=slow[-1][1])
    back += consume(STEADY, until, LATE, rate=1_000, position=back[-1][1])
    stalled = [*consume(STEADY, SECOND, until - 1, stuck_at=STEADY(0)), *well]
    meanwhile = {"stalled": stalled, "falling_behind": slow, "skewed": slow, "rewound": back}
    parts = [steady(owner=0) for _ in range({"poison_record": 1, "skewed": 3}.get(kind, 0))]
    if kind == "unassigned":
        owned_until = Partition(STEADY, before, owner=NO_OWNER, subscribed=1, gone_from=until - SECOND)
        owned_again = Partition(STEADY, [*before, *well], owner=0, subscribed=1, exists_from=until - SECOND)
        return Scene([owned_until, owned_again], memberships=(Membership(LONG), Membership(SECOND)))
    log: dict[str, dict[str, object]] = {
        "held_back": {"stable": lambda t: STEADY(0 if 0 <= t < until else t)},
        "no_leader": {"known": lambda t: not 0 <= t < until},
        "losing_data": {"log_start": lambda t: STEADY(0) + 100 if t >= 2 * SECOND else 0},
        "aborting": {"aborts": range(5 * SECOND, until, 5 * SECOND)},
    }
    parts.append(Partition(STEADY, [*before, *meanwhile.get(kind, well)], owner=0, **log.get(kind, {})))
    away = {"no_members": Membership(SECOND, EMPTY, 0), "rebalancing_too_long": Membership(SECOND, REBALANCING)}
    changes = (away[kind], Membership(until - 2 * SECOND)) if kind in away else ()
    return Scene(parts, memberships=(Membership(LONG), *changes))


V = Verdict
WAKE = 6 * MINUTE + 3 * SECOND
KNOWN_AT = {
    "stopped": PAUSED,
    "stalled": PAUSED,
    "poison_record": PAUSED,
    "no_members": PAUSED,
    "held_back": PAUSED,
    "falling_behind": 90 * SECOND,
    "skewed": 40 * SECOND,
    "rewound": 5 * SECOND,
    "aborting": PAUSED,
    "losing_data": 2 * SECOND,
    "no_leader": 30 * SECOND,
    "unassigned": 30 * SECOND,
    "rebalancing_too_long": MINUTE,
}
"""When the kinds of faults of `sick_until` can be known."""


def lasting(until: int = WAKE, ends_at: int | None = WAKE, last: int = 14 * MINUTE) -> list[Situation]:
    """Return a situation for each kind of fault, which begins at noon and ends at a time."""
    return [
        Situation(kind, partial(sick_until, until, kind), V(kind), known_at, ends_at=ends_at, until=last)
        for kind, known_at in KNOWN_AT.items()
    ]


def fault(
    story: str,
    wanted: Verdict,
    known_at: int,
    scene: Callable[[], Scene],
    *way: Verdict,
    start: int = -6,
    until: int = 7,
    **more: int,
) -> Situation:
    """Return a situation that can be known at a time in seconds, watched between two times in minutes.

    Other faults on the `way` are also true before or after the wanted one; other fields (`more`) are in milliseconds.
    """
    times = {"known_at": known_at * SECOND, "start": start * MINUTE, "until": until * MINUTE, **more}
    return Situation(story, scene, wanted, **times, on_the_way=way)


SICK = (
    *lasting(),
    fault("a dead process, with a session of 45 s", V.NO_MEMBERS, 75, _stops(Membership(45_000, EMPTY, 0)), V.STOPPED),
    fault(
        "a simple group that commits by the minute and hangs",
        *(V.STOPPED, 110, lambda: _copied(GroupStage.OFFSETS_ONLY)),
    ),
    fault("gone where retention keeps 40 seconds", V.NO_MEMBERS, 50, _gone_with_short_retention, V.LOSING_DATA),
    fault(
        "a group whose members subscribe again to a topic that they had left",
        *(V.STOPPED, 340, lambda: _scaled_to_zero(back=True)),
    ),
    fault("a fixed list without one partition", V.STOPPED, -265, _reads_three_of_four, V.NO_MEMBERS, start=-8),
    # The batch is missing after twice the usual pause since its last commit.
    fault("an hourly batch does not come", V.STOPPED, 65 * 60, _a_missing_batch, start=-100, until=75, tick=3 * TICK),
    fault("a poison record", V.POISON_RECORD, 50, _stuck_record, within=1),
    fault(
        "the only partition of a member stands, also after a restart",
        *(V.POISON_RECORD, 100, lambda: _only_partition_of_a_member(80 * SECOND), V.STOPPED),
    ),
    fault("one of two members dies", V.STOPPED, 50, _dead_member),
    fault("a group that falls behind", V.FALLING_BEHIND, 100, _slow_group),
    fault("a hanging transaction behind a marker", V.HELD_BACK, 50, lambda: _hanging(1)),
    fault("starts before a hanging transaction and commits by the clock", V.HELD_BACK, 70, _starts_when_it_hangs),
    fault(
        "starts before a hanging transaction and commits once",
        *(V.HELD_BACK, 70, lambda: _starts_when_it_hangs(repeats=False)),
    ),
    fault(
        "the same, and the transaction is known to hang",
        *(V.HELD_BACK, 30, lambda: replace(_starts_when_it_hangs(repeats=False), known_hanging=10 * SECOND)),
    ),
    fault(
        "starts before a hanging transaction and commits nothing",
        *(V.HELD_BACK, 360, lambda: _starts_when_it_hangs(commits=False)),
        until=10,
    ),
    fault(
        "a reader of uncommitted records hangs behind the beginning of a hanging transaction",
        *(V.STOPPED, 50, lambda: Scene([steady(0, stable=hangs_since(-MINUTE))])),
    ),
    # The monitor may not read the topic: the last stable offset shows a record, or more offsets than markers explain.
    fault("a hanging transaction before unreadable records", V.HELD_BACK, 50, lambda: _hanging(1, tails=_unreadable)),
    fault("a consumer dies before unreadable records", V.STOPPED, 50, _stops(tails=_unreadable)),
    fault("a process hangs, and a broker restart on top", V.STOPPED, 50, lambda: _broker_restart(hangs=True)),
    fault("retention overtakes a slow group", V.LOSING_DATA, 240, _overtaken, V.FALLING_BEHIND, start=-10),
    fault(
        "a slow group where another one deletes what it has read",
        *(V.LOSING_DATA, 200, lambda: _overtaken_by_another_group(50), V.FALLING_BEHIND),
        start=-10,
        until=15,
    ),
    fault("commits the last offset it has read and hangs", V.STOPPED, 290, _hangs_at_last_read, until=6),
    fault("a last record that cannot be processed", V.STOPPED, 0, _last_record_is_bad, start=-10),
    fault(
        "a restart at the end after retention",
        *(V.SKIPPED, 365, _starts_at_the_end_after_retention, V.STOPPED, V.LOSING_DATA),
        until=10,
    ),
    fault("a group that leaves its backlog behind", V.SKIPPED, 5, leaves_its_backlog, start=-20),
    fault(
        "a group that is slow for a while and catches up at once",
        *(V.FALLING_BEHIND, 90, _slow_for_a_while),
        start=-20,
        ends_at=205 * SECOND,
    ),
    fault(
        "a hand-over to a member that begins at the end", V.SKIPPED, 27, lambda: _hand_over(at_the_end=True), start=-20
    ),
    fault("cannot start after its records are lost", V.LOSING_DATA, 240, _cannot_start, V.STOPPED, until=12),
    fault("left out by a group without membership", V.NEVER_COMMITTED, 360, _left_out_by_a_simple_group, until=15),
    fault("an offset that is removed too early", V.FORGOTTEN, 0, _forgotten_early),
    fault(
        "an offset that is removed too early and committed again",
        *(V.FORGOTTEN, 0, lambda: _forgotten_early(again=2 * MINUTE)),
        ends_at=10 * MINUTE,
        until=14,
    ),
    fault("an offset that is deleted while the group is stopped", V.FORGOTTEN, 420, _deleted_offset, until=15),
    fault("two applications in one group", V.TWO_APPLICATIONS, 600, lambda: _split(0), until=15),
    fault(
        "all transactions are aborted, until the process ends",
        *(V.STOPPED, 150, lambda: _every_transaction_aborts(2 * MINUTE), V.ABORTING),
    ),
    fault("never committed, all transactions are aborted", V.ABORTING, 360, _aborts_from_the_beginning, until=15),
    fault("two clients that commit one partition", V.TWO_COMMITTERS, 20, _two_clients, V.REWOUND),
    fault(
        "a second client that commits one partition and ends",
        *(V.TWO_COMMITTERS, 20, lambda: _two_clients(4 * MINUTE), V.REWOUND),
        ends_at=4 * MINUTE + 3 * TICK,
    ),
    fault("a log that was cut", V.TRUNCATED, 0, _cut),
    fault("a rebalance storm", V.REBALANCE_STORM, 80, _storm),
    fault("a new partition that is never read", V.NEVER_COMMITTED, 360, _never, until=15),
    fault(
        "offsets expire", V.EXPIRING, 18 * 3_600, _soon_expired, V.NO_MEMBERS, start=18 * 60 - 10, until=18 * 60 + 10
    ),
)
NOTICED = (
    fault("commits the last offset it has read", V.COMMITS_LAST_READ, 20, lambda: commits_last_read(2), until=10),
    fault("unread records are gone", V.BELOW_LOG_START, 20, lambda: below_log_start(20 * SECOND)),
    fault("a batch in its first pause", V.HABIT_UNKNOWN, 650, _first_pause, start=0, until=60),
    fault("an abandoned topic", V.ABANDONED, 30, _unsubscribed),
    fault("an abandoned topic of a group without members", V.ABANDONED, -140, _scaled_to_zero, until=14),
    fault("a planned reset", V.RESET, 20, _planned_reset, ends_at=220 * SECOND),
    fault("a group that recovers", V.RECOVERING, -340, _recovering, ends_at=70 * MINUTE),
    fault("a topic that is gone", V.UNKNOWN, 5, _deleted_topic),
)
assert NOON % HOUR == 0
