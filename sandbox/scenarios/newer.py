"""Histories of the newer kinds of group (consumer of KIP-848, share, streams) and of changes of protocol."""

from __future__ import annotations

from typing import Final

from sandbox.scenarios.actions import Configure, DeleteGroup, Join, Leave, Subscribe, Vanish
from sandbox.scenarios.history import (
    REMOVED,
    GroupHistory,
    HistoryStep,
    converted,
    created,
    dead,
    emptied,
    forgotten,
    rebalanced,
    reborn,
)

CONSUMER: Final = GroupHistory(
    "consumer",
    "consumer",
    {"in": 4},
    (
        HistoryStep("a client joins", (Join("a", "consumer"),), "Stable", 1, (created(), rebalanced(came=1))),
        HistoryStep("another one joins", (Join("b", "consumer"),), "Stable", 2, (rebalanced(came=1),)),
        HistoryStep("the first one leaves", (Leave("a"),), "Stable", 1, (rebalanced(went=1),)),
        HistoryStep("the other one leaves too", (Leave("b"),), "Empty", 0, (emptied(1),)),
        HistoryStep("the group is deleted", (DeleteGroup(),), REMOVED, 0, (dead("deleted"),)),
        HistoryStep("a client joins", (Join("c", "consumer"),), "Stable", 1, (reborn(), rebalanced(came=1))),
        HistoryStep("and leaves", (Leave("c"),), "Empty", 0, (emptied(1),)),
    ),
    ends=(dead("expired"),),
)

CONSUMER_RDKAFKA: Final = GroupHistory(
    "consumer-librdkafka",
    "consumer",
    {"in": 4},
    (
        HistoryStep(
            "a client joins", (Join("a", "consumer", java=False),), "Stable", 1, (created(), rebalanced(came=1))
        ),
        HistoryStep("another one joins", (Join("b", "consumer", java=False),), "Stable", 2, (rebalanced(came=1),)),
        HistoryStep("it leaves", (Leave("b"),), "Stable", 1, (rebalanced(went=1),)),
    ),
)

CONSUMER_REGEX: Final = GroupHistory(
    "consumer-regex",
    "consumer",
    {"in": 2, "also-in": 1, "out": 1},
    (
        HistoryStep(
            "a client joins for all topics that match",
            (Join("a", "consumer", ("in", "also-in"), regex=".*in"),),
            "Stable",
            1,
            (created(), rebalanced(came=1)),
        ),
        HistoryStep(
            "another one joins for one topic", (Join("b", "consumer", ("out",)),), "Stable", 2, (rebalanced(came=1),)
        ),
        HistoryStep("it subscribes to another topic", (Subscribe("b", ("in",)),), "Stable", 2, (rebalanced(),)),
    ),
    ends=(forgotten("expired"),),
    removed=(("out", 0),),
)

CONSUMER_STATIC: Final = GroupHistory(
    "consumer-static",
    "consumer",
    {"in": 4},
    (
        HistoryStep(
            "a static member joins a group with a long session",
            (Configure("consumer.session.timeout.ms", "60000"), Join("a", "consumer", instance="one")), "Stable", 1,
            (created(), rebalanced(came=1)),
        ),
        HistoryStep("another one joins", (Join("b", "consumer", instance="two"),), "Stable", 2, (rebalanced(came=1),)),
        HistoryStep("one shuts down and keeps what it owns", (Vanish("b"),), "Reconciling", 2, (), owned=4),
        HistoryStep("it is started again within its session", (Join("b", "consumer", instance="two"),), "Stable", 2),
    ),
)  # fmt: skip

CONSUMER_VANISHED: Final = GroupHistory(
    "consumer-vanished",
    "consumer",
    {"in": 2},
    (
        HistoryStep(
            "a client joins a group with a short session",
            (Configure("consumer.session.timeout.ms", "6000"), Join("a", "consumer")),
            "Stable",
            1,
            (created(), rebalanced(came=1)),
        ),
        HistoryStep("it is killed, and its session times out", (Vanish("a"),), "Empty", 0, (emptied(1),)),
    ),
    ends=(dead("expired"),),
)

