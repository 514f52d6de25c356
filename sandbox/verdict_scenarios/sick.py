"""Groups that need somebody, each with the verdicts that must be shown and from when on they can be known."""

from __future__ import annotations

import itertools
from typing import Final

from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.actions import (
    LEAVING_OUT,
    DeleteRecords,
    GoBack,
    Grow,
    HangInTransaction,
    HoldTransaction,
    Join,
    JoinAlone,
    JoinExactlyOnce,
    JoinGuest,
    Leave,
    Live,
    MoveTo,
    Vanish,
)
from sandbox.verdict_scenarios.scenario import EVENT, FINE, RATE, At, Expected, Flow, Habit, Scenario, Topic

BATCH: Final = 20.0
"""Seconds between two visits of a batch: the hour of the story would be the whole play."""
BATCH_TAKES: Final = 3.0
RETENTION: Final = 60.0
"""Seconds that a topic keeps its records where retention matters."""
SLOWLY: Final = 4.0
"""Offsets per second of a group that retention overtakes."""
OFFSETS_RETENTION: Final = 240.0
"""Seconds after which the broker of the play forgets the offsets of an empty group."""
LEFT_AT: Final = 20.0
STORM_EVERY: Final = 1.5
REBALANCES: Final = 7
"""One more than a rolling restart of two members may make."""


_phases = itertools.cycle((0.0, 1.2, 0.4, 1.6, 0.8))
"""Seconds: spread over a tick, else all would be found as late as the first one."""


def at_event(*actions: object, mark: str = "fault") -> At:
    """Do this when most faults happen."""
    return At(EVENT + next(_phases), actions, mark)  # type: ignore[arg-type] # actions


def visits(until: float) -> tuple[At, ...]:
    """Let a batch come and go in its own time, up to a moment."""
    starts = [5.0 + BATCH * number for number in range(100)]
    every = [
        step
        for start in starts
        if start < until
        for step in (
            At(start, (Live({"rate": 400.0}),)),
            At(start + BATCH_TAKES, (Live({"rate": 0.0}),), "last visit"),
        )
    ]
    return tuple(every)


ONE: Final = {"in": Topic()}
THREE: Final = {"in": Topic(3)}
FOUR: Final = {"in": Topic(4)}

SILENT: Final = (
    Scenario(
        "hung",
        "sick",
        "a process hangs while its heartbeats go on",
        THREE,
        (Join(),),
        script=(at_event(Live({"hung": ("a",)})),),
        expected=(Expected(("stopped",), pace.missed()),),
        # It holds up the rebalance that a restarted broker asks for, and is thrown out in the end.
        true_as_well=("rebalancing_too_long", "no_members", "expiring"),
    ),
    Scenario(
        "dead-process",
        "sick",
        "the only process dies without a word; its session ends later",
        ONE,
        (JoinGuest(),),
        script=(at_event(Vanish()),),
        # While the session lasts, a dead process looks like a hung one.
        expected=(Expected(("stopped",), pace.missed()), Expected(("no_members",), pace.times_out())),
        true_as_well=("expiring",),
    ),
    Scenario(
        "left-members",
        "sick",
        "both members leave in good order, and nobody comes back",
        THREE,
        (Join("a"), Join("b")),
        script=(at_event(Leave(("a", "b"))),),
        expected=(Expected(("no_members",), pace.stays_away()),),
        true_as_well=("expiring",),
    ),
    Scenario(
        "one-of-two-dies",
        "sick",
        "one of two members dies; when its session ends the other one takes over, and all is well again",
        FOUR,
        (JoinGuest("a"), JoinGuest("b")),
        script=(at_event(Vanish("b")),),
        expected=(
            Expected(("stopped", "poison_record"), pace.missed()),
            # Seen in the survivor's first commits, and withdrawn after three ticks without a finding.
            Expected(FINE, pace.SESSION + 3 * pace.TICK + pace.told()),
        ),
    ),
    Scenario(
        "simple-dead",
        "sick",
        "the process of a group without membership ends",
        ONE,
        (JoinAlone(),),
        script=(at_event(Leave()),),
        expected=(Expected(("stopped",), pace.missed()),),
        true_as_well=("expiring",),
    ),
    Scenario(
        "batch-missing",
        "sick",
        "a batch that came regularly does not come any more, its member stays",
        ONE,
        (Join(),),
        Habit(rate=0.0, repeats=False),
        script=visits(100.0),
        expected=(Expected(("stopped",), pace.missed_batches(BATCH), "last visit"),),
        judged_from=50.0,
    ),
    Scenario(
        "expiring",
        "sick",
        "a group that left: nobody reads, and in the end the broker is about to forget its offsets",
        ONE,
        (Join(),),
        script=(At(LEFT_AT, (Leave(),), "fault"),),
        # Of the life of an offset a quarter is left; the kept time is the broker's own setting.
        expected=(
            Expected(("no_members",), pace.stays_away()),
            Expected(("expiring",), 0.75 * OFFSETS_RETENTION),
        ),
    ),
)

