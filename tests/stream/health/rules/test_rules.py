"""Windows made by hand, each with the expected answer of every rule and the sentence of its verdict."""

from __future__ import annotations

import dataclasses
import operator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pytest

from stream.health.evaluator import apply_rules
from stream.health.evidence import COLUMNS, evidence
from stream.health.inputs import NO_COMMIT, NO_OWNER, GroupStage, OpenTransaction
from stream.health.rules import RULES
from stream.health.verdict import SEVERITY, VERDICTS, Severity, Verdict
from tests.stream.health.panes import HOUR, MINUTE, SECOND, Row, pane

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.health.rules.rule import Rule

V = Verdict
_Part = TypeVar("_Part")


@dataclasses.dataclass(frozen=True)
class Case:
    """The rows (the first one is judged), the rules besides `ok` that apply to it, and the expected sentence."""

    story: str
    rows: tuple[Row, ...]
    found: tuple[Verdict, ...]
    """The expected verdicts in the order of the rules: the first is that of the row; none: ok."""
    sentence: str

    @property
    def verdict(self) -> Verdict:
        """Return the verdict."""
        return self.found[0] if self.found else V.OK


READ_UP = Row(lag=0, age=0, idle=0, committed=10_400, stable_lag=0)
NOT_READ: dict[str, Any] = {"stage": GroupStage.EMPTY, "members": 0, "commit_ago": 24 * HOUR}
JUMPED = Row(jump_from=4_000, jump_to=9_500, jump_ago=MINUTE)
STUCK = Row(stuck=True, lag=3_000, age=30 * SECOND, idle=30 * SECOND, commit_ago=30 * SECOND, progress_ago=30 * SECOND)
REPEATS = dataclasses.replace(STUCK, commit_ago=2 * SECOND)
CLIMBS = Row(
    rewind_from=10_400, rewind_to=9_900, rewind_ago=15 * SECOND, turn_from=10_400, turn_to=9_900, turn_ago=15 * SECOND,
    turn_interval=20 * SECOND, climbed_ago=10 * SECOND, steps=3, steps_ago=55 * SECOND,
)  # fmt: skip
TURNS = Row(turn_from=10_400, turn_to=9_000, turn_ago=5 * SECOND, turns_ago=40 * SECOND, turn_interval=10 * SECOND)
BEHIND = Row(lag=30_000, age=5 * MINUTE)
BACK = dataclasses.replace(BEHIND, rewinds=1, rewind_from=15_000, rewind_to=9_000, rewind_ago=MINUTE)


class OneByOne:
    """A column that allows access to single elements and to the rows of one group only."""

    def __init__(self, column: NDArray[Any]) -> None:
        self._column = column

    def __getitem__(self, at: int | slice) -> Any:
        """Return that element."""
        return self._column[at if isinstance(at, slice) else operator.index(at)]


def one_by_one(part: _Part) -> _Part:
    """Wrap all columns of a dataclass, and of the dataclasses in it."""
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(part):  # type: ignore[type-var] # it is one
        value = getattr(part, field.name)
        if isinstance(value, np.ndarray) and field.name != "group":  # it is sorted: a search in it costs nothing
            changes[field.name] = OneByOne(value)
        elif dataclasses.is_dataclass(value):
            changes[field.name] = one_by_one(value)
    return dataclasses.replace(part, **changes)  # type: ignore[type-var] # it is one


def but(row: Row, **changes: object) -> Row:
    """Return a row with some columns changed."""
    return dataclasses.replace(row, **changes)  # type: ignore[arg-type] # the fields of Row