SHARE: Final = GroupHistory(
    "share",
    "share",
    {"in": 2},
    (
        HistoryStep(
            "a client joins: it gets partitions once their share state is set up",
            (Join("a", "share"),),
            "Stable",
            1,
            (created(), rebalanced(came=1), rebalanced()),
        ),
        HistoryStep("another one joins", (Join("b", "share"),), "Stable", 2, (rebalanced(came=1),)),
        HistoryStep("one leaves", (Leave("a"),), "Stable", 1, (rebalanced(went=1),)),
        HistoryStep("the other one leaves too", (Leave("b"),), "Empty", 0, (emptied(1),)),
        HistoryStep("the group is deleted", (DeleteGroup("share"),), REMOVED, 0, (dead("deleted"),)),
        HistoryStep("a client joins", (Join("c", "share"),), "Stable", 1, (reborn(), rebalanced(came=1), rebalanced())),
    ),
)

STREAMS: Final = GroupHistory(
    "streams",
    "streams",
    {"in": 2},
    (
        HistoryStep(
            "a program starts: it gets tasks once its internal topics exist",
            (Join("a", "streams"),),
            "Stable",
            1,
            (created(), rebalanced(came=1), rebalanced()),
        ),
        HistoryStep("a second one starts", (Join("b", "streams"),), "Stable", 2, (rebalanced(came=1),)),
        HistoryStep("one leaves", (Leave("a"),), "Stable", 1, (rebalanced(went=1),)),
        HistoryStep("the other one leaves too", (Leave("b"),), "Empty", 0, (emptied(1),)),
        HistoryStep("the group is deleted", (DeleteGroup("streams"),), REMOVED, 0, (dead("deleted"),)),
    ),
)

UPGRADED: Final = GroupHistory(
    "upgraded",
    "consumer",
    {"in": 4},
    (
        HistoryStep("a classic client joins", (Join("a"),), "Stable", 1, (created(), rebalanced(came=1))),
        HistoryStep(
            "one of the newer protocol joins: the group is converted with its member",
            (Join("b", "consumer"),),
            "Stable",
            2,
            (converted(), rebalanced(came=1)),
        ),
        HistoryStep("the classic one leaves", (Leave("a"),), "Stable", 1, (rebalanced(went=1),)),
        HistoryStep("a classic client joins again", (Join("c"),), "Stable", 2, (rebalanced(came=1),)),
        HistoryStep(
            "the last one of the newer protocol leaves: the group is converted back",
            (Leave("b"),),
            "Stable",
            1,
            (converted(), rebalanced(went=1)),
        ),
        HistoryStep("the classic one leaves", (Leave("c"),), "Empty", 0, (emptied(1),)),
    ),
    ends=(dead("expired"),),
)

UPGRADED_EMPTY: Final = GroupHistory(
    "upgraded-empty",
    "consumer",
    {"in": 2},
    (
        HistoryStep("a classic client joins", (Join("a"),), "Stable", 1, (created(), rebalanced(came=1))),
        HistoryStep("it leaves", (Leave("a"),), "Empty", 0, (emptied(1),)),
        HistoryStep(
            "one of the newer protocol joins", (Join("b", "consumer"),), "Stable", 1,
            (converted(), rebalanced(came=1)),
        ),
        HistoryStep("it leaves", (Leave("b"),), "Empty", 0, (emptied(1),)),
        HistoryStep("a classic client joins", (Join("c"),), "Stable", 1, (converted(), rebalanced(came=1))),
    ),
)  # fmt: skip

HISTORIES: Final = (
    CONSUMER,
    CONSUMER_RDKAFKA,
    CONSUMER_REGEX,
    CONSUMER_STATIC,
    CONSUMER_VANISHED,
    SHARE,
    STREAMS,
    UPGRADED,
    UPGRADED_EMPTY,
)
