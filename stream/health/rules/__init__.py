"""All rules, in the order in which they are asked; the first that finds a row gives it its verdict.

The reason for the order: a cause stands before what it causes, and what cannot be undone before what can.

1.  Without a known lag nothing else holds (unknown).
2.  What nobody wants needs no other word (abandoned).
3.  An offset that is about to be forgotten takes everything below with it (expiring).
4.  Without members, none of the faults of members (no_members).
5.  Records that go for ever, before those that only wait (losing_data).
6.  A group that cannot settle stops all of its partitions at once (rebalancing_too_long, rebalance_storm).
7.  Stuck partitions with an outward cause: a transaction, no owner, no commit ever, a record (held_back, unassigned,
    never_committed, poison_record). The last needs siblings that move, so it stands behind what stops them all.
8.  Stuck without one: commits that repeat themselves, then none (stalled, stopped). `stopped` takes what is left.
9.  From here on the group moves. Why it is behind, before that it is (rewound, reset, skewed), and then which way it
    goes (falling_behind, recovering).
10. Nothing is wrong (caught_up, ok). `ok` finds every row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stream.health.rules import (
    abandoned,
    caught_up,
    expiring,
    falling_behind,
    held_back,
    losing_data,
    never_committed,
    no_members,
    ok,
    poison_record,
    rebalance_storm,
    rebalancing_too_long,
    recovering,
    rewound,
    skewed,
    stalled,
    stopped,
    unassigned,
    unknown,
)

if TYPE_CHECKING:
    from stream.health.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    unknown.RULE,
    abandoned.RULE,
    expiring.RULE,
    no_members.RULE,
    losing_data.RULE,
    rebalancing_too_long.RULE,
    rebalance_storm.RULE,
    held_back.RULE,
    unassigned.RULE,
    never_committed.RULE,
    poison_record.RULE,
    stalled.RULE,
    stopped.RULE,
    rewound.REWOUND,
    rewound.RESET,
    skewed.RULE,
    falling_behind.RULE,
    recovering.RULE,
    caught_up.RULE,
    ok.RULE,
)
