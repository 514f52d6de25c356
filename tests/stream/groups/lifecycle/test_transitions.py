"""Transitions from records: each row is an example, read as one batch and record by record."""

from stream.groups.lifecycle.model import Removal, TransitionType
from stream.groups.lifecycle.record import GroupRecord
from stream.groups.lifecycle.transitions import close_operation, open_operation
from stream.groups.shard import StateLimits
from tests.stream.groups.written import (
    ORDERS,
    Written,
    classic,
    classic_member,
    gone,
    group_epoch,
    member,
    resolved,
    share_state,
    sharer,
    shares,
    stands,
    target,
    target_epoch,
    topology,
    worker,
    works,
)
from tests.support.commits import KEEP
from tests.support.driver_states import Timed
from tests.support.group_histories import at, commits, forgets, history_of_g, lines

NO_MEMBERS_YET = classic(generation=0, kind="")
DEAD_CLASSIC = gone(classic())


def generation(number: int, *names: str) -> Written:
    return classic(*(classic_member(name) for name in names), generation=number)


def static(number: int, *names: str) -> Written:
    """Return a classic generation of static members: member ids change with every start, instance ids do not."""
    members = (classic_member(name, instance=name.partition("#")[0]) for name in names)
    return classic(*members, generation=number)


def joins(name: str, epoch: int) -> list[Written]:
    """Return the records of a member that joins a consumer group and gets an assignment at once."""
    return [member(name, "t"), group_epoch(epoch), target(name, {}), target_epoch(epoch), stands(name, epoch, {})]


def leaves(name: str, epoch: int) -> list[Written]:
    """Return the records of a member that leaves a consumer group."""
    return [gone(stands(name, 1, {})), gone(target(name, {})), gone(member(name)), group_epoch(epoch)]


def deleted(*names: str) -> list[Written]:
    """Return the tombstones of a consumer group in Kafka's order; the one of type 4 is always written."""
    seen_topics = (b"\x00\x04\x00\x01g", None)
    assignments = [gone(stands(name, 1, {})) for name in names] + [gone(target(name, {})) for name in names]
    members = [gone(member(name)) for name in names]
    return [*assignments, gone(target_epoch(1)), *members, seen_topics, gone(group_epoch(1))]


CLASSIC = {
    "two consumers join one after the other and leave together": (
        [
            *at(10, NO_MEMBERS_YET),
            *at(20, generation(1, "a")),
            *commits(25, 0, 1),
            *at(30, generation(2, "a", "b")),
            *at(40, generation(3)),
        ],
        "10 created; 20 rebalanced +1; 30 rebalanced +1; 40 emptied -2",
    ),
    "old broker without generation 0: created and rebalanced at one time": (
        at(20, generation(1, "a", "b")),
        "20 created; 20 rebalanced +2",
    ),
    "one member leaves, two join, generations are skipped": (
        [*at(10, generation(1, "a", "b")), *at(20, generation(7, "b", "c", "d"))],
        "10 created; 10 rebalanced +2; 20 rebalanced +2 -1",
    ),
    "a static member restarts: the same generation is no rebalance": (
        [*at(10, static(1, "i#1", "k#1")), *at(20, static(1, "i#2", "k#1"))],
        "10 created; 10 rebalanced +2",
    ),
    "a static member restarts and rebalances: no member joins or leaves": (
        [*at(10, static(1, "i#1", "k#1")), *at(20, static(2, "i#2", "k#1"))],
        "10 created; 10 rebalanced +2; 20 rebalanced",
    ),
    "offsets and group deleted in one operation: one death": (
        [
            *at(10, generation(1, "a")),
            *commits(11, 0, 1),
            *at(20, generation(2)),
            *forgets(30, 0, 1),
            *at(30, DEAD_CLASSIC),
        ],
        "10 created; 10 rebalanced +1; 20 emptied -1; 30 dead classic/Empty offsets=2",
    ),
    "offsets removed first, the empty group later": (
        [*at(1, generation(1, "a")), *commits(1, 0), *at(2, generation(2)), *forgets(3, 0), *at(4, DEAD_CLASSIC)],
        "1 created; 1 rebalanced +1; 2 emptied -1; 3 forgotten classic/Empty offsets=1; 4 dead classic/Empty offsets=0",
    ),
    "offsets removed after the group: a simple group until then": (
        [*at(10, generation(1)), *commits(11, 0, 1), *at(30, DEAD_CLASSIC), *forgets(40, 0), *forgets(50, 1)],
        "10 created; 40 forgotten simple/Empty offsets=1; 50 dead simple/Empty offsets=1",
    ),
    "broker before 0.10.1 without Empty: the tombstone empties a group with offsets": (
        [*at(10, generation(1, "a", "b")), *commits(11, 0), *at(20, DEAD_CLASSIC)],
        "10 created; 10 rebalanced +2; 20 emptied -2",
    ),
    "broker before 0.10.1 without Empty: the tombstone ends a group without offsets": (
        [*at(10, generation(1, "a")), *at(20, DEAD_CLASSIC)],
        "10 created; 10 rebalanced +1; 20 dead -1 classic/Stable offsets=0",
    ),
    "recreated after its death, with generations from 0": (
        [*at(10, generation(1)), *at(20, DEAD_CLASSIC), *at(30, NO_MEMBERS_YET), *at(40, generation(1, "a"))],
        "10 created; 20 dead classic/Empty offsets=0; 30 reborn; 40 rebalanced +1",
    ),
    "offsets removed and committed again: one transition per removal": (
        [
            *at(10, generation(1, "a")),
            *commits(11, 0, 1),
            *forgets(20, 0),
            *commits(21, 0),
            *commits(22, 0),
            *forgets(30, 0, 1),
        ],
        "10 created; 10 rebalanced +1; 20 forgotten classic/Stable offsets=1; 30 forgotten classic/Stable offsets=2",
    ),
}

