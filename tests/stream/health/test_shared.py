"""Groups with two users: the verdicts about them, and groups that only look like them."""

from __future__ import annotations

import dataclasses

import pytest

from stream.health.evaluator import Evaluator
from stream.health.inputs import NO_OWNER
from stream.health.limits import HealthLimits
from stream.health.verdict import Verdict
from tests.stream.health.simulator import MINUTE, SECOND, SLOT, TICK, Partition, Scene, consume, watch
from tests.stream.health.situations import LATE, LONG, SICK, STEADY

V = Verdict


def scene_of(story: str) -> Scene:
    """Return the scene of a situation."""
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


def seeks_back_far() -> Scene:
    """Return a client whose steps back are long: it needs most of the time between them to read the records again."""
    return seeks_back(6_000, 30 * SECOND, 350)


def seeks_back_less_than_it_advances() -> Scene:
    """Return a client that reads the records again at once, each time from behind the place of the last seek."""
    return seeks_back(300, 10 * SECOND, 10_000)


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(seeks_back_far, id="seeks back far and reads the records again"),
        pytest.param(seeks_back_less_than_it_advances, id="seeks back by less than it advances"),
        pytest.param(restores_its_checkpoint, id="two restarts from a checkpoint"),
        pytest.param(reads_the_same_again, id="the same records again and again"),
    ],
)
def test_one_client_that_goes_back_is_not_two(scene: object) -> None:
    """The client makes fewer than three turns, or its turns do not advance or overlap, or it reads the gap again."""
    ticks = watch(scene(), -6 * MINUTE, 8 * MINUTE)  # type: ignore[operator] # a function of the table
    assert V.TWO_COMMITTERS not in {each.verdict for each in ticks}


def test_a_client_that_seeks_back_again_and_again_is_rewound() -> None:
    """The client is rewound from the third step back on, also while it has read all of the records again."""
    ticks = watch(seeks_back_far(), -6 * MINUTE, 8 * MINUTE)
    assert {each.verdict for each in ticks if each.time > 2 * MINUTE} == {V.REWOUND}
    found = ticks[-1].result.row_finding(0)
    assert found.sentence.startswith("The group goes back again and again: 16 times in 7 min 55 s, last from ")
    assert "(6,000 offsets) at " in found.sentence
    assert found.evidence["steps_back"] == 16


def test_a_client_that_no_longer_seeks_back_is_well_again() -> None:
    """The client has no fault after three of its intervals without another step back."""
    whole = seeks_back_far().partitions[0]
    commits = [each for each in whole.commits if each[0] < 5 * MINUTE]
    commits += consume(STEADY, 5 * MINUTE, LATE, every=SECOND, rate=350, position=commits[-1][1])
    ticks = watch(Scene([Partition(STEADY, commits)]), -6 * MINUTE, 9 * MINUTE)
    assert {each.verdict for each in ticks if 2 * MINUTE < each.time < 5 * MINUTE} == {V.REWOUND}
    assert not any(each.sick for each in ticks if each.time > 7 * MINUTE + 3 * TICK)


def test_both_positions_are_in_the_evidence() -> None:
    """The evidence and the sentence have both positions.

    They are 700,000 offsets apart, less what the second client has caught up.
    """
    found = watch(scene_of("two clients that commit one partition"), -6 * MINUTE, 5 * MINUTE)[-1].result.row_finding(0)
    assert found.verdict is V.TWO_COMMITTERS
    high, low = found.evidence["turn_from"], found.evidence["turn_to"]
    assert high == STEADY(5 * MINUTE - 5 * SECOND)
    assert low == pytest.approx(high - 670_000, abs=3_000)  # type: ignore[operator] # known
    assert found.sentence.startswith("The offset has alternated between two positions for 4 min")
    assert found.sentence.endswith(
        f": one client commits about {high:,}, another one about {low:,} ({high - low:,} offsets apart), and both"  # type: ignore[operator] # known
        " advance."
    )


def test_both_applications_are_named_with_their_clients() -> None:
    """The larger application is named first."""
    found = watch(scene_of("two applications in one group"), -6 * MINUTE, 11 * MINUTE)[-1].result.group_finding(0)
    assert found.sentence == (
        "orders-0: For 11 min, the members have subscribed to different topics: 2 members (client shop-1 on 10.0.0.7,"
        " client shop-2 on 10.0.0.7) to orders; 1 member (client audit-1 on 10.0.0.7) to orders, returns."
    )
    assert "group.id of its own" in found.next_step


def test_a_partition_without_owner_names_the_different_subscriptions() -> None:
    """The subscriptions are the cause, but the verdict is that of the unread partition, which is worse."""
    whole = scene_of("two applications in one group")
    left = Partition(STEADY, consume(STEADY, LONG, 0), owner=NO_OWNER, subscribed=1)
    scene = dataclasses.replace(whole, partitions=[*whole.partitions, left])
    found = watch(scene, -6 * MINUTE, 11 * MINUTE)[-1].result.group_finding(0)
    assert (found.verdict, found.evidence["also"]) == (V.UNASSIGNED, "two_applications")
    assert "The members subscribe to different topics: 2 members (client shop-1" in found.sentence


def test_a_restart_of_the_monitor_keeps_the_time_since_which_subscriptions_differ() -> None:
    """A restart does not start the time limit of a rolling deploy again."""
    first = Evaluator(HealthLimits(tick=TICK, slot=SLOT))
    scene = scene_of("two applications in one group")
    watch(scene, -6 * MINUTE, 8 * MINUTE, evaluator=first)
    second = Evaluator(HealthLimits(tick=TICK, slot=SLOT), packed=first.pack())
    late = watch(scene, 9 * MINUTE, 11 * MINUTE, evaluator=second)
    assert late[-1].verdict is V.TWO_APPLICATIONS


def test_hidden_members_of_two_applications_are_counted_only() -> None:
    """The sentence with `http.hide_members` has the numbers and topics of members, and no client or host."""
    limits = HealthLimits(tick=TICK, slot=SLOT, hide_members=True)
    scene = scene_of("two applications in one group")
    found = watch(scene, -6 * MINUTE, 11 * MINUTE, evaluator=Evaluator(limits))[-1].result.group_finding(0)
    assert found.verdict is V.TWO_APPLICATIONS
    assert "2 members to " in found.sentence
    assert "client shop" not in found.sentence
