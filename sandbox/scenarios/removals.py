"""Histories of removals: offsets, groups and topics that are deleted, and offsets and groups that expire."""

from __future__ import annotations

from typing import Final

from sandbox.scenarios.actions import (
    CreateTopic,
    DeleteGroup,
    DeleteOffsets,
    DeleteTopic,
    Join,
    Leave,
    Store,
    Subscribe,
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

OFFSETS_DELETED: Final = GroupHistory(
    "offsets-deleted",
    "consumer",
    {"in": 2, "old": 2},
    (
        HistoryStep(
            "a client joins for two topics",
            (Join("a", topics=("in", "old")),),
            "Stable",
            1,
            (created(), rebalanced(came=1)),
        ),
        HistoryStep("it subscribes to only one of them", (Subscribe("a", ("in",)),), "Stable", 1, (rebalanced(),)),
        HistoryStep(
            "the offsets of the other are deleted while the group is running",
            (DeleteOffsets("old"),),
            "Stable",
            1,
            (forgotten("deleted"),),
        ),
    ),
)

GROUP_DELETED: Final = GroupHistory(
    "group-deleted",
    "consumer",
    {"in": 2},
    (
        HistoryStep("a client joins", (Join("a"),), "Stable", 1, (created(), rebalanced(came=1))),
        HistoryStep("it leaves", (Leave("a"),), "Empty", 0, (emptied(1),)),
        HistoryStep("the group is deleted", (DeleteGroup(),), REMOVED, 0, (dead("deleted"),)),
        HistoryStep(
            "a client without membership commits: the group appears again, as a simple one",
            (Store((("in", 0, 3),)),),
            "Empty",
            0,
            (reborn(),),
        ),
        HistoryStep("it is deleted again", (DeleteGroup(),), REMOVED, 0, (dead("deleted"),)),
    ),
)

TOPIC_DELETED: Final = GroupHistory(
    "topic-deleted",
    "consumer",
    {"in": 2, "other": 1},
    (
        HistoryStep(
            "a client without membership commits for two topics",
            (Store((("in", 0, 3), ("in", 1, 4), ("other", 0, 5))),),
            "Empty",
            0,
            (created(),),
        ),
        HistoryStep("one of the topics is deleted", (DeleteTopic("in"),), "Empty", 0, (forgotten("topic deleted"),)),
        HistoryStep("it is created again", (CreateTopic("in", 2),), "Empty"),
        HistoryStep("a client without membership commits for both", (Store((("in", 0, 1), ("other", 0, 6))),), "Empty"),
        HistoryStep("it is deleted again", (DeleteTopic("in"),), "Empty", 0, (forgotten("topic deleted"),)),
        HistoryStep(
            "the other one too: nothing of the group remains",
            (DeleteTopic("other"),),
            "Empty",
            0,
            (dead("topic deleted"),),
            hidden=True,
        ),
    ),
)

TOPIC_DELETED_CLASSIC: Final = GroupHistory(
    "topic-deleted-classic",
    "consumer",
    {"in": 1, "old": 1},
    (
        HistoryStep(
            "a client joins for two topics",
            (Join("a", topics=("in", "old")),),
            "Stable",
            1,
            (created(), rebalanced(came=1)),
        ),
        HistoryStep("it subscribes to only one of them", (Subscribe("a", ("in",)),), "Stable", 1, (rebalanced(),)),
        HistoryStep("the other topic is deleted", (DeleteTopic("old"),), "Stable", 1, (forgotten("topic deleted"),)),
    ),
)

EXPIRED: Final = GroupHistory(
    "expired",
    "consumer",
    {"in": 2},
    (
        HistoryStep("a client joins", (Join("a"),), "Stable", 1, (created(), rebalanced(came=1))),
        HistoryStep("it leaves, and no member joins", (Leave("a"),), "Empty", 0, (emptied(1),)),
    ),
    ends=(dead("expired"),),
)

EXPIRED_UNCOMMITTED: Final = GroupHistory(
    "expired-uncommitted",
    "consumer",
    {"in": 1},
    (
        HistoryStep(
            "a client joins and commits nothing",
            (Join("a"),),
            "Stable",
            1,
            (created(), rebalanced(came=1)),
            commits=False,
        ),
        HistoryStep(
            "it leaves: the next sweep removes the group", (Leave("a"),), "Empty", 0, (emptied(1),), commits=False
        ),
    ),
    ends=(dead("expired"),),
)

OFFSETS_EXPIRED: Final = GroupHistory(
    "offsets-expired",
    "consumer",
    {"in": 1, "old": 1},
    (
        HistoryStep(
            "a client joins for two topics",
            (Join("a", topics=("in", "old")),),
            "Stable",
            1,
            (created(), rebalanced(came=1)),
        ),
        HistoryStep("it subscribes to only one of them", (Subscribe("a", ("in",)),), "Stable", 1, (rebalanced(),)),
    ),
    ends=(forgotten("expired"),),
    removed=(("old", 0),),
)

OFFSETS_EXPIRED_CONSUMER: Final = GroupHistory(
    "offsets-expired-consumer",
    "consumer",
    {"in": 1, "old": 1},
    (
        HistoryStep(
            "a client joins for two topics",
            (Join("a", "consumer", ("in", "old")),),
            "Stable",
            1,
            (created(), rebalanced(came=1)),
        ),
        HistoryStep("it subscribes to only one of them", (Subscribe("a", ("in",)),), "Stable", 1, (rebalanced(),)),
    ),
    ends=(forgotten("expired"),),
    removed=(("old", 0),),
)

OFFSETS_EXPIRED_SIMPLE: Final = GroupHistory(
    "offsets-expired-simple",
    "consumer",
    {"in": 2},
    (
        HistoryStep(
            "a client without membership commits two partitions",
            (Store((("in", 0, 3), ("in", 1, 4))),),
            "Empty",
            0,
            (created(),),
        ),
    ),
    meanwhile=(Store((("in", 1, 5),)),),
    ends=(forgotten("expired"),),
    removed=(("in", 0),),
)

HISTORIES: Final = (
    OFFSETS_DELETED,
    GROUP_DELETED,
    TOPIC_DELETED,
    TOPIC_DELETED_CLASSIC,
    EXPIRED,
    EXPIRED_UNCOMMITTED,
    OFFSETS_EXPIRED,
    OFFSETS_EXPIRED_CONSUMER,
    OFFSETS_EXPIRED_SIMPLE,
)
