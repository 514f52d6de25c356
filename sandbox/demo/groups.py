"""The topics and groups of the demo's traffic, as data, with the state that tests and readers must find.

`DEMO_GROUPS` is the one table. `sandbox.demo.behaviours` implements each behaviour, `sandbox.demo.workload` runs them.
"""

import dataclasses
import enum
from typing import Final, Literal

from sandbox.clients.members import GroupKind

LagTrend = Literal["near zero", "zero", "grows", "grows on one partition", "jumps"]
"""The group's lag while traffic flows: near zero means records of about a second, jumps follow each rewind."""


class Behaviour(enum.Enum):
    """The behaviour of a group's members."""

    STEADY = "reads everything and commits"
    SLOW = "reads less than is written"
    STOPPED = "reads for a while, then its members leave"
    STALLED = "commits the same offset of one partition again and again"
    REWOUND = "rewinds one partition from time to time"
    DRAINED = "reads a topic without new records to its end, then its members leave"
    ROLLING = "one static member after the other restarts under its instance id"
    TRANSACTIONAL = "commits offsets in transactions, and aborts some of them"
    UNMANAGED = "commits offsets without being a member"


@dataclasses.dataclass(frozen=True, slots=True)
class DemoTopic:
    """A topic of the traffic. Each of its partitions gets these records per second in addition to its backlog."""

    name: str
    partitions: int
    records_per_second: int


@dataclasses.dataclass(frozen=True, slots=True)
class DemoGroup:
    """One group: its id, its kind, the topic that it reads, and its state once its behaviour can be seen."""

    name: str
    kind: GroupKind
    behaviour: Behaviour
    topic: str
    # Members and state as Kafka's tools print them then.
    members: int
    state: Literal["Stable", "Empty"]
    lag: LagTrend
    verdicts: tuple[str, ...]
    """The verdicts that lagwarden may show of it then."""
    description: str


TOPICS: Final = (
    DemoTopic("orders", partitions=4, records_per_second=4),
    DemoTopic("payments", partitions=3, records_per_second=4),
    DemoTopic("archive", partitions=2, records_per_second=0),
    DemoTopic("invoices", partitions=2, records_per_second=0),
)
"""Only the transactional group writes to `invoices`."""

FINE: Final = ("ok", "caught_up")
"""The verdicts of a group without a fault."""

STUCK_PARTITION: Final = 1
"""The partition on which the stalled group makes no progress, and which the rewound group rewinds."""

DEMO_GROUPS: Final = (
    DemoGroup(
        "steady", "classic", Behaviour.STEADY, "orders", members=2, state="Stable", lag="near zero",
        verdicts=FINE,
        description="Two members share four partitions and keep up.",
    ),
    DemoGroup(
        "falling-behind", "classic", Behaviour.SLOW, "orders", members=1, state="Stable", lag="grows",
        verdicts=("falling_behind",),
        description="Commits regularly, but reads a quarter of what is written: slow, not stopped.",
    ),
    DemoGroup(
        "stopped", "classic", Behaviour.STOPPED, "orders", members=0, state="Empty", lag="grows",
        verdicts=("no_members",),
        description="Read and committed, then its process ended; its offsets stay and its lag grows.",
    ),
    DemoGroup(
        "stalled", "classic", Behaviour.STALLED, "payments", members=1, state="Stable", lag="grows on one partition",
        verdicts=("poison_record",),
        description="Commits every partition regularly, on one of them always the same offset.",
    ),
    DemoGroup(
        "rewound", "classic", Behaviour.REWOUND, "payments", members=1, state="Stable", lag="jumps",
        verdicts=("rewound",),
        description="Keeps up, but commits a much lower offset on one partition every ten seconds and reads it again.",
    ),
    DemoGroup(
        "empty-with-offsets", "classic", Behaviour.DRAINED, "archive", members=0, state="Empty", lag="zero",
        verdicts=FINE,
        description="Has read a topic without new records to its end, and left: nothing is wrong with it.",
    ),
    DemoGroup(
        "static-rolling", "classic", Behaviour.ROLLING, "payments", members=2, state="Stable", lag="near zero",
        verdicts=FINE,
        description="Two static members restart in turn with the same group.instance.id: new member ids, no rebalance.",
    ),
    DemoGroup(
        "next-generation", "consumer", Behaviour.STEADY, "orders", members=2, state="Stable", lag="near zero",
        verdicts=FINE,
        description="The consumer protocol of KIP-848, with epochs instead of generations: two members keep up.",
    ),
    DemoGroup(
        "transactional", "classic", Behaviour.TRANSACTIONAL, "payments", members=1, state="Stable", lag="near zero",
        verdicts=FINE,
        description="Commits offsets and records in the same transactions; every fifth is aborted and has no effect.",
    ),
    DemoGroup(
        "simple", "simple", Behaviour.UNMANAGED, "orders", members=0, state="Empty", lag="near zero",
        verdicts=FINE,
        description="Assigns partitions to itself and only stores offsets: no members, always Empty.",
    ),
)  # fmt: skip
"""All groups of the traffic."""


def demo_group(name: str) -> DemoGroup:
    """Return a group of the table by its id without prefix. Raises KeyError."""
    return {each.name: each for each in DEMO_GROUPS}[name]
