"""The explanation of a group, from the answer of the API to printed lines."""

import json
from typing import Any

from exporters.http.api import group_json
from exporters.http.openapi.small_world import NOON
from stream.cli.render.explanation import explain
from stream.cli.render.tables import plain_block_lines
from tests.exporters.snapshots import STOPPED, detail, small_snapshot, snapshot

NOW = NOON / 1000
FINDINGS_HEAD = (
    f"TOPIC   PARTITION  VERDICT   FOR  {'LAG':>19}     TIME-LAG  OWNER         "
    f"COMMITTED  {'END':>19}  COMMIT-AGE  PROGRESS-AGE"
)
OWN = "app@10.0.0.1"
FIRST = f"  {OWN}         41  {2**62 + 41}         1 s     1 min 1 s"
WAITS = "the oldest unread record waits for at least 1 min 1 s"
FINE: dict[str, Any] = {"group": "g", "verdict": "ok", "severity": "fine", "verdict_since": NOON - 3_600_000}


def lines(group: dict[str, Any] | None = None, *, everything: bool = False, **changes: Any) -> list[str]:
    """Return the explanation of billing, or of a group with these columns; `changes` are those of its details."""
    world = small_snapshot() if group is None else snapshot(groups=[group])
    name = "billing" if group is None else group["group"]
    answer = group_json(world, name, detail(name, **changes))
    assert answer is not None
    return list(plain_block_lines(explain(json.loads(answer), NOW, everything=everything)))


UNFINISHED = "1,047 records not finished, 1,040 at most in a partition."
SHARES = [
    (3, 1_047, 1_040, "2 members; 3 partitions with a start offset.", UNFINISHED),
    (3, 0, 0, "2 members; 3 partitions with a start offset.", "All records are finished where the lag is known."),
    (None, None, None, "2 members; an unknown number of partitions with a start offset.", "Lag not known."),
]


def test_a_share_group_has_a_lag_of_records_and_no_commits() -> None:
    """The explanation has no sentence about commits or their expiration."""
    share = FINE | {"kind": "share", "state": "Stable", "members": 2, "partitions_lag_unknown": 1}
    for partitions, lag_sum, lag_max, *sentences in SHARES:
        numbers = {"partitions": partitions, "lag_sum": lag_sum, "lag_max": lag_max}
        shown = lines(share | numbers, unowned=None, unsubscribed=None)
        start = shown.index("The group") + 2
        block = [line.strip() for line in shown[start : shown.index("", start)]]
        assert block[:2] == sentences
        assert not any(word in line for line in block for word in ("commit", "expire"))


def test_all_lines_of_the_explanation_of_a_stopped_group() -> None:
    """The explanation has the verdict, the next step, the evidence, the group, the partitions and the history."""
    assert lines() == [
        "billing: stopped (critical) for 30 s.",
        "orders-0 has had no commit for 30 s, where 20 s is the longest to expect: <unread>.",
        "",
        "What to do: See whether the consumer still runs and what it waits for; a hung one is restarted.",
        "",
        "The numbers behind it",
        "  last commit  30 s ago",
        "  patience     20 s",
        "  lag          400",
        "  members      unknown",
        "",
        "The group",
        "  A classic group (range), Stable (reported by the coordinator) for 1 min 30 s.",
        "  3 members (1 idle); 2 partitions with offsets.",
        f"  {2**62:,} offsets unread, {2**62:,} at most in a partition, {WAITS}; last commit 0 s ago.",
        "  No offset is about to expire.",
        "  No member owns orders.",
        "  No member subscribes to old.",
        "  Lag of 1 partition not known: no leader.",
        "",
        "Partitions that are not fine: 2 of 2",
        FINDINGS_HEAD,
        f"orders          0  stopped  30 s  {2**62}  ≥ 1 min 1 s{FIRST}",
        f"orders          1  unknown     -  {'-':>19}            -  {OWN}          7  {'-':>19}         0 s{'-':>14}",
        "",
        "  orders-1: unknown. The lag is not known: the partition has no leader.",
        "    What to do: See why.",
        "",
        "Verdicts, the oldest first",
        "TIME (UTC)               WAS  IS       STORY",
        "2023-11-14 21:13:20.000  -    ok       orders-0: Keeps up: 3 offsets unread.",
        f"2023-11-14 22:12:50.000  ok   stopped  {STOPPED.sentence}",
        "",
        "History, the oldest first",
        "TIME (UTC)               WHAT        CAUSE          SEEN      STORY",
        "2023-11-13 22:13:20.000  created     -              replayed  first seen",
        "2023-11-14 22:11:50.000  rebalanced  -              live      3 members came",
        "2023-11-14 22:12:49.500  forgotten   topic-deleted  live      1 offset",
    ]


DEAD: dict[str, Any] = {"group": "g", "state": "Dead", "died_time": NOON - 60_000}
READ: dict[str, Any] = FINE | {"lag_sum": 0, "lag_max": 0, "last_commit_time": NOON - 5_000}
MUTED = "  No alert about it fires: "
SENTENCES: list[tuple[str, dict[str, Any]]] = [
    ("g: ok.", FINE),
    ("g: unknown for 1 h.", {**FINE, "verdict": "unknown", "severity": "unknown"}),
    ("g has no verdict yet.", {"group": "g"}),
    ("g is dead: expired, 1 min ago.", {**DEAD, "death_cause": "expired"}),
    ("g is dead: the cause is not known, 1 min ago.", DEAD),
    ("  No members; 1 partition with offsets.", {**FINE, "members": 0, "partitions": 1}),
    ("  A group of unknown kind, in an unknown state.", FINE),
    ("  Lag not known; last commit at an unknown time.", FINE),
    ("  Nothing is unread; last commit 5 s ago.", {**READ, "time_lag_max": 0.0}),
    ("  Nothing is unread where the lag is known; last commit 5 s ago.", {**READ, "partitions_lag_unknown": 2}),
    ("  1 offset unread, 1 at most in a partition; last commit 5 s ago.", {**READ, "lag_sum": 1, "lag_max": 1}),
    (
        "  The first offset expires in 2 h, the group at the broker's next check.",
        {**FINE, "first_offset_expiry_time": NOON + 7_200_000, "group_expiry_time": NOON - 1},
    ),
    (f"{MUTED}in maintenance until 2023-11-14T22:13:20.000Z.", {**FINE, "maintenance_until": NOON}),
    (f"{MUTED}silenced (retired\\n).", {**FINE, "silence_reason": "retired\n"}),
    (
        f"{MUTED}silenced until 2023-11-14T22:13:20.000Z (moves).",
        {**FINE, "silence_reason": "moves", "silence_until": NOON},
    ),
    (
        f"{MUTED}the fault is older than lagwarden, or the group was silent for long (health.day_one).",
        {**FINE, "not_alerted": True},
    ),
    (
        "  An open transaction hides its latest commits: they are read behind the last stable offset.",
        {**FINE, "held_back": True},
    ),
    ("2 of 3.", {**FINE, "sentence": "2 of 3."}),
]
"""Sentences with the columns of their group."""


def test_sentences_of_a_group() -> None:
    """An unknown value is called unknown or left out, and never printed as None. A dead group has no finding.

    Without a finding the sentence is that of the snapshot.
    """
    for expected, group in SENTENCES:
        has_finding = "verdict" in group and "sentence" not in group
        explanation = lines(group, **({} if has_finding else {"finding": None}))
        assert expected in explanation
        assert not any("None" in line or "null" in line for line in explanation), expected
