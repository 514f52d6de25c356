"""Histories of classic groups and of those without membership."""

from __future__ import annotations

from typing import Final

from sandbox.scenarios.actions import (
    COOPERATIVE,
    DeleteGroup,
    DeleteOffsets,
    EndTransaction,
    Join,
    Leave,
    SendInTransaction,
    Store,
    Vanish,
)
from sandbox.scenarios.history import (
    REMOVED,
    GroupHistory,
    HistoryStep,
    created,
    dead,
    emptied,
    forgotten,
    rebalanced,
    reborn,
)

SHORT_SESSION_MS: Final = 6_000
"""The session of members that vanish; long enough for the heartbeats of a busy machine."""
LONG_SESSION_MS: Final = 600_000
"""The session of members that must not be removed, however slow the machine."""

CLASSIC: Final = GroupHistory(
    "classic",
    "consumer",
    {"in": 4},
    (
        HistoryStep("a client joins", (Join("a", java=False),), "Stable", 1, (created(), rebalanced(came=1))),
        HistoryStep("another one joins", (Join("b", java=False),), "Stable", 2, (rebalanced(came=1),)),
        HistoryStep("it leaves", (Leave("b"),), "Stable", 1, (rebalanced(went=1),)),
        HistoryStep("the last one leaves", (Leave("a"),), "Empty", 0, (emptied(1),)),
        HistoryStep("a new one joins", (Join("c", java=False),), "Stable", 1, (rebalanced(came=1),)),
        HistoryStep("and leaves", (Leave("c"),), "Empty", 0, (emptied(1),)),
    ),
    ends=(dead("expired"),),
)

COOPERATIVE_STICKY: Final = GroupHistory(
    "cooperative",
    "consumer",
    {"in": 4},
    (
        HistoryStep("a client joins", (Join("a", assignor=COOPERATIVE),), "Stable", 1, (created(), rebalanced(came=1))),
        HistoryStep(
            "another one joins: partitions are revoked first, and assigned by a second rebalance",
            (Join("b", assignor=COOPERATIVE),),
            "Stable",
            2,
            (rebalanced(came=1), rebalanced()),
        ),
        HistoryStep("the first one leaves", (Leave("a"),), "Stable", 1, (rebalanced(went=1),)),
    ),
)

STATIC_INSIDE: Final = GroupHistory(
    "static-inside",
    "consumer",
    {"in": 4},
    (
        HistoryStep(
            "a static member joins",
            (Join("a", instance="one", session_ms=LONG_SESSION_MS),),
            "Stable",
            1,
            (created(), rebalanced(came=1)),
        ),
        HistoryStep(
            "another one joins",
            (Join("b", instance="two", session_ms=LONG_SESSION_MS),),
            "Stable",
            2,
            (rebalanced(came=1),),
        ),
        HistoryStep("one shuts down: no record is written", (Vanish("b"),), "Stable", 2, (), owned=4),
        HistoryStep(
            "it is started again within its session: another member id, no rebalance",
            (Join("b", instance="two", session_ms=LONG_SESSION_MS),),
            "Stable",
            2,
        ),
    ),
)

STATIC_OUTSIDE: Final = GroupHistory(
    "static-outside",
    "consumer",
    {"in": 4},
    (
        HistoryStep(
            "a static member joins",
            (Join("a", instance="one", session_ms=SHORT_SESSION_MS),),
            "Stable",
            1,
            (created(), rebalanced(came=1)),
        ),
        HistoryStep(
            "another one joins",
            (Join("b", instance="two", session_ms=SHORT_SESSION_MS),),
            "Stable",
            2,
            (rebalanced(came=1),),
        ),
        HistoryStep("one shuts down, and its session times out", (Vanish("b"),), "Stable", 1, (rebalanced(went=1),)),
        HistoryStep(
            "it is started again",
            (Join("b", instance="two", session_ms=SHORT_SESSION_MS),),
            "Stable",
            2,
            (rebalanced(came=1),),
        ),
    ),
)

