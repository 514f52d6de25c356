"""Groups that commit, and are too slow, go back, or lose records or offsets."""

from typing import Final

from sandbox.clients.traffic import RATE, ClientBehaviour, Flow, ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios import scenario as do
from sandbox.verdict_scenarios.scenario import EVENT, ExpectedVerdict, VerdictScenario, step
from sandbox.verdict_scenarios.sick.parts import THREE, at_event

RETENTION: Final = 60.0
"""Seconds of retention.ms in scenarios about retention."""
SLOWLY: Final = 4.0
"""Offsets per second of a group that loses records to retention."""
REWIND_EVERY: Final = 8.0
REWIND_BY: Final = 140
"""Less than twice what is written in between, so the client reads most of the time, and reaches the end each time."""

MOVING: Final = (
    VerdictScenario(
        "falling-behind",
        "a group reads four fifths of what is written",
        script=(at_event(do.change_behaviour(rate=0.8 * RATE)),),
        expected=(ExpectedVerdict(("falling_behind",), pace.drifted()),),
    ),
    VerdictScenario(
        "skewed",
        "one of four partitions suddenly gets far more records than its member can process",
        topics={"in": ScenarioTopic(4, (Flow(), Flow(160.0, start=EVENT, partitions=(3,))))},
        behaviour=ClientBehaviour(rate=1.3 * RATE),
        script=(at_event(),),
        expected=(ExpectedVerdict(("skewed",), pace.unread_too_long(written=RATE + 160.0, read=1.3 * RATE)),),
        true_as_well=("falling_behind",),
    ),
    VerdictScenario(
        "rewound",
        "a running consumer goes back by half an hour and then reads hardly faster than records are written",
        topics={"in": ScenarioTopic(backlog=9_000)},
        script=(at_event(do.change_behaviour(rate=1.1 * RATE), do.seek_back(7_200)),),
        expected=(ExpectedVerdict(("rewound",), pace.next_sign()),),
    ),
    VerdictScenario(
        "rewinding",
        "one client seeks back again and again, and reads the records again at twice the rate of the producer",
        topics={"in": ScenarioTopic(backlog=2_000)},
        script=(
            step(EVENT - 1, do.change_behaviour(rate=2 * RATE)),
            *(
                step(
                    EVENT + REWIND_EVERY * number,
                    do.seek_back(REWIND_BY),
                    mark={0: "first step", 2: "fault"}.get(number),
                )
                for number in range(24)
            ),
        ),
        # After each of the first two steps it is rewound until it has read the records again. The third step
        # distinguishes it from a group that goes back once, and no step looks like a second client.
        expected=(ExpectedVerdict(("rewound",), pace.next_sign()),),
    ),
    VerdictScenario(
        "overtaken",
        "a group becomes so slow that retention deletes unread records",
        topics={"in": ScenarioTopic(config={"retention.ms": str(int(RETENTION * 1_000)), "segment.ms": "6000"})},
        script=(at_event(do.change_behaviour(rate=SLOWLY)),),
        expected=(
            ExpectedVerdict(("falling_behind", "losing_data"), pace.drifted()),
            ExpectedVerdict(("losing_data",), pace.nearly_expired(RETENTION, written=RATE, read=SLOWLY)),
        ),
    ),
    VerdictScenario(
        "lost",
        "a group hangs, and later unread records are deleted",
        script=(
            at_event(do.change_behaviour(hung=("a",)), mark="hang"),
            step(EVENT + 30, do.delete_records(200), mark="fault"),
        ),
        expected=(
            ExpectedVerdict(("stopped",), pace.missed(), "hang"),
            ExpectedVerdict(("losing_data",), pace.next_sign()),
        ),
        true_as_well=("rebalancing_too_long", "no_members", "expiring"),
    ),
)