SIMPLE = {
    "commits only": ([*commits(10, 0), *commits(20, 0, 1), *commits(30, 2)], "10 created"),
    "first classic member of a simple group: no conversion": (
        [*commits(10, 0), *at(20, NO_MEMBERS_YET), *at(30, generation(1, "a"))],
        "10 created; 30 rebalanced +1",
    ),
    "first KIP-848 member of a simple group: no conversion": (
        [*commits(10, 0), *at(20, *joins("a", 2))],
        "10 created; 20 rebalanced +1",
    ),
    "all offsets deleted: a later tombstone of the group has no effect": (
        [*commits(10, 0, 1), *forgets(20, 0, 1), *at(600, DEAD_CLASSIC)],
        "10 created; 20 dead simple/Empty offsets=2",
    ),
    "offsets deleted and committed again later: recreated": (
        [*commits(10, 0), *forgets(20, 0), *commits(30, 1), *commits(31, 0)],
        "10 created; 20 dead simple/Empty offsets=1; 30 reborn",
    ),
    "last offset removed and another committed in one operation: no death": (
        [*commits(10, 0), *forgets(20, 0), *commits(20, 1)],
        "10 created; 20 forgotten simple/Empty offsets=1",
    ),
    "tombstones of unknown offsets have no effect": (
        [*commits(10, 0), *forgets(20, 7), *forgets(30, 0), *forgets(40, 0, 7)],
        "10 created; 30 dead simple/Empty offsets=1",
    ),
}

CONSUMER = {
    "two members join, one leaves before a new target, then the last leaves": (
        [
            *at(10, *joins("a", 1)),
            *at(20, *joins("b", 2)),
            *at(30, *leaves("a", 3)),
            *at(31, target_epoch(3)),
            *at(40, *leaves("b", 4)),
        ],
        "10 created; 10 rebalanced +1; 20 rebalanced +1; 31 rebalanced -1; 40 emptied -1",
    ),
    "4.3 assigns later: joined members are counted with the assignment": (
        [
            *at(10, member("a", "t"), group_epoch(2)),
            *at(12, member("b", "t"), group_epoch(3)),
            *at(15, target_epoch(3)),
            *at(16, stands("a", 3, {}), stands("b", 3, {})),
        ],
        "10 created; 15 rebalanced +2",
    ),
    "a regular expression is resolved, and a member reconciles: no rebalance": (
        [*at(10, *joins("a", 1)), *at(20, resolved("x", "orders")), *at(30, stands("a", 1, {ORDERS: [0]}))],
        "10 created; 10 rebalanced +1",
    ),
    "a member that joined and left before any assignment is counted when the group empties": (
        [*at(10, *joins("a", 1)), *at(20, member("b"), group_epoch(2)), *at(30, *leaves("b", 3), *leaves("a", 4))],
        "10 created; 10 rebalanced +1; 30 emptied -2",
    ),
    "the last member leaves and 4.4 writes an empty assignment: emptied, not rebalanced": (
        [*at(10, *joins("a", 1)), *at(20, *leaves("a", 2), target_epoch(2))],
        "10 created; 10 rebalanced +1; 20 emptied -1",
    ),
    "a static member is replaced under a new id: no transition": (
        [
            *at(10, member("a", instance="i"), group_epoch(1), target_epoch(1), stands("a", 1, {})),
            *at(20, gone(stands("a", 1, {})), gone(member("a")), member("b", instance="i"), stands("b", 1, {})),
        ],
        "10 created; 10 rebalanced +1",
    ),
    "an empty group expires with its offsets": (
        [*at(10, *joins("a", 1)), *commits(11, 0), *at(20, *leaves("a", 2)), *forgets(30, 0), *at(30, *deleted("a"))],
        "10 created; 10 rebalanced +1; 20 emptied -1; 30 dead consumer/Empty offsets=1",
    ),
}

