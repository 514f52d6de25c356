"""The rules for share groups: one story per row, from the first poll to the last, a minute apart."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from stream.health.inputs import GroupStage
from stream.health.limits import HealthLimits
from stream.health.rules.rule import first_matches
from stream.health.share.progress import SharePartitionProgress
from stream.health.share.rules import SHARE_RULES
from stream.health.share.window import ShareMemory, ShareWindow, remember
from stream.health.verdict import VERDICTS, Verdict
from tests.stream.health.columns import ints
from tests.stream.health.panes import Row, pane
from tests.stream.health.share.polls import BEGIN, MINUTE, groups, progress
from tests.stream.health.tables import wrong

PAUSE = 5 * MINUTE
STABLE, UNKNOWN, NO_MEMBERS = GroupStage.STABLE, GroupStage.UNKNOWN, GroupStage.EMPTY
REJECTED = [progress(lag=40, start_offset=10 + number, archived=5 * number) for number in range(12)]
RELEASED = [progress(lag=40, returned=40, most_deliveries=4, returns=40 * number) for number in range(12)]
HELD = [progress(lag=40), *[progress(lag=40, returned=40, most_deliveries=1, returns=40)] * 7]
ONE_BAD = [
    *(progress(lag=1, returned=1, most_deliveries=number, returns=number) for number in range(1, 5)),
    *[progress(lag=0, start_offset=11, returns=4, archived=1)] * 6,
]
"""The only record of the last minutes cannot be processed, and is archived after its fifth delivery."""

STOPPED, GONE = Verdict.SHARE_STOPPED, Verdict.SHARE_NO_MEMBERS
REJECTING, REDELIVERING = Verdict.SHARE_REJECTING, Verdict.SHARE_REDELIVERING


def waiting(numbers: Iterable[int] = (0,) * 6, **fields: Any) -> list[Any]:
    """Return polls in which 40 records wait; each number of the list counts for these fields."""
    return [progress(lag=40, **{name: base + number for name, base in fields.items()}) for number in numbers]


PAUSES = (0, 1, 1, 1, 1, 2, *[2] * 7)
STORIES: list[Any] = [
    ("records wait for the whole allowed time", STABLE, waiting(), STOPPED),
    ("records wait for a minute less", STABLE, waiting()[:5], None),
    ("the state of the group is not known", UNKNOWN, waiting(), STOPPED),
    ("nothing waits", STABLE, [progress()] * 20, None),
    ("the lag is not known", STABLE, [progress(lag=None)] * 20, None),
    ("new records arrive, and none is taken", STABLE, [progress(lag=number) for number in range(1, 7)], STOPPED),
    (
        "one record in four minutes is finished",
        STABLE,
        waiting([number // 4 for number in range(24)], start_offset=10, acknowledged=0),
        None,
    ),
    ("a partition with pauses of four minutes may pause for eight", STABLE, waiting(PAUSES, acknowledged=0), None),
    ("it pauses for longer than eight", STABLE, waiting([*PAUSES, 2], acknowledged=0), STOPPED),
    ("records came back once, and none is taken again", STABLE, HELD[:5], STOPPED),
    ("records came back two minutes ago", STABLE, HELD[:4], None),
    ("the members have gone", NO_MEMBERS, waiting(), GONE),
    ("members took records, and left soon after", NO_MEMBERS, HELD, GONE),
    ("the members are away for a deploy", NO_MEMBERS, waiting()[:5], None),
    ("no members, and nothing to do", NO_MEMBERS, [progress()] * 20, None),
    ("all records are rejected", STABLE, REJECTED[:7], REJECTING),
    ("records are archived at three polls, and none is accepted", STABLE, REJECTED[:4], REJECTING),
    ("records are archived at two polls", STABLE, REJECTED[:3], None),
    ("a single bad record that was returned before", STABLE, ONE_BAD[:6], None),
    ("records are rejected twice in five minutes", STABLE, waiting((0, 3, 3, 3, 3, 3, 6), archived=0), None),
    ("some are rejected, others accepted", STABLE, [r._replace(acknowledged=r.archived) for r in REJECTED], None),
    ("nothing was archived for a long time", STABLE, [*REJECTED[:7], *[REJECTED[6]._replace(lag=0)] * 7], None),
    ("a single bad record", STABLE, ONE_BAD, None),
    ("every delivery is returned", STABLE, RELEASED[:7], REDELIVERING),
    ("every delivery was returned for a minute less", STABLE, RELEASED[:6], None),
    ("none waits for another delivery", STABLE, [each._replace(returned=0) for each in RELEASED], None),
    ("a restart returns what the members held", STABLE, waiting((0, 30, 30, 30), returned=0, returns=0), None),
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
        REDELIVERING,
    ),
    (
        "each record is released until it is archived, for three minutes",
        STABLE,
        [each._replace(archived=number) for number, each in enumerate(RELEASED[:4])],
        REDELIVERING,
    ),
]


def window(
    stage: GroupStage, polls: Sequence[SharePartitionProgress], *, members: int = 2, every: int = MINUTE
) -> ShareWindow:
    """Return the window of one partition at the last of these polls, which are `every` ms apart."""
    memory = ShareMemory.empty(1)
    for number, each in enumerate(polls):
        memory = remember(memory, [each], BEGIN + number * every)
    found = dataclasses.replace(groups(stage), members=ints(members))
    rows = dataclasses.replace(pane(Row()).inputs, now=BEGIN + (len(polls) - 1) * every, groups=found)
    return ShareWindow(rows, HealthLimits(share_pause=PAUSE), memory)


def first(found: ShareWindow) -> Verdict | None:
    code = int(first_matches(SHARE_RULES, found, 1)[0][0])
    return VERDICTS[code] if code >= 0 else None


def test_the_verdict_of_a_story() -> None:
    """The first rule that matches decides."""
    assert wrong({story: tuple(rest) for story, *rest in STORIES}, lambda *story: first(window(*story))) == []
    often = [first(window(STABLE, REJECTED[:polls], every=20_000)) for polls in (4, 5)]
    assert often == [None, REJECTING], "one batch of bad records is archived within a minute"
    hung = window(NO_MEMBERS, HELD)
    left = dataclasses.replace(hung.inputs.groups, since=ints(BEGIN + PAUSE))
    hung = dataclasses.replace(hung, inputs=dataclasses.replace(hung.inputs, groups=left))
    assert first(hung) is REDELIVERING
    (rule,) = (rule for rule in SHARE_RULES if rule.verdict is REDELIVERING)
    assert rule.sentence(hung, 0).startswith(
        "Members took records and finished none: 40 records came back, and 4 min later"
    )


NOT_FINISHED = "No record was finished or returned for 5 min, with 9 records not finished from offset 10 on; "
SENTENCES: dict[str, tuple[Verdict, ShareWindow]] = {
    (
        "The group has 2 members, but no record was finished or returned for 5 min, with 40 records not finished "
        "from offset 10 on; no record has come back from a delivery."
    ): (STOPPED, window(STABLE, waiting())),
    (
        "The group has 2 members, but no record was finished or returned for 5 min, with 1 record not finished from "
        "offset 10 on; the start offset cannot move past that record, and 1,999 later records are finished."
    ): (STOPPED, window(STABLE, [progress(lag=1, finished=1999)] * 6)),
    f"{NOT_FINISHED}3 records came back from a delivery, at most 2 deliveries each.": (
        STOPPED,
        window(UNKNOWN, [progress(lag=9, returned=3, most_deliveries=2)] * 6, members=-1),
    ),
    f"{NOT_FINISHED}the start offset cannot move past that record, and 1 later record is finished.": (
        STOPPED,
        window(UNKNOWN, [progress(lag=9, finished=1)] * 6, members=-1),
    ),
    f"{NOT_FINISHED}1 record came back from a delivery, at most 1 delivery each.": (
        STOPPED,
        window(UNKNOWN, [progress(lag=9, returned=1, most_deliveries=1)] * 6, members=-1),
    ),
    (
        "No record was accepted for 0 s, but deliveries came back; 1 record waits for another "
        "delivery, after at most 1 delivery each."
    ): (REDELIVERING, window(STABLE, [progress(returned=1, most_deliveries=1)])),
    "The group has had no members for 5 min, with 40 records not finished from offset 10 on.": (
        GONE,
        window(NO_MEMBERS, waiting()),
    ),
    "No record was accepted for 5 min; 30 records were archived.": (REJECTING, window(STABLE, REJECTED[:7])),
    (
        "No record was accepted for 5 min, but deliveries came back; 40 records wait for another delivery, after at "
        "most 4 deliveries each."
    ): (REDELIVERING, window(STABLE, RELEASED[:7])),
}


def test_a_sentence_has_the_numbers() -> None:
    """The sentence omits values that are not known."""
    rules = {rule.verdict: rule for rule in SHARE_RULES}
    found = {rules[verdict].sentence(of_story, 0) for verdict, of_story in SENTENCES.values()}
    assert found == set(SENTENCES)