UNKNOWN_HABIT: dict[str, Any] = {"observed_ago": HOUR, "habit_until_ago": -HOUR}
CASES = (
    Case(
        "stands still like a batch whose habit is not known",
        (but(STUCK, **UNKNOWN_HABIT),),
        (V.HABIT_UNKNOWN, V.STOPPED),
        "Habit not yet known: looks like a batch, observed for 1 h; no progress since",
    ),
    Case(
        "repeats its offset like a batch whose habit is not known",
        (but(REPEATS, **UNKNOWN_HABIT),),
        (V.HABIT_UNKNOWN, V.STALLED, V.STOPPED),
        "Habit not yet known",
    ),
    Case(
        "has no members like a batch whose habit is not known",
        (Row(lag=3_000, age=HOUR, idle=HOUR, settled=HOUR, stage=GroupStage.EMPTY, members=0, **UNKNOWN_HABIT),),
        (V.HABIT_UNKNOWN,),
        "Habit not yet known",
    ),
    Case(
        "has not committed one partition, like a batch whose habit is not known",
        (but(STUCK, committed=NO_COMMIT, **UNKNOWN_HABIT),),
        (V.HABIT_UNKNOWN,),
        "Habit not yet known: looks like a batch, observed for 1 h; no commit yet, 3,000 offsets unread",
    ),
    Case(
        "stands still when the time for its habit is over",
        (but(STUCK, observed_ago=3 * HOUR, habit_until_ago=0),),
        (V.STOPPED,),
        "No commit for 30 s",
    ),
    Case("reads along", (Row(),), (), "Keeps up: 400 offsets unread, the oldest for 4 s."),
    Case(
        "has read all, and commits the last offset it has read",
        (but(READ_UP, committed=10_399, lag=1, last_read=True),),
        (V.COMMITS_LAST_READ, V.CAUGHT_UP),
        "Commits the offset of the last record it has read (10,399), not of the next one: it has read everything.",
    ),
    Case(
        "reads along, and commits the last offset it has read",
        (Row(last_read=True),),
        (V.COMMITS_LAST_READ,),
        "Commits the offset of the last record it has read (10,000), not of the next one: it reads along.",
    ),
    Case("has read all", (READ_UP,), (V.CAUGHT_UP,), "All records are read."),
    Case(
        "has read all but markers",
        (but(READ_UP, end=10_402),),
        (V.CAUGHT_UP,),
        "All records are read; the last 2 offsets hold none.",
    ),
    Case(
        "keeps a long distance",
        (BEHIND,),
        (),
        "Keeps its pace with a constant lag: 30,000 offsets unread, the oldest for 5 min.",
    ),
    Case(
        "one commit six minutes ago",
        (but(BEHIND, commits=1, idle=5 * MINUTE, commit_ago=6 * MINUTE, patience=10 * MINUTE),),
        (),
        "Has committed once, 6 min ago, and its commit interval is not known yet: 30,000 offsets unread, the oldest",
    ),
    Case(
        "no lag known, and a reason",
        (Row(known=False, lag=0, age=-1, reason="no_leader"),),
        (V.UNKNOWN,),
        "The lag is not known: the partition has no leader.",
    ),
    Case(
        "no leader for a minute",
        (Row(known=False, lag=0, age=-1, reason="no_leader", known_ago=MINUTE),),
        (V.NO_LEADER, V.UNKNOWN),
        "The partition has had no leader for 1 min; the group stands at offset 10,000.",
    ),
    Case(
        "no leader for a minute, and no reader for long",
        (Row(known=False, lag=0, age=-1, reason="no_leader", known_ago=MINUTE, **NOT_READ),),
        (V.UNKNOWN,),
        "The lag is not known: the partition has no leader.",
    ),
    Case(
        "its offsets partition has had no leader for a minute: neither well nor stopped",
        (but(STUCK, outage_ago=MINUTE),),
        (V.UNKNOWN, V.STOPPED),
        "Partition 3 of __consumer_offsets, which stores the commits of the group, has had no leader for 1 min: the"
        " group can neither commit nor be evaluated.",
    ),
    Case(
        "its offsets partition and the one that it reads have no leader",
        (Row(known=False, lag=0, age=-1, reason="no_leader", known_ago=MINUTE, outage_ago=MINUTE),),
        (V.NO_LEADER, V.UNKNOWN),
        "The partition has had no leader for 1 min; the group stands at offset 10,000.",
    ),
    Case(
        "its offsets partition has just lost its leader, as in an election",
        (Row(outage_ago=20 * SECOND),),
        (),
        "Keeps up: 400 offsets unread, the oldest for 4 s.",
    ),
    Case(
        "the log was cut back",
        (Row(known=False, lag=0, age=-1, broken=3, end=9_900, **NOT_READ),),
        (V.TRUNCATED, V.UNKNOWN),
        "The log was cut back below the committed offset: 10,000 is 100 offsets above the end (9,900), and the",
    ),
    Case(
        "the topic was recreated, and its reader stands above the end",
        (Row(known=False, lag=0, age=-1, broken=2, end=50, commit_ago=MINUTE),),
        (V.TRUNCATED, V.UNKNOWN),
        "The topic was deleted and created again, and the offset belongs to the earlier one: 10,000 is 9,950 offsets",
    ),
    Case(
        "the topic was recreated a moment ago",
        (Row(known=False, lag=0, age=-1, broken=2, end=50, reason="beyond_end"),),
        (V.UNKNOWN,),
        "The lag is not known: the topic was deleted and created again",
    ),
    Case(
        "a reason without a text",
        (Row(known=False, lag=0, age=-1, reason="storage_failed"),),
        (V.UNKNOWN,),
        "The lag is not known: storage failed.",
    ),
    Case("no lag and no reason", (Row(known=False, lag=0, age=-1),), (V.UNKNOWN,), "The lag is not known."),
    Case(
        "the topic was recreated",
        (Row(known=False, lag=0, age=-1, broken=2, reason="beyond_end"),),
        (V.UNKNOWN,),
        "The lag is not known: the topic was deleted and created again, and the offset belongs to the earlier one.",
    ),
    Case(
        "no member subscribes to it any more",
        (but(STUCK, stuck=False, subscribed=0, commit_ago=HOUR),),
        (V.ABANDONED,),
        "None of the 2 members subscribes to this topic; its last commit is 1 h old.",
    ),
    Case("left a moment ago", (Row(subscribed=0, commit_ago=10 * SECOND),), (), "Keeps up: 400 offsets unread, "),
    Case("no subscription and no members", (but(READ_UP, subscribed=0, members=0),), (V.CAUGHT_UP,), "All"),
    Case(
        "expires in an hour, committed six days ago",
        (but(READ_UP, expires_in=HOUR, commit_ago=144 * HOUR),),
        (V.EXPIRING, V.CAUGHT_UP),
        "The broker expires this offset in 1 h (2023-11-14 23:13:20 UTC);",
    ),
    Case(
        "expires at the next check of the broker",
        (but(READ_UP, expires_in=-MINUTE, commit_ago=144 * HOUR),),
        (V.EXPIRING, V.CAUGHT_UP),
        "The broker expires this offset at its next check",
    ),
    Case("expires in two days", (but(READ_UP, expires_in=48 * HOUR, commit_ago=HOUR),), (V.CAUGHT_UP,), "All"),
    Case("lives for a minute only", (but(READ_UP, expires_in=50 * SECOND),), (V.CAUGHT_UP,), "All records are read."),
    Case(
        "no members for a minute",
        (
            Row(
                stage=GroupStage.EMPTY, members=0, settled=MINUTE, idle=MINUTE, age=MINUTE, lag=6_000, commit_ago=MINUTE
            ),
        ),
        (V.NO_MEMBERS,),
        "The group has had no members for 1 min, with 6,000 offsets unread, the oldest for 1 min.",
    ),
    Case(
        "no members, and retention has passed",
        (Row(stage=GroupStage.EMPTY, members=0, settled=HOUR, idle=HOUR, age=HOUR, lag=6, lost=12, commit_ago=HOUR),),
        (V.NO_MEMBERS,),
        "The group has had no members for 1 h, with 6 offsets unread, the oldest for 1 h; 12 offsets below them",
    ),
    Case(
        "no members for as long as a deploy",
        (Row(stage=GroupStage.EMPTY, members=0, settled=25_000, idle=25_000),),
        (),
        "",
    ),
    Case(
        "no members for less than its patience",
        (Row(stage=GroupStage.EMPTY, members=0, settled=HOUR, idle=HOUR, age=HOUR, patience=2 * HOUR),),
        (),
        "Keeps up",
    ),
    Case("no members and nothing to read", (but(READ_UP, stage=GroupStage.EMPTY, members=0),), (V.CAUGHT_UP,), "All"),
    Case(
        "retention was faster",
        (Row(lost=1_500, log_start=11_500, lag=400),),
        (V.LOSING_DATA,),
        "Retention has removed 1,500 offsets before the group read them: the log now starts at 11,500.",
    ),
    Case(
        "retention was faster, and members cannot start",
        (Row(lost=1_500, log_start=11_500, lag=400, rebalances=4, stage=GroupStage.EMPTY, members=0, commit_ago=HOUR),),
        (V.LOSING_DATA,),
        "Retention has removed 1,500 offsets before the group read them, and it does not get past that: 4 rebalances",
    ),
    Case(
        "retention was faster than a group without members",
        (but(READ_UP, lost=1_500, committed=8_900, log_start=10_400, stage=GroupStage.EMPTY, members=0),),
        (V.CAUGHT_UP,),
        "All records are read.",
    ),
    Case(
        "all records are gone, and nothing is unread",
        (but(READ_UP, lost=1_500, committed=8_900, log_start=10_400),),
        (V.BELOW_LOG_START, V.CAUGHT_UP),
        "The log is empty up to its end (10,400), 1,500 offsets above the commit: whether they were read is not known.",
    ),
    Case(
        "retention has removed the last record of a group that commits the last offset it has read",
        (but(READ_UP, committed=10_399, lost=1, log_start=10_400, last_read=True),),
        (V.CAUGHT_UP,),
        "All records are read.",
    ),
    Case(
        "retention will be faster",
        (but(BEHIND, losing=True, loss_in=7 * MINUTE, log_start=9_000),),
        (V.LOSING_DATA,),
        "Retention will overtake the group in about 7 min: 1,000 offsets of margin, 30,000 offsets unread,",
    ),
    Case(
        "records lost after the group stopped",
        (but(STUCK, lost=5, members=-1, stage=GroupStage.OFFSETS_ONLY, commit_ago=HOUR, progress_ago=HOUR),),
        (V.STOPPED,),
        "No commit for 1 h",
    ),
    Case(
        "rebalances for two minutes",
        (Row(stage=GroupStage.REBALANCING, settled=2 * MINUTE, idle=2 * MINUTE, age=2 * MINUTE, lag=900),),
        (V.REBALANCING_TOO_LONG,),
        "The group has been rebalancing for 2 min, with 900 offsets unread, the oldest for 2 min.",
    ),
    Case(
        "rebalances for half a minute",
        (Row(stage=GroupStage.REBALANCING, settled=30_000, idle=30_000),),
        (),
        "Keeps up",
    ),
    Case(
        "rebalances, with nothing to read",
        (but(READ_UP, stage=GroupStage.REBALANCING, settled=HOUR),),
        (V.CAUGHT_UP,),
        "",
    ),
    Case(
        "rebalances again and again",
        (Row(rebalances=9, age=MINUTE, settled=5 * SECOND),),
        (V.REBALANCE_STORM,),
        "9 rebalances of 2 members within 10 min, with 400 offsets unread, the oldest for 1 min.",
    ),
    Case("as many rebalances as a rolling restart makes", (Row(rebalances=6, age=MINUTE),), (), "Keeps its pace"),
    Case("many rebalances of many members", (Row(rebalances=20, members=10, age=MINUTE),), (), "Keeps its pace"),
    Case("many rebalances, and it catches up", (Row(rebalances=9, age=MINUTE, trend=-1),), (V.RECOVERING,), "Behind"),
    Case("many rebalances, no delay", (Row(rebalances=9),), (), "Keeps up"),
    Case(
        "an open transaction in front",
        (but(REPEATS, stable=10_000, stable_lag=0, held_for=30 * SECOND, progress_ago=40 * SECOND),),
        (V.HELD_BACK, V.STALLED, V.STOPPED),
        "Blocked at offset 10,000 by an open transaction since 2023-11-14 22:12:50 UTC: 3,000 offsets unread,",
    ),
    Case(
        "an open transaction, but further on",
        (but(STUCK, stable=10_500, stable_lag=500, held_for=30 * SECOND),),
        (V.STOPPED,),
        "No commit for 30 s",
    ),
    Case(
        "an open transaction behind the marker of the one before",
        (but(REPEATS, stable=10_001, stable_lag=1, held_for=30 * SECOND, progress_ago=40 * SECOND),),
        (V.HELD_BACK, V.STALLED, V.STOPPED),
        "Blocked at offset 10,001 by an open transaction since",
    ),
    Case(
        "without owner",
        (but(STUCK, stuck=False, idle=40 * SECOND, owner=NO_OWNER), READ_UP),
        (V.UNASSIGNED,),
        "None of the group's 2 members owns this partition, with 3,000 offsets unread, the oldest for 30 s.",
    ),
    Case("without owner since a moment", (Row(owner=NO_OWNER, settled=5 * SECOND, idle=HOUR),), (), "Keeps up"),
    Case("no owner, no subscription", (Row(owner=NO_OWNER, idle=HOUR, subscribed=0, commit_ago=0),), (), "Keeps up"),
    Case(
        "each transaction is aborted",
        (but(STUCK, aborts=6, aborts_ago=(28 * SECOND, 3 * SECOND)),),
        (V.ABORTING, V.STOPPED),
        "Each of its 6 transactions in 28 s was aborted, the last one 3 s ago, by producer 4000; none was committed:"
        " 3,000 offsets unread, the oldest for 30 s.",
    ),
    Case(
        "each transaction is aborted, and none was ever committed",
        (but(STUCK, committed=NO_COMMIT, idle=7 * MINUTE, aborts=90, aborts_ago=(7 * MINUTE, 3 * SECOND)),),
        (V.ABORTING, V.NEVER_COMMITTED),
        "Each of its 90 transactions in 7 min was aborted",
    ),
    Case(
        "two transactions were aborted",
        (but(STUCK, aborts=2, aborts_ago=(28 * SECOND, 3 * SECOND)),),
        (V.STOPPED,),
        "No commit for 30 s",
    ),
    Case(
        "transactions were aborted, and no more begin",
        (but(STUCK, aborts=6, aborts_ago=(2 * MINUTE, MINUTE)),),
        (V.STOPPED,),
        "No commit for 30 s",
    ),
    Case(
        "transactions are aborted one after the other by a time-out of a minute",
        (but(STUCK, commit_ago=4 * MINUTE, aborts=3, aborts_ago=(3 * MINUTE, MINUTE)),),
        (V.ABORTING, V.STOPPED),
        "Each of its 3 transactions in 3 min was aborted, the last one 1 min ago",
    ),
    Case("transactions are aborted, and it keeps up", (Row(aborts=6, aborts_ago=(MINUTE, SECOND)),), (), "Keeps up"),
    Case(
        "never committed",
        (but(STUCK, committed=NO_COMMIT, age=7 * MINUTE, idle=7 * MINUTE),),
        (V.NEVER_COMMITTED,),
        "Records have come for 7 min, and the group has never committed an offset for this partition.",
    ),
    Case(
        "one stands, its siblings move",
        (but(STUCK, owner=-1), Row(owner=-1), Row(owner=-1)),
        (V.POISON_RECORD, V.STOPPED),
        "Stuck at offset 10,000 for 30 s while other partitions of the group make progress: 3,000 offsets unread,",
    ),
    Case(
        "one stands and repeats itself, its siblings move",
        (but(REPEATS, owner=-1), Row(owner=-1)),
        (V.POISON_RECORD, V.STALLED, V.STOPPED),
        "Stuck at offset 10,000",
    ),
    Case(
        "two stand, with unknown owners",
        (but(STUCK, owner=-1), but(STUCK, owner=-1), Row(owner=-1)),
        (V.STOPPED,),
        "No commit",
    ),
    Case(
        "two of one member stand, its others move",
        (but(STUCK, owner=3), but(STUCK, owner=3), Row(owner=3), Row(owner=3), Row(owner=3)),
        (V.POISON_RECORD, V.STOPPED),
        "Stuck at",
    ),
    Case(
        "all of one member stand", (but(STUCK, owner=3), but(STUCK, owner=3), Row(owner=4)), (V.STOPPED,), "No commit"
    ),
    Case("its sibling moved long ago", (but(STUCK, owner=-1), Row(owner=-1, progress_ago=HOUR)), (V.STOPPED,), "No"),
    Case(
        "commits, and stands",
        (REPEATS,),
        (V.STALLED, V.STOPPED),
        "Commits arrive (the last 2 s ago) but stay at offset 10,000 for 30 s: 3,000 offsets unread, the oldest",
    ),
    Case(
        "stands without commits",
        (STUCK,),
        (V.STOPPED,),
        "No commit for 30 s, where 46 s is the longest to expect: 3,000 offsets unread, the oldest for 30 s.",
    ),
    Case(
        "went forward past records",
        (but(JUMPED, passed_written_ago=(3 * HOUR, 2 * MINUTE)),),
        (V.SKIPPED,),
        "The group went from 4,000 to 9,500 (5,500 offsets, written from 2023-11-14 19:13:20 UTC to 2023-11-14",
    ),
    Case(
        "went forward past records that are older than what is remembered",
        (but(JUMPED, passed_written_ago=(None, 2 * MINUTE)),),
        (V.SKIPPED,),
        "The group went from 4,000 to 9,500 (5,500 offsets, written until 2023-11-14 22:11:20 UTC) at 2023-11-14 22:12",
    ),
    Case("went forward long ago", (but(JUMPED, jump_ago=HOUR),), (), "Keeps up"),
    Case("went forward, and was set back to read the records", (but(JUMPED, committed=4_100),), (), "Keeps up"),
    Case(
        "was set forward while it was empty",
        (but(JUMPED, jump_planned=True),),
        (V.RESET,),
        "The offset was reset from 4,000 to 9,500 (5,500 offsets) at 2023-11-14 22:12:20 UTC while the group",
    ),
    Case(
        "went back by itself",
        (BACK,),
        (V.REWOUND,),
        "The group went back from 15,000 to 9,000 (6,000 offsets) at 2023-11-14 22:12:20 UTC: 30,000 offsets unread",
    ),
    Case("went back often", (but(BACK, rewinds=7),), (V.REWOUND,), "The group went back from 15,000 to 9,000 (6,000"),
    Case(
        "was set back while it was empty",
        (but(BACK, emptied_ago=2 * MINUTE, refilled_ago=30 * SECOND),),
        (V.RESET,),
        "The offset was reset from 15,000 to 9,000 (6,000 offsets) at 2023-11-14 22:12:20 UTC while the group was",
    ),
    Case(
        "was empty, but went back after",
        (but(BACK, emptied_ago=3 * MINUTE, refilled_ago=2 * MINUTE),),
        (V.REWOUND,),
        "The group went back",
    ),
    Case(
        "goes back again and again, and has read up",
        (but(CLIMBS, committed=10_450),),
        (V.REWOUND,),
        "The group goes back again and again: 3 times in 55 s, last from 10,400 to 9,900 (500 offsets) at 2023-11-14",
    ),
    Case("has gone back twice, and has read up", (but(CLIMBS, committed=10_450, steps=2),), (), "Keeps up"),
    Case("no longer goes back", (but(CLIMBS, committed=10_450, turn_ago=2 * MINUTE),), (), "Keeps up"),
    Case("goes back, and nothing is read again", (but(CLIMBS, committed=10_450, climbed_ago=None),), (), "Keeps up"),
    Case("went back and has read up", (but(BACK, committed=15_000),), (), "Keeps its pace"),
    Case("went back, and is near the end", (but(BACK, lag=400, age=4 * SECOND),), (), "Keeps up"),
    Case(
        "carries the lag of its topic",
        (BEHIND, Row(), READ_UP, READ_UP),
        (V.SKEWED,),
        "This one of 4 partitions carries 99% of the topic's lag: 30,000 offsets unread, the oldest for 5 min; it is",
    ),
    Case("all are behind", (BEHIND, but(BEHIND, lag=10), READ_UP), (), "Keeps its pace"),
    Case("one of two is behind", (BEHIND, READ_UP), (), "Keeps its pace"),
    Case("one carries the lag of a moment", (Row(), READ_UP, READ_UP), (), "Keeps up"),
    Case(
        "reads less than is written",
        (but(BEHIND, trend=1, consume=80.0),),
        (V.FALLING_BEHIND,),
        "More lag is left after every commit (reads 80/s, written at 100/s): 30,000 offsets unread, the oldest for",
    ),
    Case("lag rises within its habits", (Row(trend=1),), (), "Keeps up"),
    Case(
        "catches up",
        (but(BEHIND, trend=-1, consume=200.0, catch_up=5 * MINUTE),),
        (V.RECOVERING,),
        "Behind, but catching up, done in about 5 min at this rate: 30,000 offsets unread, the oldest for 5 min.",
    ),
    Case("too early for a trend, but faster", (but(BEHIND, trend=2, catch_up=MINUTE),), (V.RECOVERING,), "Behind, but"),
    Case(
        "two clients commit in turns",
        (but(TURNS, turns=4),),
        (V.TWO_COMMITTERS,),
        "The offset has alternated between two positions for 40 s: one client commits about 10,400, another one"
        " about 9,000 (1,400 offsets apart), and both advance.",
    ),
    Case(
        "an offset that was removed before its time",
        (Row(committed=NO_COMMIT, forgotten_ago=HOUR),),
        (V.FORGOTTEN,),
        "The committed offset was removed at 2023-11-14 21:13:20 UTC before its time, while the group was alive, and"
        " the group has committed none since: after a restart it begins by auto.offset.reset.",
    ),
    Case(
        "an offset that was removed and committed again",
        (Row(forgotten_ago=5 * MINUTE),),
        (V.FORGOTTEN,),
        "The committed offset was removed at 2023-11-14 22:08:20 UTC before its time, while the group was alive, and"
        " the group has committed 10,000 since.",
    ),
    Case("an offset that was committed again long ago", (Row(forgotten_ago=11 * MINUTE),), (), "Keeps up"),
    Case("two steps back", (but(TURNS, turns=2),), (), "Keeps up"),
    Case("the other client has ended", (but(TURNS, turns=4, turn_ago=MINUTE),), (), "Keeps up"),
    Case(
        "members that subscribe to different topics",
        (Row(split_ago=11 * MINUTE),),
        (V.TWO_APPLICATIONS,),
        "For 11 min, the members have subscribed to different topics: 2 members (client a on 10.0.0.1, client a on"
        " 10.0.0.2) to orders; 1 member (client b on 10.0.0.3) to payments.",
    ),
    Case("members subscribe to other topics than old ones", (Row(split_ago=9 * MINUTE),), (), "Keeps up"),
    Case(
        "behind by more than is remembered",
        (but(BEHIND, exact=False),),
        (),
        "Keeps its pace with a constant lag: 30,000 offsets unread, the oldest for at least 5 min.",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.story)
def test_the_rules_match_the_cases(case: Case) -> None:
    """The expected rules match the row, and the first of them is the verdict."""
    window = pane(*case.rows)
    found = [rule.verdict for rule in RULES if rule.matches(window)[0]]
    assert found == [*case.found, V.OK]
    assert VERDICTS[apply_rules(window)[0][0]] is case.verdict


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.story)
def test_the_sentence_has_the_numbers_of_the_row(case: Case) -> None:
    """The sentence has the measured values and ends with a full stop."""
    window = pane(*case.rows)
    rule = next(rule for rule in RULES if rule.verdict is case.verdict)
    assert rule.sentence(window, 0).startswith(case.sentence)
    assert rule.sentence(window, 0).endswith(".")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.story)