CONVERSIONS = {
    "online upgrade with the generation as epoch": (
        [
            *at(10, generation(5, "a", "b")),
            *commits(11, 0),
            *at(20, DEAD_CLASSIC, member("a"), member("b"), group_epoch(5), target_epoch(5), stands("a", 5, {})),
        ],
        "10 created; 10 rebalanced +2; 20 converted classic>consumer",
    ),
    "online upgrade by the first KIP-848 member, with a rebalance": (
        [*at(10, generation(5, "a")), *at(20, DEAD_CLASSIC, member("a"), member("b"), group_epoch(6), target_epoch(6))],
        "10 created; 10 rebalanced +1; 20 converted classic>consumer; 20 rebalanced +1",
    ),
    "downgrade when the last KIP-848 member leaves, then a classic rebalance": (
        [
            *at(10, *joins("a", 1), *joins("b", 2)),
            *at(20, *deleted("a", "b"), generation(3, "a")),
            *at(30, generation(4, "a")),
        ],
        "10 created; 10 rebalanced +2; 20 converted consumer>classic; 30 rebalanced -1",
    ),
    "an empty classic group becomes a consumer group": (
        [*at(10, generation(1)), *commits(11, 0), *at(20, DEAD_CLASSIC, *joins("a", 2))],
        "10 created; 20 converted classic>consumer; 20 rebalanced +1",
    ),
    "an empty consumer group becomes a classic group without members": (
        [
            *at(10, *joins("a", 1)),
            *at(20, *leaves("a", 2)),
            *at(30, *deleted(), NO_MEMBERS_YET),
            *at(40, generation(1, "b")),
        ],
        "10 created; 10 rebalanced +1; 20 emptied -1; 30 converted consumer>classic; 40 rebalanced +1",
    ),
    "replaced in two operations, without offsets: a death and a recreation": (
        [*at(10, generation(1)), *at(20, DEAD_CLASSIC), *at(21, *joins("a", 1))],
        "10 created; 20 dead classic/Empty offsets=0; 21 reborn; 21 rebalanced +1",
    ),
    "offsets expire at the time of the conversion": (
        [*at(10, generation(1)), *commits(11, 0, 1), *at(20, DEAD_CLASSIC), *forgets(20, 0), *at(20, *joins("a", 2))],
        "10 created; 20 converted classic>consumer; 20 forgotten classic/Empty offsets=1; 20 rebalanced +1",
    ),
}

OTHERS = {
    "share group: member joins, is assigned, leaves; group deleted": (
        [
            *at(10, sharer("a", "t"), group_epoch(2, kind=11), target_epoch(2, kind=12), shares("a", 2, {})),
            *at(11, share_state({ORDERS: "orders"})),
            *at(20, group_epoch(3, kind=11), target_epoch(3, kind=12), shares("a", 3, {ORDERS: [0]})),
            *at(30, gone(shares("a", 1, {})), gone(sharer("a")), group_epoch(4, kind=11)),
            *at(40, share_state({}, {ORDERS: "orders"})),
            *at(50, gone(target_epoch(1, kind=12)), gone(share_state({})), gone(group_epoch(1, kind=11))),
        ],
        "10 created; 10 rebalanced +1; 20 rebalanced; 30 emptied -1; 50 dead share/Empty offsets=0",
    ),
    "streams group: member joins, gets tasks, leaves; offsets removed last": (
        [
            *at(10, worker("a"), topology(0, s0=["in"]), group_epoch(2, kind=17), target_epoch(2, kind=20)),
            *at(11, works("a", 2, active={})),
            *at(20, target_epoch(3, kind=20), works("a", 3, active={"0": [0]})),
            *commits(25, 0),
            *at(30, gone(works("a", 1)), gone(worker("a")), group_epoch(4, kind=17)),
            *at(40, gone(target_epoch(1, kind=20)), gone(group_epoch(1, kind=17)), gone(topology(0))),
            *forgets(50, 0),
        ],
        "10 created; 10 rebalanced +1; 20 rebalanced; 30 emptied -1; 50 dead simple/Empty offsets=1",
    ),
}


