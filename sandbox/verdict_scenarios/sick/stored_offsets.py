"""Groups whose stored offsets are the fault: removed, left out, skipped, below the start of the log."""

from typing import Final

from sandbox.clients.traffic import RATE, ClientBehaviour, Flow, ScenarioTopic
from sandbox.verdict_scenarios import actions as do
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.scenario import EVENT, ExpectedVerdict, VerdictScenario, step
from sandbox.verdict_scenarios.sick.parts import THREE, at_event

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