def test_a_sentence_reads_only_its_row(case: Case) -> None:
    """A sentence does not read whole columns, which would take hours for the rows of many groups."""
    window = pane(*case.rows)
    rule = next(rule for rule in RULES if rule.verdict is case.verdict)
    alone = one_by_one(window)
    assert rule.sentence(alone, 0) == rule.sentence(window, 0)
    assert evidence(alone, 0, tuple(COLUMNS)) == evidence(window, 0, tuple(COLUMNS))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.verdict.value)
def test_every_rule_has_a_case_that_it_decides(rule: Rule) -> None:
    """Each rule has a window of its own in the table."""
    assert any(case.verdict is rule.verdict for case in CASES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.verdict.value)
def test_every_rule_has_evidence_and_a_next_step(rule: Rule) -> None:
    """The numbers of a rule can be read from the window of its case, and its next step is a sentence."""
    assert set(rule.evidence) <= set(COLUMNS)
    assert rule.next_step.endswith((".", "?"))
    case = next(case for case in CASES if case.verdict is rule.verdict)
    given = evidence(pane(*case.rows), 0, rule.evidence)
    assert list(given) == list(rule.evidence)
    assert any(value is not None for value in given.values())


def test_every_verdict_has_exactly_one_rule() -> None:
    """Every verdict has one rule and one severity."""
    assert sorted(rule.verdict for rule in RULES) == sorted(Verdict)
    assert set(SEVERITY) == set(Verdict)


