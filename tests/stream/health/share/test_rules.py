"""The rules for share groups: one story per row, from the first poll to the last, a minute apart."""

from __future__ import annotations

import re
from typing import Any

import pytest

from stream.health.inputs import GroupStage
from stream.health.share.memory import first_memory, remember
from stream.health.share.rules import SHARE_RULES, ShareSituation, ShareVerdict
from tests.stream.health.share.polls import BEGIN, MINUTE, progress

PAUSE = 5 * MINUTE
STABLE, UNKNOWN, NO_MEMBERS = GroupStage.STABLE, GroupStage.UNKNOWN, GroupStage.EMPTY
WAITING = progress(lag=40)
REJECTED = [progress(lag=40, start_offset=10 + number, archived=5 * number) for number in range(12)]
RELEASED = [progress(lag=40, returned=40, most_deliveries=4, returns=40 * number) for number in range(12)]
ONE_BAD = [
    *(progress(lag=1, returned=1, most_deliveries=number, returns=number) for number in range(1, 5)),
    *[progress(lag=0, start_offset=11, returns=4, archived=1)] * 6,
]
"""The only record of the last minutes cannot be processed, and is archived after its fifth delivery."""

STORIES: list[Any] = [
    ("records wait for the whole allowed time", STABLE, [WAITING] * 6, ShareVerdict.SHARE_STOPPED),
    ("records wait for a minute less", STABLE, [WAITING] * 5, None),
    ("the state of the group is not known", UNKNOWN, [WAITING] * 6, ShareVerdict.SHARE_STOPPED),
    ("nothing waits", STABLE, [progress()] * 20, None),
    ("the lag is not known", STABLE, [progress(lag=None)] * 20, None),
    (
        "new records arrive, and none is taken",
        STABLE,
        [progress(lag=number) for number in range(1, 7)],
        "share_stopped",
    ),
    (
        "one record in four minutes is finished",
        STABLE,
        [progress(lag=40, start_offset=10 + number // 4, acknowledged=number // 4) for number in range(24)],
        None,
    ),
    (
        "a partition with pauses of four minutes may pause for eight",
        STABLE,
        [progress(lag=40, acknowledged=number) for number in (0, 1, 1, 1, 1, 2, *[2] * 7)],
        None,
    ),
    (
        "a partition with pauses of four minutes pauses for longer than eight",
        STABLE,
        [progress(lag=40, acknowledged=number) for number in (0, 1, 1, 1, 1, 2, *[2] * 8)],
        ShareVerdict.SHARE_STOPPED,
    ),
    ("the members have gone", NO_MEMBERS, [WAITING] * 6, ShareVerdict.SHARE_NO_MEMBERS),
    ("the members are away for a deploy", NO_MEMBERS, [WAITING] * 5, None),
    ("no members, and nothing to do", NO_MEMBERS, [progress()] * 20, None),
    ("all records are rejected", STABLE, REJECTED[:7], ShareVerdict.SHARE_REJECTING),
    ("all records were rejected for a minute less", STABLE, REJECTED[:6], None),
    (
        "records are rejected twice in five minutes",
        STABLE,
        [progress(lag=40, archived=number) for number in (0, 3, 3, 3, 3, 3, 6)],
        None,
    ),
    (
        "some records are rejected, others accepted",
        STABLE,
        [each._replace(acknowledged=each.archived) for each in REJECTED],
        None,
    ),
    ("nothing was archived for a long time", STABLE, [*REJECTED[:7], *[REJECTED[6]._replace(lag=0)] * 7], None),
    ("a single bad record", STABLE, ONE_BAD, None),
    ("every delivery is returned", STABLE, RELEASED[:7], ShareVerdict.SHARE_REDELIVERING),
    ("every delivery was returned for a minute less", STABLE, RELEASED[:6], None),
    (
        "deliveries were returned, and no record waits for another one",
        STABLE,
        [each._replace(returned=0) for each in RELEASED],
        None,
    ),
    (
        "a restart returns what the members held",
        STABLE,
        [progress(lag=40, returned=number, returns=number) for number in (0, 30, 30, 30)],
        None,
    ),
    (
        "deliveries are returned, others accepted",
        STABLE,
        [each._replace(acknowledged=number) for number, each in enumerate(RELEASED)],
        None,
    ),
    (
        "returned until the last delivery, then archived",
        STABLE,
        [each._replace(archived=max(number - 6, 0)) for number, each in enumerate(RELEASED)],
        ShareVerdict.SHARE_REJECTING,
    ),
]


def situation(stage: GroupStage, polls: list[Any], *, members: int = 2) -> ShareSituation:
    """Return the situation at the last of these polls."""
    memory, now = first_memory(polls[0], BEGIN), BEGIN
    for each in polls[1:]:
        now += MINUTE
        memory = remember(memory, each, now)
    return ShareSituation(now, memory, stage, BEGIN if stage is NO_MEMBERS else -1, members, PAUSE)


@pytest.mark.parametrize(("stage", "polls", "verdict"), [s[1:] for s in STORIES], ids=[s[0] for s in STORIES])
def test_the_verdict_of_a_story(stage: GroupStage, polls: list[Any], verdict: str | None) -> None:
    """The first rule that matches decides."""
    found = situation(stage, polls)
    assert next((rule.verdict for rule in SHARE_RULES if rule.matches(found)), None) == verdict


SENTENCES: list[Any] = [
    (
        "share_stopped",
        situation(STABLE, [WAITING] * 6),
        (
            "The group has 2 members, but no record was finished or returned for 5 min, with 40 records not finished"
            " from offset 10 on; no record has come back from a delivery."
        ),
    ),
    (
        "share_stopped",
        situation(STABLE, [progress(lag=1, finished=1999)] * 6),
        (
            "The group has 2 members, but no record was finished or returned for 5 min, with 1 record not finished from"
            " offset 10 on; the start offset cannot move past that record, and 1,999 later records are finished."
        ),
    ),
    (
        "share_stopped",
        situation(UNKNOWN, [progress(lag=9, returned=3, most_deliveries=2)] * 6, members=-1),
        (
            "No record was finished or returned for 5 min, with 9 records not finished from offset 10 on; 3 records"
            " came back from a delivery, at most 2 deliveries each."
        ),
    ),
    (
        "share_stopped",
        situation(UNKNOWN, [progress(lag=9, finished=1)] * 6, members=-1),
        (
            "No record was finished or returned for 5 min, with 9 records not finished from offset 10 on; the start"
            " offset cannot move past that record, and 1 later record is finished."
        ),
    ),
    (
        "share_stopped",
        situation(UNKNOWN, [progress(lag=9, returned=1, most_deliveries=1)] * 6, members=-1),
        (
            "No record was finished or returned for 5 min, with 9 records not finished from offset 10 on; 1 record"
            " came back from a delivery, at most 1 delivery each."
        ),
    ),
    (
        "share_redelivering",
        situation(STABLE, [progress(returned=1, most_deliveries=1)]),
        (
            "No record was accepted for less than a second, but deliveries came back; 1 record waits for another"
            " delivery, after at most 1 delivery each."
        ),
    ),
    (
        "share_no_members",
        situation(NO_MEMBERS, [WAITING] * 6),
        "The group has had no members for 5 min, with 40 records not finished from offset 10 on.",
    ),
    ("share_rejecting", situation(STABLE, REJECTED[:7]), "No record was accepted for 5 min; 30 records were archived."),
    (
        "share_redelivering",
        situation(STABLE, RELEASED[:7]),
        (
            "No record was accepted for 5 min, but deliveries came back; 40 records wait for another delivery,"
            " after at most 4 deliveries each."
        ),
    ),
]


@pytest.mark.parametrize(("verdict", "found", "sentence"), SENTENCES)
def test_a_sentence_has_the_numbers(verdict: str, found: ShareSituation, sentence: str) -> None:
    """The sentence omits values that are not known."""
    (rule,) = (rule for rule in SHARE_RULES if rule.verdict == verdict)
    assert rule.sentence(found) == sentence


def test_every_verdict_has_one_rule_and_texts() -> None:
    """Each verdict has one rule, whose meaning and next step are sentences."""
    assert sorted(rule.verdict for rule in SHARE_RULES) == sorted(ShareVerdict)
    assert all(re.fullmatch(r"[A-Z].*\.", text) for rule in SHARE_RULES for text in (rule.meaning, rule.next_step))
