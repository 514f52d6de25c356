"""Groups with two users: the verdicts about them, and groups that only look like them."""

import dataclasses

from stream.health.evaluator import Evaluator
from stream.health.inputs import NO_OWNER
from stream.health.limits import HealthLimits
from stream.health.verdict import Verdict
from tests.stream.health.simulator import (
    MINUTE,
    SECOND,
    SLOT,
    TICK,
    Partition,
    Scene,
    consume,
    new_evaluator,
    verdicts,
    watch,
    watch_together,
)
from tests.stream.health.situations import LATE, LONG, SICK, STEADY, steady

V = Verdict


def scene_of(story: str) -> Scene:
    return next(each for each in SICK if each.story == story).scene()


def restores_its_checkpoint() -> Scene:
    """Return a job with its own offsets that is restarted twice, and each time continues from its last checkpoint."""
    commits = consume(STEADY, LONG, 0)
    for back, following in ((0, 2 * MINUTE), (2 * MINUTE, LATE)):
        commits += consume(STEADY, back + 5 * SECOND, following, rate=2_000, position=STEADY(back) - 9_000)
    return Scene([Partition(STEADY, commits)])


def reads_the_same_again() -> Scene:
    """Return a consumer that reads the same thousand records again and again: a loop that ends with an exception."""
    start = STEADY(0) - 1_000
    commits = [*consume(STEADY, LONG, 0)]
    for at in range(5 * SECOND, 10 * MINUTE, 20 * SECOND):
        commits += [(at, start), (at + 10 * SECOND, start + 1_000)]
    return Scene([Partition(STEADY, commits)])


def seeks_back(by: int, every: int, rate: int) -> Scene:
    """Return one client that commits every second, seeks back by `by` offsets every `every` ms and reads on at `rate`.

    Each step back begins and ends at greater offsets than the one before, as those of two clients do.
    """
    commits = [*consume(STEADY, LONG, 0, every=SECOND)]
    for at in range(5 * SECOND, 10 * MINUTE, every):
        back = commits[-1][1] - by
        commits.append((at, back))
        commits += consume(STEADY, at + SECOND, at + every - SECOND, every=SECOND, rate=rate, position=back)
    return Scene([Partition(STEADY, commits)])


SEEKS_BACK_FAR = seeks_back(6_000, 30 * SECOND, 350)
"""The steps back are long: the client needs most of the time between them to read the records again."""


def ends(scene: Scene, at: int, rate: int) -> Scene:
    """Return a scene whose client does not go back from a time on."""
    commits = [each for each in scene.partitions[0].commits if each[0] < at]
    commits += consume(STEADY, at, LATE, every=SECOND, rate=rate, position=commits[-1][1])
    return Scene([Partition(STEADY, commits)])


def test_one_client_that_goes_back_is_not_two() -> None:
    """The client makes fewer than three turns, or its turns do not advance or overlap, or it reads the gap again."""
    scenes = {
        "seeks back far and reads the records again": SEEKS_BACK_FAR,
        "seeks back by less than it advances": seeks_back(300, 10 * SECOND, 10_000),
        "two restarts from a checkpoint": restores_its_checkpoint(),
        "the same records again and again": reads_the_same_again(),
    }
    ticks = watch_together(list(scenes.values()), -3 * MINUTE, 8 * MINUTE)
    assert [
        story for story, each in zip(scenes, ticks, strict=True) if V.TWO_COMMITTERS in verdicts(each, -3 * MINUTE)
    ] == []


def test_a_client_that_seeks_back_again_and_again_is_rewound_until_it_no_longer_does() -> None:
    """The client is rewound from the third step back on, also while it has read all of the records again.

    The client has no fault after three of its intervals without another step back.
    """
    ticks = watch(ends(SEEKS_BACK_FAR, 5 * MINUTE, 350), -3 * MINUTE, 8 * MINUTE)
    assert verdicts(ticks, 2 * MINUTE + 1, 5 * MINUTE) == {V.REWOUND}
    (last,) = (each for each in ticks if each.time == 5 * MINUTE)
    found = last.result.row_finding(0)
    assert found.sentence.startswith("The group goes back again and again: 10 times in 4 min 5")
    assert "(6,000 offsets) at " in found.sentence
    assert found.evidence["steps_back"] == 10
    assert not any(each.sick for each in ticks if each.time > 7 * MINUTE + 3 * TICK)


def test_both_applications_are_named_with_their_clients_also_after_a_restart() -> None:
    """The larger application is named first. A restart does not start the time limit of a rolling deploy again."""
    first, scene = new_evaluator(), scene_of("two applications in one group")
    watch(scene, -MINUTE, 8 * MINUTE, evaluator=first)
    found = watch(scene, 9 * MINUTE, 11 * MINUTE, evaluator=new_evaluator(first.pack()))[-1].result.group_finding(0)
    assert found.verdict is V.TWO_APPLICATIONS
    assert found.sentence == (
        "orders-0: For 11 min, the members have subscribed to different topics: 2 members (client shop-1 on 10.0.0.7,"
        " client shop-2 on 10.0.0.7) to orders; 1 member (client audit-1 on 10.0.0.7) to orders, returns."
    )
    assert "group.id of its own" in found.next_step


def test_a_partition_without_owner_names_the_different_subscriptions() -> None:
    """The subscriptions are the cause, but the verdict is that of the unread partition, which is worse."""
    whole = scene_of("two applications in one group")
    left = steady(0, owner=NO_OWNER, subscribed=1)
    scene = dataclasses.replace(whole, partitions=[*whole.partitions, left])
    found = watch(scene, -MINUTE, 11 * MINUTE)[-1].result.group_finding(0)
    assert (found.verdict, found.evidence["also"]) == (V.UNASSIGNED, "two_applications")
    assert "The members subscribe to different topics: 2 members (client shop-1" in found.sentence


def test_hidden_members_of_two_applications_are_counted_only() -> None:
    """The sentence with `http.hide_members` has the numbers and topics of members, and no client or host."""
    limits = HealthLimits(tick=TICK, slot=SLOT, hide_members=True)
    scene = scene_of("two applications in one group")
    found = watch(scene, -MINUTE, 11 * MINUTE, evaluator=Evaluator(limits))[-1].result.group_finding(0)
    assert found.verdict is V.TWO_APPLICATIONS
    assert "2 members to " in found.sentence
    assert "client shop" not in found.sentence
