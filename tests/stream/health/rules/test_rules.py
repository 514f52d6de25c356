"""Windows made by hand, each with the expected answer of every rule and the sentence of its verdict."""

import dataclasses
import operator
from typing import Any, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from stream.health.evaluator import apply_rules
from stream.health.evidence import COLUMNS, evidence
from stream.health.features.window import Window
from stream.health.hysteresis import EVERY_RULE
from stream.health.inputs import NO_COMMIT, NO_OWNER, FailedReplica, GroupStage, OpenTransaction
from stream.health.rules import RULES
from stream.health.verdict import SEVERITY, VERDICTS, Verdict
from tests.stream.health.panes import HOUR, MINUTE, SECOND, Row, pane
from tests.stream.health.tables import wrong

V = Verdict
_Part = TypeVar("_Part")


def but(row: Row, **changes: object) -> Row:
    return dataclasses.replace(row, **changes)  # type: ignore[arg-type] # the fields of Row


EMPTY, REBALANCING = GroupStage.EMPTY, GroupStage.REBALANCING
READ_UP = Row(lag=0, age=0, idle=0, committed=10_400, stable_lag=0)
NOT_READ: dict[str, Any] = {"stage": EMPTY, "members": 0, "commit_ago": 24 * HOUR}
NO_END = Row(known=False, lag=0, age=-1)
LEADERLESS = but(NO_END, reason="no_leader", known_ago=MINUTE)
FAILED = but(LEADERLESS, failed=(FailedReplica(2, ("/data/a", "/data/b")), FailedReplica(3, ())))
JUMPED = Row(jump_from=4_000, jump_to=9_500, jump_ago=MINUTE)
STUCK = Row(stuck=True, lag=3_000, age=30 * SECOND, idle=30 * SECOND, commit_ago=30 * SECOND, progress_ago=30 * SECOND)
REPEATS = but(STUCK, commit_ago=2 * SECOND)
BLOCKED = but(REPEATS, stable=10_000, stable_lag=0, held_for=30 * SECOND, progress_ago=40 * SECOND)
CLIMBS = Row(
    committed=10_450, rewind_from=10_400, rewind_to=9_900, rewind_ago=15 * SECOND, turn_from=10_400, turn_to=9_900,
    turn_ago=15 * SECOND, turn_interval=20 * SECOND, climbed_ago=10 * SECOND, steps=3, steps_ago=55 * SECOND,
)  # fmt: skip
TURNS = Row(
    turns=4, turn_from=10_400, turn_to=9_000, turn_ago=5 * SECOND, turns_ago=40 * SECOND, turn_interval=10 * SECOND
)
BEHIND = Row(lag=30_000, age=5 * MINUTE)
BACK = but(BEHIND, rewinds=1, rewind_from=15_000, rewind_to=9_000, rewind_ago=MINUTE)
EMPTIED = Row(stage=EMPTY, members=0, settled=HOUR, idle=HOUR, age=HOUR)
STORM = Row(rebalances=9, age=MINUTE)
UNKNOWN_HABIT: dict[str, Any] = {"observed_ago": HOUR, "habit_until_ago": -HOUR}