def test_only_good_verdicts_can_be_undecided() -> None:
    """A fault holds for any length of the history."""
    looks_fine, stands = pane(Row(undecided=True)), pane(but(STUCK, undecided=True))
    assert apply_rules(looks_fine)[0].tolist() == [-1]
    assert VERDICTS[apply_rules(stands)[0][0]] is V.STOPPED


@pytest.mark.parametrize(
    ("row", "step"),
    [
        pytest.param(but(BEHIND, losing=True, loss_in=7 * MINUTE), "Raise the topic's retention", id="before the loss"),
        pytest.param(Row(lost=1_500, log_start=11_500), "The records are gone. Restart the group", id="after the loss"),
    ],
)
def test_the_next_step_of_a_loss_depends_on_what_is_lost(row: Row, step: str) -> None:
    """More retention does not bring records back."""
    rule = next(rule for rule in RULES if rule.verdict is V.LOSING_DATA)
    assert rule.next_step_of is not None
    assert rule.next_step_of(pane(row), 0).startswith(step)


def test_the_blocking_transaction_is_named() -> None:
    """The sentence has the producer id, transactional id and start time, as far as the cluster knows them."""
    row = but(REPEATS, stable=10_000, stable_lag=0, held_for=30 * SECOND)
    rule = next(rule for rule in RULES if rule.verdict is V.HELD_BACK)
    known = pane(row, transactions={(0, 0): OpenTransaction(4711, "invoices-1", 1_699_999_000_000)})
    assert rule.sentence(known, 0).startswith(
        "Blocked at offset 10,000 by the open transaction of producer 4711 (invoices-1) since 2023-11-14 21:56:40 UTC"
    )
    assert evidence(known, 0, ("transaction",)) == {"transaction": "producer 4711, invoices-1"}
    hangs = pane(row, transactions={(0, 0): OpenTransaction(4711, hanging=True)})
    assert "by the hanging transaction of producer 4711 since" in rule.sentence(hangs, 0)
    nameless = pane(row, transactions={(0, 0): OpenTransaction(4711)})
    assert "producer 4711 since 2023-11-14 22:12:50 UTC" in rule.sentence(nameless, 0)