# After the restart of the broker before expiration, librdkafka (2.16) once sent no heartbeat for a whole session.
_RDKAFKA_STATIC: Final = Join("a", instance="one", session_ms=LONG_SESSION_MS, java=False)
STATIC_RDKAFKA: Final = GroupHistory(
    "static-librdkafka",
    "consumer",
    {"in": 2},
    (
        HistoryStep(
            "a static member joins",
            (_RDKAFKA_STATIC,),
            "Stable",
            1,
            (created(), rebalanced(came=1)),
        ),
        HistoryStep("it restarts under its instance id", (Vanish("a"), _RDKAFKA_STATIC), "Stable", 1),
        HistoryStep("and again", (Vanish("a"), _RDKAFKA_STATIC), "Stable", 1),
    ),
)

VANISHED: Final = GroupHistory(
    "vanished",
    "consumer",
    {"in": 2},
    (
        HistoryStep(
            "a client joins", (Join("a", session_ms=SHORT_SESSION_MS),), "Stable", 1, (created(), rebalanced(came=1))
        ),
        HistoryStep("it is killed, and its session times out", (Vanish("a"),), "Empty", 0, (emptied(1),)),
    ),
    ends=(dead("expired"),),
)

SIMPLE: Final = GroupHistory(
    "simple",
    "consumer",
    {"in": 3},
    (
        HistoryStep(
            "a client without membership commits",
            (Store((("in", 0, 5), ("in", 1, 6), ("in", 2, 7))),),
            "Empty",
            0,
            (created(),),
        ),
        HistoryStep("and commits lower offsets", (Store((("in", 0, 2), ("in", 1, 6), ("in", 2, 7))),), "Empty"),
        HistoryStep(
            "the offset of one partition is deleted", (DeleteOffsets("in", 1),), "Empty", 0, (forgotten("deleted"),)
        ),
        HistoryStep("the group is deleted", (DeleteGroup(),), REMOVED, 0, (dead("deleted"),)),
        HistoryStep("a client without membership commits again", (Store((("in", 0, 9),)),), "Empty", 0, (reborn(),)),
    ),
    ends=(dead("expired"),),
)

SIMPLE_JOINED: Final = GroupHistory(
    "simple-joined",
    "consumer",
    {"in": 2},
    (
        HistoryStep("a client without membership commits", (Store((("in", 0, 5),)),), "Empty", 0, (created(),)),
        HistoryStep("a first member joins: no conversion", (Join("a"),), "Stable", 1, (rebalanced(came=1),)),
        HistoryStep("it leaves", (Leave("a"),), "Empty", 0, (emptied(1),)),
        HistoryStep("the group is deleted", (DeleteGroup(),), REMOVED, 0, (dead("deleted"),)),
        HistoryStep("a client joins", (Join("b"),), "Stable", 1, (reborn(), rebalanced(came=1))),
    ),
)

TRANSACTIONAL: Final = GroupHistory(
    "transactional",
    "consumer",
    {"in": 2},
    (
        HistoryStep(
            "offsets are sent in a transaction, which is open",
            (SendInTransaction((("in", 0, 5),)),),
            "Empty",
            hidden=True,
        ),
        HistoryStep("it is committed", (EndTransaction(committing=True),), "Empty", 0, (created(),)),
        HistoryStep("another one is open", (SendInTransaction((("in", 0, 9), ("in", 1, 9))),), "Empty"),
        HistoryStep("it is aborted", (EndTransaction(committing=False),), "Empty"),
        HistoryStep(
            "a third is committed",
            (SendInTransaction((("in", 0, 7), ("in", 1, 3))), EndTransaction(committing=True)),
            "Empty",
        ),
    ),
    ends=(dead("expired"),),
    reserved=True,
)

HISTORIES: Final = (
    CLASSIC,
    COOPERATIVE_STICKY,
    STATIC_INSIDE,
    STATIC_OUTSIDE,
    STATIC_RDKAFKA,
    VANISHED,
    SIMPLE,
    SIMPLE_JOINED,
    TRANSACTIONAL,
)