OFFSETS: Final = (
    VerdictScenario(
        "forgotten",
        "the offsets of a group without membership are removed while its consumer is running, which commits them again",
        topics=THREE,
        start=(do.start_simple_consumer(),),
        script=(at_event(do.delete_group()),),
        expected=(ExpectedVerdict(("forgotten",), pace.next_sign()),),
    ),
    VerdictScenario(
        "offset-deleted",
        "a tool deletes the offsets of a stopped group, and its new member does not commit",
        script=(
            step(EVENT, do.close_clients()),
            step(EVENT + 2, do.delete_group()),
            step(EVENT + 4, do.change_behaviour(silent=True), do.start_consumer("b"), mark="fault"),
        ),
        expected=(ExpectedVerdict(("forgotten",), pace.FIRST_COMMIT),),
    ),
    VerdictScenario(
        "left-out",
        "a partition is added to a topic that a consumer has assigned to itself; no client reads the new one",
        topics=THREE,
        start=(do.start_simple_consumer(),),
        script=(at_event(do.add_partitions(4)),),
        expected=(ExpectedVerdict(("never_committed",), pace.FIRST_COMMIT, sentence_contains="3 other partitions"),),
    ),
    VerdictScenario(
        "commits-last-read",
        "commits the offset of the last record it has read, and the producers pause twice: a notice, never an alarm",
        topics={"in": ScenarioTopic(2, (Flow(until=EVENT), Flow(start=100.0, until=130.0), Flow(start=160.0)))},
        behaviour=ClientBehaviour(behind=1),
        script=(step(EVENT, mark="fault"),),
        expected=(ExpectedVerdict(("commits_last_read",), pace.rested()),),
    ),
    VerdictScenario(
        "cannot-start",
        "retention removes the next record of a group, and each new process dies of that",
        script=(
            at_event(do.change_behaviour(hung=("a",)), mark="hang"),
            step(EVENT + 25, do.delete_records(200), mark="loss"),
            step(EVENT + 30, do.close_clients(), do.change_behaviour(hung=(), silent=True)),
            *(
                step(
                    EVENT + 32 + 4.0 * number,
                    do.start_consumer("b") if number % 2 == 0 else do.close_clients("b"),
                    mark="fault" if number == 5 else None,
                )
                for number in range(24)
            ),
        ),
        expected=(
            ExpectedVerdict(("stopped",), pace.missed(), "hang"),
            ExpectedVerdict(("losing_data",), pace.next_sign(), "loss"),
            ExpectedVerdict(("losing_data",), pace.next_sign(), "fault", "does not get past that"),
        ),
        true_as_well=("no_members", "rebalance_storm"),
    ),
    VerdictScenario(
        "below-log-start",
        "the last records of a partition are of no use to the group, which does not commit them, and they are deleted",
        topics={"in": ScenarioTopic(2, (Flow(until=EVENT, partitions=(0,)), Flow(partitions=(1,))))},
        script=(
            step(EVENT - 5, do.change_behaviour(skipped=(0,)), mark="silence"),
            step(EVENT + 2, do.delete_records(0), mark="fault"),
        ),
        expected=(ExpectedVerdict(("below_log_start",), pace.next_sign()),),
        true_as_well=("poison_record",),
    ),
    VerdictScenario(
        "skipped",
        "a group works off a backlog; after a fault in its code it begins at the end of the partition",
        topics={"in": ScenarioTopic(backlog=9_000)},
        behaviour=ClientBehaviour(rate=1.5 * RATE),
        script=(at_event(do.seek_to_end()),),
        expected=(ExpectedVerdict(("skipped",), pace.next_sign()),),
    ),
    VerdictScenario(
        "skipped-after-retention",
        "a group hangs until its records are deleted; its process is replaced by one that begins at the end",
        # No record before the group reads: its best rate is then that of the records, which keeps the skipped range
        # above ten times what it can read between its join and the next tick with a commit.
        topics={"in": ScenarioTopic(flows=(Flow(start=15.0),))},
        script=(
            at_event(do.change_behaviour(hung=("a",)), mark="hang"),
            step(EVENT + 20, do.delete_records(200), mark="loss"),
            step(
                EVENT + 95,
                do.close_clients(),
                do.change_behaviour(hung=()),
                do.start_consumer("b", reset="latest"),
                mark="fault",
            ),
        ),
        expected=(
            ExpectedVerdict(("stopped",), pace.missed(), "hang"),
            ExpectedVerdict(("losing_data",), pace.next_sign(), "loss"),
            ExpectedVerdict(("skipped",), 2 * pace.next_sign()),
        ),
        true_as_well=("no_members",),
    ),
)
