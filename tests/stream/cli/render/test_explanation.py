"""The explanation of a group, from the answer of the API to printed lines."""

import json
from typing import Any

from exporters.http.api import group_json
from exporters.readmodel import FindingDetail, VerdictChange
from stream.cli.render.blocks import plain_block_lines
from stream.cli.render.explanation import CHANGES, FINDINGS, explain
from tests.exporters.snapshots import NOON, STOPPED, detail, member, share_partition, small_snapshot, snapshot

NOW = NOON / 1000
FINDINGS_HEAD = (
    f"TOPIC   PARTITION  VERDICT  FOR  {'LAG':>19}  TIME-LAG  OWNER         "
    f"COMMITTED  {'END':>19}  COMMIT-AGE  PROGRESS-AGE"
)
OWN = "app@10.0.0.1"
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
        "1 of 2 partitions; orders-0: No commit for 30 s, where 20 s is the longest to expect: <unread>.",
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
        f"  {2**62:,} offsets unread, {2**62:,} at most in a partition, {WAITS}; last commit 0.0 s ago.",
        "  No offset is about to expire.",
        "  No member owns orders.",
        "  No member subscribes to old.",
        "  Lag of 1 partition not known: no leader.",
        "",
        "Partitions that are not fine: 2 of 2",
        FINDINGS_HEAD,
        f"orders          0  stopped  30s  {2**62}     ≥1m1s  {OWN}         41  {2**62 + 41}          1s          1m1s",
        f"orders          1  unknown    -  {'-':>19}         -  {OWN}          7  {'-':>19}          0s             -",
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
    ("  Nothing is unread; last commit 5.0 s ago.", {**READ, "time_lag_max": 0.0}),
    ("  Nothing is unread where the lag is known; last commit 5.0 s ago.", {**READ, "partitions_lag_unknown": 2}),
    ("  1 offset unread, 1 at most in a partition; last commit 5.0 s ago.", {**READ, "lag_sum": 1, "lag_max": 1}),
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
        {**FINE, "unpaged": True},
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


def test_lists_are_limited_unless_all_is_given() -> None:
    """The limited lists have the worst partitions and the latest changes, with their number and the option for all."""
    many = tuple(("t", at, STOPPED) for at in range(FINDINGS + 4))
    changes = tuple(VerdictChange(NOW - at, "ok", "stopped", f"n{at}.") for at in range(CHANGES + 2, 0, -1))
    group = {**FINE, "verdict": "stopped", "partitions": 40}
    short = lines(group, partition_findings=many, verdicts=changes)
    assert "Partitions that are not fine: 14 of 40, the worst 10; --all prints all" in short
    assert sum(line.startswith("t  ") for line in short) == FINDINGS
    assert not any(line.startswith("  t-") for line in short)
    assert "Verdicts, the latest 10 of 12, the oldest first" in short
    assert not any("n12." in line for line in short)
    whole = lines(group, partition_findings=many, verdicts=changes, everything=True)
    assert any(line.startswith("  t-13: ") for line in whole)
    assert any("n12." in line for line in whole)


def test_owner_of_a_partition_is_a_client() -> None:
    """The owner is the client id and host, the member id without a client id, a dash without a member."""
    members = (
        member("m-1", client_id="billing-7", client_host="pod-7/10.0.0.7", assignment=(("t", (0, 2)),)),
        member("m-2", client_id="", client_host=None, assignment=(("t", (1,)),)),
    )
    found = tuple(("t", at, STOPPED) for at in range(4))
    explanation = lines({**FINE, "partitions": 4}, partition_findings=found, members=members)
    rows = [line.split() for line in explanation if line.startswith("t ")]
    assert [row[6] for row in rows] == ["billing-7@pod-7/10.0.0.7", "m-2", "billing-7@pod-7/10.0.0.7", "-"]


def test_the_partitions_of_a_share_group_have_their_progress() -> None:
    """The row of a partition that is not fine has its lag, its offsets and its deliveries.

    The answer of an earlier version has no progress rows, so the lag is taken from the evidence.
    """
    found = FindingDetail("share_stopped", "critical", NOW, "Waits.", {"lag": 40, "start_offset": 7}, "See.")
    progress = (share_partition(2), share_partition(3, lag=390))
    for partitions, numbers in ((progress, "390 1600 2000 10 2 3"), (None, "40 7 - - - -")):
        shown = lines(
            FINE | {"kind": "share", "state": "Stable"},
            partition_findings=(("orders", 3, found),),
            share_partitions=partitions,
            share_progress_time=None if partitions is None else NOW,
            unowned=None,
            unsubscribed=None,
        )
        at = shown.index("Partitions that are not fine: 1") + 1
        assert shown[at].split()[4:] == ["LAG", "START-OFFSET", "END", "FINISHED", "RETURNED", "MOST-DELIVERIES"]
        assert shown[at + 1].split()[:3] == ["orders", "3", "share_stopped"]
        assert shown[at + 1].split()[-6:] == numbers.split()