STANDING: Final = (
    Scenario(
        "zombie",
        "sick",
        "a zombie: commits arrive, the offsets do not move",
        THREE,
        (Join(),),
        script=(at_event(Live({"stuck": (0, 1, 2)})),),
        expected=(Expected(("stalled",), pace.missed()),),
    ),
    Scenario(
        "poison",
        "sick",
        "a record of one partition cannot be processed; the partition is not committed any more",
        FOUR,
        (Join(),),
        script=(at_event(Live({"stuck": (3,), "repeats": False})),),
        expected=(Expected(("poison_record",), pace.missed()),),
    ),
    Scenario(
        "paused",
        "sick",
        "one partition is paused and its offset committed again and again",
        THREE,
        (Join(),),
        script=(at_event(Live({"stuck": (2,)})),),
        expected=(Expected(("poison_record",), pace.missed()),),
    ),
    Scenario(
        "open-transaction",
        "sick",
        "a producer leaves its transaction open, and a group of committed records stands before it",
        {"in": Topic(transaction=1.0)},
        (Join(isolated=True),),
        script=(at_event(HoldTransaction()),),
        expected=(Expected(("held_back",), pace.missed()),),
    ),
    Scenario(
        "hanging-commit",
        "sick",
        "a group's own transaction stays open with its offsets in it",
        {"in": Topic(), "out": Topic(flows=())},
        (JoinExactlyOnce(),),
        script=(at_event(HangInTransaction()),),
        expected=(Expected(("stopped", "held_back"), pace.hidden()),),
        corner=True,
    ),
    Scenario(
        "orphan",
        "sick",
        "after a deploy an assignor leaves one partition to nobody",
        THREE,
        (JoinGuest("a"),),
        script=(at_event(Leave(), JoinGuest("b", LEAVING_OUT)),),
        # A partition may be nobody's for as long as a restart takes.
        expected=(Expected(("unassigned",), pace.stays_away()),),
    ),
    Scenario(
        "never-committed",
        "sick",
        "a partition is added, gets records and belongs to a member, which never commits it",
        ONE,
        (Join(),),
        Habit(skipped=(1,)),
        script=(at_event(Grow(2)),),
        # Clients look for new partitions every five minutes: until then this is a partition like any new one.
        expected=(Expected(("never_committed",), pace.FIRST_COMMIT),),
    ),
)

MOVING: Final = (
    Scenario(
        "falling-behind",
        "sick",
        "a group reads four fifths of what is written",
        ONE,
        (Join(),),
        script=(at_event(Live({"rate": 0.8 * RATE})),),
        expected=(Expected(("falling_behind",), pace.drifted()),),
    ),
    Scenario(
        "skewed",
        "sick",
        "one of four partitions suddenly gets far more than its member can read",
        {"in": Topic(4, (Flow(), Flow(160.0, start=EVENT, partitions=(3,))))},
        (Join(),),
        Habit(rate=1.3 * RATE),
        script=(at_event(),),
        expected=(Expected(("skewed",), pace.outgrown(written=RATE + 160.0, read=1.3 * RATE)),),
        true_as_well=("falling_behind",),
    ),
    Scenario(
        "rewound",
        "sick",
        "a live consumer goes back by half an hour and reads on, hardly faster than records come",
        {"in": Topic(backlog=9_000)},
        (Join(),),
        script=(at_event(Live({"rate": 1.1 * RATE}), GoBack(7_200)),),
        expected=(Expected(("rewound",), pace.told()),),
    ),
    Scenario(
        "overtaken",
        "sick",
        "a group slows down so much that retention overtakes it",
        {"in": Topic(config={"retention.ms": str(int(RETENTION * 1_000)), "segment.ms": "6000"})},
        (Join(),),
        script=(at_event(Live({"rate": SLOWLY})),),
        expected=(
            Expected(("falling_behind", "losing_data"), pace.drifted()),
            Expected(("losing_data",), pace.forgone(RETENTION, written=RATE, read=SLOWLY)),
        ),
    ),
    Scenario(
        "lost",
        "sick",
        "a group hangs, and later records are removed that it has not read",
        ONE,
        (Join(),),
        script=(
            at_event(Live({"hung": ("a",)}), mark="hang"),
            At(EVENT + 30, (DeleteRecords(200),), "fault"),
        ),
        expected=(Expected(("stopped",), pace.missed(), "hang"), Expected(("losing_data",), pace.told())),
        true_as_well=("rebalancing_too_long", "no_members", "expiring"),
    ),
)

RESTLESS: Final = (
    Scenario(
        "storm",
        "sick",
        "a member comes and goes without end, and the group gets nothing done",
        THREE,
        (Join("a"),),
        script=(
            At(EVENT, (Live({"silent": True}),), "silence"),
            *(
                At(
                    EVENT + STORM_EVERY * number,
                    (Join("b"),) if number % 2 == 0 else (Leave(("b",)),),
                    "fault" if number == REBALANCES - 1 else None,
                )
                for number in range(60)
            ),
        ),
        # One rebalance more than a rolling restart makes.
        expected=(Expected(("rebalance_storm",), pace.told()),),
        true_as_well=("stopped",),
    ),
    Scenario(
        "endless-rebalance",
        "sick",
        "one member hangs, and a rebalance waits for it",
        THREE,
        (Join("a"), Join("b")),
        script=(at_event(Live({"hung": ("a",)}), Join("c")),),
        # Long for a rebalance: slow members may take a minute to finish what they have in hand.
        expected=(Expected(("rebalancing_too_long",), pace.REBALANCE),),
        true_as_well=("stopped", "poison_record"),
    ),
    Scenario(
        "abandoned",
        "sick",
        "the group moves to another topic; its offsets of the old one stay",
        {"in": Topic(), "new": Topic()},
        (Join(),),
        script=(at_event(MoveTo("new")),),
        # A group that resubscribes may come back within the time of a restart.
        expected=(Expected(("abandoned",), pace.stays_away()),),
    ),
)

SICK: Final = (*SILENT, *STANDING, *MOVING, *RESTLESS)