CASES: dict[str, tuple[Any, ...]] = {
    # The beginning of the sentence: the rows, of which the first one is judged, and the rules besides `ok` that apply.
    "Habit not yet known: looks like a batch, observed for 1 h; no progress since": (
        but(STUCK, **UNKNOWN_HABIT),
        "habit_unknown stopped",
    ),
    "Habit not yet known: looks like a batch, observed for 1 h; no commit yet, 3,000 offsets unread": (
        but(STUCK, committed=NO_COMMIT, **UNKNOWN_HABIT),
        "habit_unknown",
    ),
    "Keeps up: 400 offsets unread, the oldest for 4 s.": (Row(), ""),
    "Keeps its pace with a constant lag: 30,000 offsets unread, the oldest for 5 min.": (BEHIND, ""),
    "Keeps its pace with a constant lag: 30,000 offsets unread, the oldest for at least 5 min.": (
        but(BEHIND, exact=False),
        "",
    ),
    "Has committed once, 6 min ago, and its commit interval is not known yet: 30,000 offsets unread, the oldest": (
        but(BEHIND, commits=1, idle=5 * MINUTE, commit_ago=6 * MINUTE, patience=10 * MINUTE),
        "",
    ),
    "Commits the offset of the last record it has read (10,399), not of the next one: it has read everything.": (
        but(READ_UP, committed=10_399, lag=1, last_read=True),
        "commits_last_read caught_up",
    ),
    "Commits the offset of the last record it has read (10,000), not of the next one: it reads along.": (
        Row(last_read=True),
        "commits_last_read",
    ),
    "All records are read.": (READ_UP, "caught_up"),
    "All records are read; the last 2 offsets hold none.": (but(READ_UP, end=10_402), "caught_up"),
    "Another program writes the offsets of this group (groups.mirrored), and it has no members: no client waits for": (
        but(STUCK, stage=GroupStage.MIRRORED),
        "mirrored stopped",
    ),
    "Another program writes the offsets of this group (groups.mirrored), and it has no members.": (
        but(LEADERLESS, stage=GroupStage.MIRRORED),
        "mirrored no_leader unknown",
    ),
    "The lag is not known.": (NO_END, "unknown"),
    "The lag is not known: storage failed.": (but(NO_END, reason="storage_failed"), "unknown"),
    "The lag is not known: the partition has no leader.": (but(LEADERLESS, known_ago=0), "unknown"),
    "The lag is not known: the topic was deleted and created again, and the offset belongs to the earlier one.": (
        but(NO_END, broken=2, end=50, reason="beyond_end"),
        "unknown",
    ),
    (
        "Partition 3 of __consumer_offsets, which stores the commits of the group, has had no leader for 1 "
        "min: the group can neither commit nor be evaluated."
    ): (but(STUCK, outage_ago=MINUTE), "unknown stopped"),
    "The partition has had no leader for 1 min; the group stands at offset 10,000.": (LEADERLESS, "no_leader unknown"),
    (
        "The partition has had no leader for 1 min; the group stands at offset 10,000. Broker 2 is up, but its replica"
        " is offline: log directory /data/a or /data/b has failed. Broker 3 is up, but its replica is offline: a log"
    ): (FAILED, "no_leader unknown"),
    "The log was cut back below the committed offset: 10,000 is 100 offsets above the end (9,900), and the": (
        but(NO_END, broken=3, end=9_900, **NOT_READ),
        "truncated unknown",
    ),
    "The topic was deleted and created again, and the offset belongs to the earlier one: 10,000 is 9,950 offsets": (
        but(NO_END, broken=2, end=50, commit_ago=MINUTE),
        "truncated unknown",
    ),
    "None of the 2 members subscribes to this topic; its last commit is 1 h old.": (
        but(STUCK, stuck=False, subscribed=0, commit_ago=HOUR),
        "abandoned",
    ),
    "The broker expires this offset in 1 h (2023-11-14 23:13:20 UTC);": (
        but(READ_UP, expires_in=HOUR, commit_ago=144 * HOUR),
        "expiring caught_up",
    ),
    "The broker expires this offset at its next check": (
        but(READ_UP, expires_in=-MINUTE, commit_ago=144 * HOUR),
        "expiring caught_up",
    ),
    "The group has had no members for 1 min, with 6,000 offsets unread, the oldest for 1 min.": (
        but(EMPTIED, settled=MINUTE, idle=MINUTE, age=MINUTE, lag=6_000, commit_ago=MINUTE),
        "no_members",
    ),
    "The group has had no members for 1 h, with 6 offsets unread, the oldest for 1 h; 12 offsets below them": (
        but(EMPTIED, lag=6, lost=12, commit_ago=HOUR),
        "no_members",
    ),
    "Retention has removed 1,500 offsets before the group read them: the log now starts at 11,500.": (
        Row(lost=1_500, log_start=11_500, lag=400),
        "losing_data",
    ),
    "Retention has removed 1,500 offsets before the group read them, and it does not get past that: 4 rebalances": (
        Row(lost=1_500, log_start=11_500, rebalances=4, stage=EMPTY, members=0, commit_ago=HOUR),
        "losing_data",
    ),
    "Retention will overtake the group in about 7 min: 1,000 offsets of margin, 30,000 offsets unread,": (
        but(BEHIND, losing=True, loss_in=7 * MINUTE, log_start=9_000),
        "losing_data",
    ),
    "The log is empty up to its end (10,400), 1,500 offsets above the commit: whether they were read is not known.": (
        but(READ_UP, lost=1_500, committed=8_900, log_start=10_400),
        "below_log_start caught_up",
    ),
    "The group has been rebalancing for 2 min, with 900 offsets unread, the oldest for 2 min.": (
        Row(stage=REBALANCING, settled=2 * MINUTE, idle=2 * MINUTE, age=2 * MINUTE, lag=900),
        "rebalancing_too_long",
    ),
    "9 rebalances of 2 members within 10 min, with 400 offsets unread, the oldest for 1 min.": (
        but(STORM, settled=5 * SECOND),
        "rebalance_storm",
    ),
    "Blocked at offset 10,000 by an open transaction since 2023-11-14 22:12:50 UTC: 3,000 offsets unread,": (
        BLOCKED,
        "held_back stalled stopped",
    ),
    "Blocked at offset 10,001 by an open transaction since": (
        but(BLOCKED, stable=10_001, stable_lag=1),
        "held_back stalled stopped",
    ),
    "None of the group's 2 members owns this partition, with 3,000 offsets unread, the oldest for 30 s.": (
        (but(STUCK, stuck=False, idle=40 * SECOND, owner=NO_OWNER), READ_UP),
        "unassigned",
    ),
    (
        "Each of its 6 transactions in 28 s was aborted, the last one 3 s ago, by producer 4000; none was "
        "committed: 3,000 offsets unread, the oldest for 30 s."
    ): (but(STUCK, aborts=6, aborts_ago=(28 * SECOND, 3 * SECOND)), "aborting stopped"),
    "Each of its 90 transactions in 7 min was aborted": (
        but(STUCK, committed=NO_COMMIT, idle=7 * MINUTE, aborts=90, aborts_ago=(7 * MINUTE, 3 * SECOND)),
        "aborting never_committed",
    ),
    "Each of its 3 transactions in 3 min was aborted, the last one 1 min ago": (
        but(STUCK, commit_ago=4 * MINUTE, aborts=3, aborts_ago=(3 * MINUTE, MINUTE)),
        "aborting stopped",
    ),
    "Records have come for 7 min, and the group has never committed an offset for this partition.": (
        but(STUCK, committed=NO_COMMIT, age=7 * MINUTE, idle=7 * MINUTE),
        "never_committed",
    ),
    "Stuck at offset 10,000 for 30 s while other partitions of the group make progress: 3,000 offsets unread,": (
        (but(STUCK, owner=-1, members=1), Row(owner=-1, members=1), Row(owner=-1, members=1)),
        "poison_record stopped",
    ),
    "Commits arrive (the last 2 s ago) but stay at offset 10,000 for 30 s: 3,000 offsets unread, the oldest": (
        REPEATS,
        "stalled stopped",
    ),
    "No commit for 30 s, where 46 s is the longest to expect: 3,000 offsets unread, the oldest": (STUCK, "stopped"),
    "The group went from 4,000 to 9,500 (5,500 offsets, written from 2023-11-14 19:13:20 UTC to 2023-11-14": (
        but(JUMPED, passed_written_ago=(3 * HOUR, 2 * MINUTE)),
        "skipped",
    ),
    "The group went from 4,000 to 9,500 (5,500 offsets, written until 2023-11-14 22:11:20 UTC) at 2023-11-14 22:12": (
        but(JUMPED, passed_written_ago=(None, 2 * MINUTE)),
        "skipped",
    ),
    "The offset was reset from 4,000 to 9,500 (5,500 offsets) at 2023-11-14 22:12:20 UTC while the group": (
        but(JUMPED, jump_planned=True),
        "reset",
    ),
    "The group went back from 15,000 to 9,000 (6,000 offsets) at 2023-11-14 22:12:20 UTC: 30,000 offsets unread": (
        BACK,
        "rewound",
    ),
    "The offset was reset from 15,000 to 9,000 (6,000 offsets) at 2023-11-14 22:12:20 UTC while the group was": (
        but(BACK, emptied_ago=2 * MINUTE, refilled_ago=30 * SECOND),
        "reset",
    ),
    "The group goes back again and again: 3 times in 55 s, last from 10,400 to 9,900 (500 offsets) at 2023-11-14": (
        CLIMBS,
        "rewound",
    ),
    "This one of 4 partitions carries 99% of the topic's lag: 30,000 offsets unread, the oldest for 5 min; it is": (
        (BEHIND, Row(), READ_UP, READ_UP),
        "skewed",
    ),
    "More lag is left after every commit (reads 80/s, written at 100/s): 30,000 offsets unread, the oldest for": (
        but(BEHIND, trend=1, consume=80.0),
        "falling_behind",
    ),
    "Behind, but catching up, done in about 5 min at this rate: 30,000 offsets unread, the oldest for 5 min.": (
        but(BEHIND, trend=-1, consume=200.0, catch_up=5 * MINUTE),
        "recovering",
    ),
    (
        "The offset has alternated between two positions for 40 s: one client commits about 10,400, another "
        "one about 9,000 (1,400 offsets apart), and both advance."
    ): (TURNS, "two_committers"),
    (
        "The committed offset was removed at 2023-11-14 21:13:20 UTC before its time, while the group was "
        "alive, and the group has committed none since: after a restart it begins by auto.offset.reset."
    ): (Row(committed=NO_COMMIT, forgotten_ago=HOUR), "forgotten"),
    (
        "The committed offset was removed at 2023-11-14 22:08:20 UTC before its time, while the group was "
        "alive, and the group has committed 10,000 since."
    ): (Row(forgotten_ago=5 * MINUTE), "forgotten"),
    (
        "For 11 min, the members have subscribed to different topics: 2 members (client a on 10.0.0.1, "
        "client a on 10.0.0.2) to orders; 1 member (client b on 10.0.0.3) to payments."
    ): (Row(split_ago=11 * MINUTE), "two_applications"),
}
BORDERS: dict[str, tuple[Any, ...]] = {
    # Rows on the other side of a limit, without the expected sentence: the rows, and the rules that apply.
    "the time for its habit is over": (but(STUCK, observed_ago=3 * HOUR, habit_until_ago=0), "stopped"),
    "no leader for a minute, and no reader for long": (but(LEADERLESS, **NOT_READ), "unknown"),
    "its offsets partition has no leader either": (but(LEADERLESS, outage_ago=MINUTE), "no_leader unknown"),
    "the topic was recreated, and its end passed": (but(NO_END, broken=2, reason="beyond_end"), "unknown"),
    "left a moment ago": (Row(subscribed=0, commit_ago=10 * SECOND), ""),
    "lives for a minute only": (but(READ_UP, expires_in=50 * SECOND), "caught_up"),
    "no members for less than its patience": (but(EMPTIED, patience=2 * HOUR), ""),
    "retention was faster than a group without members": (
        but(READ_UP, lost=1_500, committed=8_900, log_start=10_400, stage=EMPTY, members=0),
        "caught_up",
    ),
    "retention has removed the last record of a group that commits the last offset it has read": (
        but(READ_UP, committed=10_399, lost=1, log_start=10_400, last_read=True),
        "caught_up",
    ),
    "records lost after the group stopped": (
        but(STUCK, lost=5, members=-1, stage=GroupStage.OFFSETS_ONLY, commit_ago=HOUR, progress_ago=HOUR),
        "stopped",
    ),
    "many rebalances of many members": (but(STORM, rebalances=20, members=10), ""),
    "many rebalances, and it catches up": (but(STORM, trend=-1), "recovering"),
    "many rebalances before the last member left": (but(STORM, stage=EMPTY, members=0, settled=14 * SECOND), ""),
    "without owner since a moment": (Row(owner=NO_OWNER, settled=5 * SECOND, idle=HOUR), ""),
    "two transactions were aborted": (but(STUCK, aborts=2, aborts_ago=(28_000, 3_000)), "stopped"),
    "transactions were aborted, no more begin": (but(STUCK, aborts=6, aborts_ago=(120_000, MINUTE)), "stopped"),
    "one stands and repeats itself, its siblings move": (
        (but(REPEATS, owner=-1, members=1), Row(owner=-1, members=1)),
        "poison_record stalled stopped",
    ),
    "one stands, one of two members may have died": ((but(STUCK, owner=-1), Row(owner=-1)), "stopped"),
    "the only one of a member stands": ((but(STUCK, owner=3), Row(owner=4), Row(owner=4)), "stopped"),
    "the only one of a member stands, also after a rebalance": (
        (but(STUCK, owner=3, settled=20 * SECOND), Row(owner=4, settled=20 * SECOND)),
        "poison_record stopped",
    ),
    "its offset was deleted, records wait": (but(STUCK, committed=NO_COMMIT, last_committed=7), "forgotten"),
    "two of one member stand, its others move": (
        (but(STUCK, owner=3), but(STUCK, owner=3), Row(owner=3), Row(owner=3), Row(owner=3)),
        "stopped",
    ),
    "two of one member stand, one for longer": (
        (but(STUCK, owner=3), but(STUCK, owner=3, idle=MINUTE), Row(owner=3), Row(owner=3), Row(owner=3)),
        "poison_record stopped",
    ),
    "went forward long ago": (but(JUMPED, jump_ago=HOUR), ""),
    "went forward, and was set back to read the records": (but(JUMPED, committed=4_100), ""),
    "was empty, but went back after": (but(BACK, emptied_ago=3 * MINUTE, refilled_ago=2 * MINUTE), "rewound"),
    "no longer goes back": (but(CLIMBS, turn_ago=2 * MINUTE), ""),
    "goes back, and nothing is read again": (but(CLIMBS, climbed_ago=None), ""),
    "went back and has read up": (but(BACK, committed=15_000), ""),
    "all are behind": ((BEHIND, but(BEHIND, lag=10), READ_UP), ""),
    "one carries the lag of a moment": ((Row(), READ_UP, READ_UP), ""),
    "the other client has ended": (but(TURNS, turn_ago=MINUTE), ""),
    "members have subscribed to other topics for nine minutes": (Row(split_ago=9 * MINUTE), ""),
}
RULE = {rule.verdict: rule for rule in RULES}


