"""Histories of ends: offsets deleted, groups deleted, topics deleted and made again, offsets and groups that expire."""

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
    GONE,
    Scenario,
    Step,
    created,
    dead,
    emptied,
    forgotten,
    rebalanced,
    reborn,
)

OFFSETS_DELETED: Final = Scenario(
    "offsets-deleted",
    "consumer",
    {"in": 2, "old": 2},
    (
        Step("a client joins for two topics", (Join("a", topics=("in", "old")),), "Stable", 1,
             (created(), rebalanced(came=1))),
        Step("it wants one of them only", (Subscribe("a", ("in",)),), "Stable", 1, (rebalanced(),)),
        Step("the offsets of the other are deleted while it lives", (DeleteOffsets("old"),), "Stable", 1,
             (forgotten("deleted"),)),
    ),
)  # fmt: skip

GROUP_DELETED: Final = Scenario(
    "group-deleted",
    "consumer",
    {"in": 2},
    (
        Step("a client joins", (Join("a"),), "Stable", 1, (created(), rebalanced(came=1))),
        Step("it leaves", (Leave("a"),), "Empty", 0, (emptied(1),)),
        Step("the group is deleted", (DeleteGroup(),), GONE, 0, (dead("deleted"),)),
        Step("somebody commits: born again, as a simple one", (Store((("in", 0, 3),)),), "Empty", 0, (reborn(),)),
        Step("it is deleted again", (DeleteGroup(),), GONE, 0, (dead("deleted"),)),
    ),
)

TOPIC_DELETED: Final = Scenario(
    "topic-deleted",
    "consumer",
    {"in": 2, "other": 1},
    (
        Step("somebody commits for two topics", (Store((("in", 0, 3), ("in", 1, 4), ("other", 0, 5))),), "Empty", 0,
             (created(),)),
        Step("one of the topics is deleted", (DeleteTopic("in"),), "Empty", 0, (forgotten("topic deleted"),)),
        Step("it is made again", (CreateTopic("in", 2),), "Empty"),
        Step("somebody commits for both", (Store((("in", 0, 1), ("other", 0, 6))),), "Empty"),
        Step("it is deleted again", (DeleteTopic("in"),), "Empty", 0, (forgotten("topic deleted"),)),
        Step("the other one too: nothing is left", (DeleteTopic("other"),), "Empty", 0, (dead("topic deleted"),),
             hidden=True),
    ),
)  # fmt: skip

TOPIC_DELETED_CLASSIC: Final = Scenario(
    "topic-deleted-classic",
    "consumer",
    {"in": 1, "old": 1},
    (
        Step("a client joins for two topics", (Join("a", topics=("in", "old")),), "Stable", 1,
             (created(), rebalanced(came=1))),
        Step("it wants one of them only", (Subscribe("a", ("in",)),), "Stable", 1, (rebalanced(),)),
        Step("the other topic is deleted", (DeleteTopic("old"),), "Stable", 1, (forgotten("topic deleted"),)),
    ),
)  # fmt: skip

EXPIRED: Final = Scenario(
    "expired",
    "consumer",
    {"in": 2},
    (
        Step("a client joins", (Join("a"),), "Stable", 1, (created(), rebalanced(came=1))),
        Step("it leaves, and nobody comes", (Leave("a"),), "Empty", 0, (emptied(1),)),
    ),
    ends=(dead("expired"),),
)

EXPIRED_UNCOMMITTED: Final = Scenario(
    "expired-uncommitted",
    "consumer",
    {"in": 1},
    (
        Step("a client joins and commits nothing", (Join("a"),), "Stable", 1, (created(), rebalanced(came=1)),
             commits=False),
        Step("it leaves: the next sweep removes the group", (Leave("a"),), "Empty", 0, (emptied(1),), commits=False),
    ),
    ends=(dead("expired"),),
)  # fmt: skip

OFFSETS_EXPIRED: Final = Scenario(
    "offsets-expired",
    "consumer",
    {"in": 1, "old": 1},
    (
        Step("a client joins for two topics", (Join("a", topics=("in", "old")),), "Stable", 1,
             (created(), rebalanced(came=1))),
        Step("it wants one of them only", (Subscribe("a", ("in",)),), "Stable", 1, (rebalanced(),)),
    ),
    ends=(forgotten("expired"),),
    forgets=(("old", 0),),
)  # fmt: skip

OFFSETS_EXPIRED_CONSUMER: Final = Scenario(
    "offsets-expired-consumer",
    "consumer",
    {"in": 1, "old": 1},
    (
        Step("a client joins for two topics", (Join("a", "consumer", ("in", "old")),), "Stable", 1,
             (created(), rebalanced(came=1))),
        Step("it wants one of them only", (Subscribe("a", ("in",)),), "Stable", 1, (rebalanced(),)),
    ),
    ends=(forgotten("expired"),),
    forgets=(("old", 0),),
)  # fmt: skip

OFFSETS_EXPIRED_SIMPLE: Final = Scenario(
    "offsets-expired-simple",
    "consumer",
    {"in": 2},
    (Step("somebody commits two partitions", (Store((("in", 0, 3), ("in", 1, 4))),), "Empty", 0, (created(),)),),
    meanwhile=(Store((("in", 1, 5),)),),
    ends=(forgotten("expired"),),
    forgets=(("in", 0),),
)

SCENARIOS: Final = (
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
