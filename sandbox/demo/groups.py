"""What the groups of the living traffic are and what becomes of them: data, and the ground truth of tests.

`DEMO_GROUPS` is the one table. `sandbox.demo.behaviours` implements each behaviour, `sandbox.demo.workload` runs them;
whatever reads the offsets of the same cluster must find what stands here.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Final, Literal

GroupKind = Literal["classic", "consumer", "simple"]
"""As lagwarden names kinds of groups; consumer is KIP-848, simple means offsets without membership."""

LagTrend = Literal["near zero", "zero", "grows", "grows on one partition", "jumps"]
"""What the group's lag does while traffic flows: near zero is a second's worth of records, jumps follow each rewind."""


class Behaviour(enum.Enum):
    """What a group's members do."""

    STEADY = "reads everything and commits"
    SLOW = "reads less than is written"
    STOPPED = "reads for a while, then its members are gone"
    STALLED = "commits the same offset of one partition again and again"
    REWOUND = "goes back on one partition every now and then"
    DRAINED = "reads a topic that gets nothing more to its end, then its members are gone"
    ROLLING = "one static member after the other restarts under its instance id"
    TRANSACTIONAL = "commits offsets in transactions, and aborts some of them"
    UNMANAGED = "commits offsets without being a member"


@dataclasses.dataclass(frozen=True, slots=True)
class DemoTopic:
    """A topic of the living traffic, and how many records per second each of its partitions gets beside its backlog."""

    name: str
    partitions: int
    records_per_second: int


@dataclasses.dataclass(frozen=True, slots=True)
class DemoGroup:
    """One group: its id, its kind, the topic that it reads, and how it looks once its story has come true."""

    name: str
    kind: GroupKind
    behaviour: Behaviour
    topic: str
    # How many members it has when its story is told; the state is as Kafka's tools print it then.
    members: int
    state: Literal["Stable", "Empty"]
    lag: LagTrend
    story: str


TOPICS: Final = (
    DemoTopic("orders", partitions=4, records_per_second=4),
    DemoTopic("payments", partitions=3, records_per_second=4),
    DemoTopic("archive", partitions=2, records_per_second=0),
    DemoTopic("invoices", partitions=2, records_per_second=0),
)
"""`invoices` is written by the transactional group alone."""

STUCK_PARTITION: Final = 1
"""The partition on which the stalled group does not move, and on which the rewound group goes back."""

DEMO_GROUPS: Final = (
    DemoGroup(
        "steady", "classic", Behaviour.STEADY, "orders", members=2, state="Stable", lag="near zero",
        story="Two members share four partitions and keep up.",
    ),
    DemoGroup(
        "falling-behind", "classic", Behaviour.SLOW, "orders", members=1, state="Stable", lag="grows",
        story="Alive and committing, but it reads a quarter of what is written: slow, not stopped.",
    ),
    DemoGroup(
        "stopped", "classic", Behaviour.STOPPED, "orders", members=0, state="Empty", lag="grows",
        story="Read and committed, then its process went away; its offsets stay and its lag grows.",
    ),
    DemoGroup(
        "stalled", "classic", Behaviour.STALLED, "payments", members=1, state="Stable", lag="grows on one partition",
        story="Alive and committing every partition; on one of them it commits the same offset for ever.",
    ),
    DemoGroup(
        "rewound", "classic", Behaviour.REWOUND, "payments", members=1, state="Stable", lag="jumps",
        story="Keeps up, but commits a much lower offset on one partition every ten seconds and reads it again.",
    ),
    DemoGroup(
        "empty-with-offsets", "classic", Behaviour.DRAINED, "archive", members=0, state="Empty", lag="zero",
        story="Has read all there is of a topic that gets nothing more, and left: nothing is wrong with it.",
    ),
    DemoGroup(
        "static-rolling", "classic", Behaviour.ROLLING, "payments", members=2, state="Stable", lag="near zero",
        story="Two static members restart in turn under the same group.instance.id: new member ids, no rebalance.",
    ),
    DemoGroup(
        "next-generation", "consumer", Behaviour.STEADY, "orders", members=2, state="Stable", lag="near zero",
        story="The consumer protocol of KIP-848: two members keep up; it has epochs where others have generations.",
    ),
    DemoGroup(
        "transactional", "classic", Behaviour.TRANSACTIONAL, "payments", members=1, state="Stable", lag="near zero",
        story="Commits its offsets with what it writes, in transactions; every fifth is aborted and leaves no trace.",
    ),
    DemoGroup(
        "simple", "simple", Behaviour.UNMANAGED, "orders", members=0, state="Empty", lag="near zero",
        story="Assigns partitions to itself and only stores offsets: never a member, always Empty.",
    ),
)  # fmt: skip
"""All groups of the living traffic."""


def demo_group(name: str) -> DemoGroup:
    """Give the fate of a group by its id without prefix. Raises KeyError."""
    return {fate.name: fate for fate in DEMO_GROUPS}[name]