class OneByOne:
    """A column that allows access to single elements and to the rows of one group only."""

    def __init__(self, column: NDArray[Any]) -> None:
        self._column = column

    def __getitem__(self, at: int | slice) -> Any:
        """Return that element."""
        return self._column[at if isinstance(at, slice) else operator.index(at)]


def one_by_one(part: _Part) -> _Part:
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(part):  # type: ignore[type-var] # it is one
        value = getattr(part, field.name)
        if isinstance(value, np.ndarray) and field.name != "group":  # it is sorted: a search in it costs nothing
            changes[field.name] = OneByOne(value)
        elif dataclasses.is_dataclass(value):
            changes[field.name] = one_by_one(value)
    return dataclasses.replace(part, **changes)  # type: ignore[type-var] # it is one


def window_of(rows: Row | tuple[Row, ...]) -> Window:
    return pane(*(rows if isinstance(rows, tuple) else (rows,)))


def first(verdicts: str) -> Verdict:
    return V(verdicts.split(maxsplit=1)[0]) if verdicts else V.OK


def found(rows: Row | tuple[Row, ...]) -> str:
    """Return the rules besides `ok` that apply to the first row, after a check that the first one decides."""
    window = window_of(rows)
    matching = [rule.verdict for rule in RULES if rule.matches(window)[0]]
    assert VERDICTS[apply_rules(window)[0][0]] is matching[0]
    assert matching[-1] is V.OK
    return " ".join(matching[:-1])


