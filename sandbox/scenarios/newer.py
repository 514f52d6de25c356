"""Histories of the newer kinds of group: consumer (KIP-848), share and streams, and the ways between the protocols."""

from __future__ import annotations

from typing import Final

from sandbox.scenarios.actions import Configure, DeleteGroup, Join, Leave, Subscribe, Vanish
from sandbox.scenarios.history import (
    GONE,
    Scenario,
    Step,
    converted,
    created,
    dead,
    emptied,
    forgotten,
    rebalanced,
    reborn,
)

CONSUMER: Final = Scenario(
    "consumer",
    "consumer",
    {"in": 4},
    (
        Step("a client joins", (Join("a", "consumer"),), "Stable", 1, (created(), rebalanced(came=1))),
        Step("another one joins", (Join("b", "consumer"),), "Stable", 2, (rebalanced(came=1),)),
        Step("the first one leaves", (Leave("a"),), "Stable", 1, (rebalanced(went=1),)),
        Step("the other one too", (Leave("b"),), "Empty", 0, (emptied(1),)),
        Step("the group is deleted", (DeleteGroup(),), GONE, 0, (dead("deleted"),)),
        Step("a client joins", (Join("c", "consumer"),), "Stable", 1, (reborn(), rebalanced(came=1))),
        Step("and leaves", (Leave("c"),), "Empty", 0, (emptied(1),)),
    ),
    ends=(dead("expired"),),
)

CONSUMER_RDKAFKA: Final = Scenario(
    "consumer-librdkafka",
    "consumer",
    {"in": 4},
    (
        Step("a client joins", (Join("a", "consumer", java=False),), "Stable", 1, (created(), rebalanced(came=1))),
        Step("another one joins", (Join("b", "consumer", java=False),), "Stable", 2, (rebalanced(came=1),)),
        Step("it leaves", (Leave("b"),), "Stable", 1, (rebalanced(went=1),)),
    ),
)

CONSUMER_REGEX: Final = Scenario(
    "consumer-regex",
    "consumer",
    {"in": 2, "also-in": 1, "out": 1},
    (
        Step(
            "a client joins for all topics that match",
            (Join("a", "consumer", ("in", "also-in"), regex=".*in"),),
            "Stable",
            1,
            (created(), rebalanced(came=1)),
        ),
        Step("another one joins for one topic", (Join("b", "consumer", ("out",)),), "Stable", 2, (rebalanced(came=1),)),
        Step("it wants another topic", (Subscribe("b", ("in",)),), "Stable", 2, (rebalanced(),)),
    ),
    ends=(forgotten("expired"),),
    forgets=(("out", 0),),
)

CONSUMER_STATIC: Final = Scenario(
    "consumer-static",
    "consumer",
    {"in": 4},
    (
        Step(
            "a static member joins a group with a long session",
            (Configure("consumer.session.timeout.ms", "60000"), Join("a", "consumer", instance="one")), "Stable", 1,
            (created(), rebalanced(came=1)),
        ),
        Step("another one joins", (Join("b", "consumer", instance="two"),), "Stable", 2, (rebalanced(came=1),)),
        Step("one shuts down and keeps what it owns", (Vanish("b"),), "Reconciling", 2, (), owned=4),
        Step("it is back within its session", (Join("b", "consumer", instance="two"),), "Stable", 2),
    ),
)  # fmt: skip

CONSUMER_VANISHED: Final = Scenario(
    "consumer-vanished",
    "consumer",
    {"in": 2},
    (
        Step(
            "a client joins a group with a short session",
            (Configure("consumer.session.timeout.ms", "6000"), Join("a", "consumer")),
            "Stable",
            1,
            (created(), rebalanced(came=1)),
        ),
        Step("it is killed, and its session times out", (Vanish("a"),), "Empty", 0, (emptied(1),)),
    ),
    ends=(dead("expired"),),
)

SHARE: Final = Scenario(
    "share",
    "share",
    {"in": 2},
    (
        Step(
            "a client joins: it gets partitions once their share state is set up",
            (Join("a", "share"),),
            "Stable",
            1,
            (created(), rebalanced(came=1), rebalanced()),
        ),
        Step("another one joins", (Join("b", "share"),), "Stable", 2, (rebalanced(came=1),)),
        Step("one leaves", (Leave("a"),), "Stable", 1, (rebalanced(went=1),)),
        Step("the other one too", (Leave("b"),), "Empty", 0, (emptied(1),)),
        Step("the group is deleted", (DeleteGroup("share"),), GONE, 0, (dead("deleted"),)),
        Step("a client joins", (Join("c", "share"),), "Stable", 1, (reborn(), rebalanced(came=1), rebalanced())),
    ),
)

STREAMS: Final = Scenario(
    "streams",
    "streams",
    {"in": 2},
    (
        Step(
            "a program starts: it gets tasks once its internal topics are made",
            (Join("a", "streams"),),
            "Stable",
            1,
            (created(), rebalanced(came=1), rebalanced()),
        ),
        Step("a second one starts", (Join("b", "streams"),), "Stable", 2, (rebalanced(came=1),)),
        Step("one leaves", (Leave("a"),), "Stable", 1, (rebalanced(went=1),)),
        Step("the other one too", (Leave("b"),), "Empty", 0, (emptied(1),)),
        Step("the group is deleted", (DeleteGroup("streams"),), GONE, 0, (dead("deleted"),)),
    ),
)

UPGRADED: Final = Scenario(
    "upgraded",
    "consumer",
    {"in": 4},
    (
        Step("a classic client joins", (Join("a"),), "Stable", 1, (created(), rebalanced(came=1))),
        Step(
            "one of the newer protocol joins: the group is converted with its member",
            (Join("b", "consumer"),),
            "Stable",
            2,
            (converted(), rebalanced(came=1)),
        ),
        Step("the classic one leaves", (Leave("a"),), "Stable", 1, (rebalanced(went=1),)),
        Step("a classic client joins again", (Join("c"),), "Stable", 2, (rebalanced(came=1),)),
        Step(
            "the last one of the newer protocol leaves: the group is converted back",
            (Leave("b"),),
            "Stable",
            1,
            (converted(), rebalanced(went=1)),
        ),
        Step("the classic one leaves", (Leave("c"),), "Empty", 0, (emptied(1),)),
    ),
    ends=(dead("expired"),),
)

UPGRADED_EMPTY: Final = Scenario(
    "upgraded-empty",
    "consumer",
    {"in": 2},
    (
        Step("a classic client joins", (Join("a"),), "Stable", 1, (created(), rebalanced(came=1))),
        Step("it leaves", (Leave("a"),), "Empty", 0, (emptied(1),)),
        Step(
            "one of the newer protocol joins", (Join("b", "consumer"),), "Stable", 1,
            (converted(), rebalanced(came=1)),
        ),
        Step("it leaves", (Leave("b"),), "Empty", 0, (emptied(1),)),
        Step("a classic client joins", (Join("c"),), "Stable", 1, (converted(), rebalanced(came=1))),
    ),
)  # fmt: skip

SCENARIOS: Final = (
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