@pytest.mark.parametrize(
    ("column", "verdict"),
    [
        ("subscribed", V.ABANDONED),
        ("owner", V.UNASSIGNED),
        ("expiry", V.EXPIRING),
        ("reasons", V.NO_LEADER),
    ],
)
def test_rules_do_not_fail_without_an_optional_input_column(column: str, verdict: Verdict) -> None:
    """A rule that needs the missing column does not match, and the other rules still match its case.

    A rule that matches without the column has a sentence and evidence.
    """
    for case in CASES:
        whole = pane(*case.rows)
        window = dataclasses.replace(whole, inputs=dataclasses.replace(whole.inputs, **{column: None}))
        matching = [rule for rule in RULES if rule.matches(window)[0]]
        found = [rule.verdict for rule in matching]
        assert verdict not in found
        if verdict in case.found:
            assert found == [*(each for each in case.found if each is not verdict), V.OK]
        for rule in matching:
            assert rule.sentence(window, 0).endswith(".")
            assert list(evidence(window, 0, rule.evidence)) == list(rule.evidence)


def test_verdicts_from_warning_on_need_action() -> None:
    """Fine, unknown and notice verdicts need no action."""
    calm = {verdict for verdict, severity in SEVERITY.items() if severity < Severity.WARNING}
    notices = {V.BELOW_LOG_START, V.COMMITS_LAST_READ, V.RECOVERING, V.RESET, V.ABANDONED, V.HABIT_UNKNOWN}
    assert calm == {V.OK, V.CAUGHT_UP, V.UNKNOWN} | notices