def test_the_rules_match_the_cases() -> None:
    """The expected rules match the row, and the first of them is the verdict."""
    assert wrong(CASES | BORDERS, found) == []


def test_a_sentence_has_the_numbers_of_its_row_and_reads_no_other() -> None:
    """A sentence has the measured values and ends with a full stop, and the evidence has the numbers of the row.

    Neither reads whole columns, which would take hours for the rows of many groups.
    """
    for beginning, (rows, verdicts) in CASES.items():
        window = window_of(rows)
        rule, alone = RULE[first(verdicts)], one_by_one(window)
        sentence = rule.sentence(window, 0)
        assert sentence.startswith(beginning)
        assert sentence.endswith(".")
        assert rule.sentence(alone, 0) == sentence
        assert evidence(alone, 0, tuple(COLUMNS)) == evidence(window, 0, tuple(COLUMNS))


def test_every_rule_has_a_case_evidence_and_a_next_step() -> None:
    """Each rule decides a case of the table, has numbers that can be read from its window, and a next step."""
    assert sorted(rule.verdict for rule in EVERY_RULE) == sorted(Verdict) == sorted(SEVERITY)
    for rule in RULES:
        assert set(rule.evidence) <= set(COLUMNS)
        assert rule.next_step.endswith((".", "?"))
        rows = next(rows for rows, verdicts in CASES.values() if first(verdicts) is rule.verdict)
        given = evidence(window_of(rows), 0, rule.evidence)
        assert list(given) == list(rule.evidence)
        assert any(value is not None for value in given.values())