def test_transitions_follow_from_the_log() -> None:
    """Each example has exactly these transitions for any split of the log."""
    stories = CLASSIC | SIMPLE | CONSUMER | CONVERSIONS | OTHERS
    found = {story: "; ".join(lines(log)) for story, (log, _) in stories.items()}
    assert found == {story: transitions for story, (_, transitions) in stories.items()}


def test_a_death_has_all_evidence() -> None:
    """The evidence has kind, state and its time, protocol, and number, topics and last commits of the offsets."""
    log = [
        *at(10, generation(1, "a")),
        *commits(11, 0, 1, topic="u"),
        *commits(15, 0, topic="t"),
        *commits(19, 1, topic="u"),
        *at(20, classic(generation=2, time=19)),
        *forgets(30, 0, 1, topic="u"),
        *forgets(30, 0, topic="t"),
        *at(30, DEAD_CLASSIC),
    ]
    (death,) = [each for each in history_of_g(log).transitions if each.type is TransitionType.DEAD]
    assert death.removal == Removal(
        kind="classic",
        state="Empty",
        state_time=19,
        protocol_type="consumer",
        offsets=3,
        topics=("t", "u"),
        last_commit=19,
        first_commit=11,
        expire_time=None,
        time=30,
        offsets_time=30,
    )
    assert (death.time, death.position) == (30, 9)


def test_a_death_without_offsets_has_the_offsets_removed_last() -> None:
    """If offsets are removed with their topic minutes before the group, the death has these offsets and the time."""
    log = [*at(10, generation(1)), *commits(11, 0), *forgets(30, 0), *at(600, DEAD_CLASSIC)]
    ending = history_of_g(log).transitions[-1].removal
    assert (ending.offsets, ending.topics, ending.last_commit, ending.offsets_time) == (0, ("t",), 11, 30)
    assert ending.time == 600


def test_the_state_of_a_newer_group_starts_with_its_records() -> None:
    """Assigning, Reconciling and Stable each start at the time of the record that caused them."""
    log: list[Timed] = []
    for time, written, state, since in (
        (10, [member("a"), group_epoch(2)], "Assigning", 10),
        (20, [target_epoch(2)], "Reconciling", 20),
        (30, [stands("a", 2, {})], "Stable", 30),
        (40, [stands("a", 2, {ORDERS: [0]})], "Stable", 30),
    ):
        log += at(time, *written)
        seen = history_of_g(log)
        assert (seen.state, seen.since) == (state, since)


def test_the_newest_transitions_are_kept_and_all_are_counted() -> None:
    """Transitions beyond the limit replace the oldest ones; the counts include all."""
    rules = StateLimits(KEEP, keep_transitions=4)
    log = [record for n in range(1, 12) for record in at(10 * n, generation(n, "a"))]
    seen = history_of_g(log, rules)
    assert [each.time for each in seen.transitions] == [80, 90, 100, 110]
    assert seen.counts == {"created": 1, "rebalanced": 11}


def test_an_operation_copies_no_older_transitions() -> None:
    """Without a limit, as in a replay, each operation extends one list of transitions."""
    record, limits = GroupRecord(), StateLimits(0, None, None)
    older = record.older_transitions
    for time in range(3):
        record = open_operation(record, time, 0, limits)
        close_operation(record, None, has_offsets=time % 2 == 0, limits=limits)
        assert record.older_transitions is older
    assert [row[0].value for row in [*older, *record.new_transitions]] == ["created", "dead", "reborn"]


def test_a_group_is_recreated_within_the_grace_period_and_created_after_it() -> None:
    """Counts and transitions start again after the grace period."""
    rules = StateLimits(KEEP, dead_grace_ms=100)
    log = [*commits(10, 0), *forgets(20, 0)]
    again = history_of_g(log + commits(120, 0), rules)
    assert [each.type.value for each in again.transitions] == ["created", "dead", "reborn"]
    recreated = history_of_g(log + commits(121, 0), rules)
    assert [each.type.value for each in recreated.transitions] == ["created"]
    assert recreated.counts == {"created": 1}


def test_replayed_transitions_are_not_live() -> None:
    """Transitions from before the end of the catch-up are marked, so that they trigger no alert."""
    log = [*commits(10, 0), *forgets(20, 0), *commits(30, 0)]
    seen = history_of_g(log, StateLimits(KEEP, live_from=2))
    assert [each.live for each in seen.transitions] == [False, False, True]