def test_the_next_step_depends_on_the_row() -> None:
    """More retention does not bring records back, and a client that goes back again and again has an exception."""
    losing, lost = but(BEHIND, losing=True, loss_in=7 * MINUTE), Row(lost=1_500, log_start=11_500)
    for verdict, row, step in (
        (V.LOSING_DATA, losing, "Raise the topic's retention"),
        (V.LOSING_DATA, lost, "The records are gone. Restart the group"),
        (V.NO_LEADER, LEADERLESS, "Bring back a broker with an in-sync replica"),
        (
            V.NO_LEADER,
            FAILED,
            "Repair log directory /data/a or /data/b of broker 2 or a log directory of broker 3",
        ),
        (V.REWOUND, BACK, "Find what moved it back"),
        (V.REWOUND, CLIMBS, "Look for an exception in the consumer's log"),
    ):
        next_step = RULE[verdict].next_step_of
        assert next_step is not None
        assert next_step(pane(row), 0).startswith(step)
    copied = but(EMPTIED, emptied_ago=HOUR, commit_ago=MINUTE)
    for verdict, row, is_named in (
        (V.STOPPED, but(STUCK, stage=GroupStage.OFFSETS_ONLY, members=-1, owner=-1), True),
        (V.STOPPED, but(STUCK, owner=-1), False),
        (V.NO_MEMBERS, copied, True),
        (V.NO_MEMBERS, but(copied, commit_ago=2 * HOUR), False),
    ):
        seen = pane(row)
        inputs = dataclasses.replace(seen.inputs, checkpoint_topics=["eu.checkpoints.internal"])
        next_step = RULE[verdict].next_step_of
        assert next_step is not None
        step = next_step(dataclasses.replace(seen, inputs=inputs), 0)
        assert ("(see topic eu.checkpoints.internal), put it into groups.mirrored." in step) is is_named


def test_the_blocking_transaction_is_named() -> None:
    """The sentence has the producer id, transactional id and start time, as far as the cluster knows them."""
    says = RULE[V.HELD_BACK].sentence
    known = pane(BLOCKED, transactions={(0, 0): OpenTransaction(4711, "invoices-1", 1_699_999_000_000)})
    assert says(known, 0).startswith(
        "Blocked at offset 10,000 by the open transaction of producer 4711 (invoices-1) since 2023-11-14 21:56:40 UTC"
    )
    assert evidence(known, 0, ("transaction",)) == {"transaction": "producer 4711, invoices-1"}
    hangs = pane(BLOCKED, transactions={(0, 0): OpenTransaction(4711, hanging=True)})
    assert "by the hanging transaction of producer 4711 since" in says(hangs, 0)
    nameless = pane(BLOCKED, transactions={(0, 0): OpenTransaction(4711)})
    assert "producer 4711 since 2023-11-14 22:12:50 UTC" in says(nameless, 0)
    assert evidence(nameless, 0, ("transaction",)) == {"transaction": "producer 4711"}


@pytest.mark.parametrize(
    ("column", "verdict"),
    [("subscribed", V.ABANDONED), ("owner", V.UNASSIGNED), ("expiry", V.EXPIRING), ("reasons", V.NO_LEADER)],
)
def test_rules_do_not_fail_without_an_optional_input_column(column: str, verdict: Verdict) -> None:
    """A rule that needs the missing column does not match, and the other rules still match its case.

    A rule that matches without the column has a sentence and evidence.
    """
    for rows, verdicts in CASES.values():
        whole = window_of(rows)
        window = dataclasses.replace(whole, inputs=dataclasses.replace(whole.inputs, **{column: None}))
        matching = [rule for rule in RULES if rule.matches(window)[0]]
        names = [rule.verdict for rule in matching]
        assert verdict not in names
        if verdict in verdicts.split():
            assert names == [*(name for name in verdicts.split() if name != verdict), V.OK]
        for rule in matching:
            assert rule.sentence(window, 0).endswith(".")
            assert list(evidence(window, 0, rule.evidence)) == list(rule.evidence)
