"""Recent rebalances, the members that joined at the last one, and instance ids that two clients use in turns."""

import dataclasses
import json

from stream.groups.lifecycle.model import GroupHistory
from stream.groups.membership.model import MemberClient, Membership
from stream.tick.inputs.member_changes import FencedInstances, JoinedMembers, RebalanceCounter
from tests.stream.health.tables import wrong

WINDOW = 600
TICK = 10


def history(count: int) -> GroupHistory:
    """Return a history that counts this many rebalances and keeps none of them."""
    return GroupHistory("classic", "Stable", 0, 0, None, {"rebalanced": count} if count else {}, ())


STORIES = {
    # The count of the history at each tick, and the recent rebalances at the last tick.
    "no rebalance since the first tick": ([40, 40, 40], 0),
    "rebalances at every tick": ([40, 43, 46], 6),
    "more than a history keeps": ([0, 50, 100], 100),
    "all before the window": ([40, 43, *[43] * 70], 0),
    "partly before the window": ([40, *[43] * 55, *[45] * 20], 2),
    "all within the window": ([40, *[43] * 40, *[45] * 10], 5),
    "a new group of the same name": ([40, 45, 2], 0),
    "a new group of the same name that rebalances": ([40, 45, 2, 9], 7),
}


def test_recent_rebalances_are_a_difference_of_counts() -> None:
    """The rebalances within the window before the last tick are counted."""

    def recent(counts: list[int]) -> int:
        rebalances = RebalanceCounter(WINDOW)
        found = [rebalances.update({"g": history(each)}, tick * TICK) for tick, each in enumerate(counts)]
        return found[-1].get("g", 0)

    assert wrong(STORIES, recent) == []


def test_counting_continues_after_a_restart() -> None:
    """Rebalances before the restart and during the restart are counted."""
    first = RebalanceCounter(WINDOW)
    first.update({"g": history(40), "quiet": history(3)}, 0)
    first.update({"g": history(60), "quiet": history(3)}, 10)
    stored = json.loads(json.dumps(first.recorded))
    second = RebalanceCounter(
        WINDOW, {group: [(time, count) for time, count in counts] for group, counts in stored.items()}
    )
    assert dict(second.update({"g": history(75), "quiet": history(3)}, 100)) == {"g": 35, "quiet": 0}
    assert dict(second.update({"g": history(75), "quiet": history(3)}, 100 + 2 * WINDOW)) == {}
    assert second.recorded == {}


def test_a_clock_that_was_set_back_restarts_the_count() -> None:
    """No rebalance is counted twice."""
    rebalances = RebalanceCounter(WINDOW)
    rebalances.update({"g": history(1)}, 1000)
    assert dict(rebalances.update({"g": history(5)}, 500)) == {"g": 0}
    assert dict(rebalances.update({"g": history(6)}, 510)) == {"g": 1}


A, B, C = (MemberClient(name, f"client-{name}", "/10.0.0.7") for name in "abc")


def group(*clients: MemberClient, generation: int = 1) -> Membership:
    return Membership("classic", "Stable", len(clients), generation=generation, clients=clients)


def test_members_that_were_not_there_at_the_last_tick_have_joined() -> None:
    """New members are listed until the next rebalance, by the number of their group in the list of the current tick."""
    joined = JoinedMembers()
    assert joined.update(["g"], {"g": group(A)}) == {}
    second = group(A, B, C, generation=2)
    assert joined.update(["f", "g"], {"g": second}) == {1: (B, C)}
    assert joined.update(["g"], {"g": second}) == {0: (B, C)}
    assert joined.update(["g"], {"g": dataclasses.replace(second, state="CompletingRebalance")}) == {0: (B, C)}
    assert joined.update(["g"], {"g": group(A, generation=3)}) == {}


def test_a_static_member_that_rejoins_has_not_joined() -> None:
    """The member id of a static member that rejoins is new, its instance id is not."""
    joined = JoinedMembers()
    old = dataclasses.replace(A, instance_id="i-1")
    joined.update(["g"], {"g": group(old)})
    assert joined.update(["g"], {"g": group(dataclasses.replace(old, member_id="a-2"), B, generation=2)}) == {0: (B,)}


FENCED = {
    # The host of the instance at each tick, with a new member id wherever a letter repeats or changes; changes found.
    "two clients in turns": ("ABABA", 4),
    "two changes": ("ABA", None),
    "a client that restarts in its place": ("AAAAA", None),
    "a client that moves, and restarts there": ("ABBBB", None),
    "turns that ended six minutes ago": ("ABABA" + "." * 36, None),
}


def test_an_instance_that_returns_to_an_earlier_client_is_used_by_two() -> None:
    """A restart changes the member id, too, but the client stays or does not come back. A dot is an unchanged tick."""

    def changes(hosts: str) -> int | None:
        fenced, members, found = FencedInstances(), {"g": group(A)}, {}
        for tick, host in enumerate(hosts):
            if host != ".":
                client = dataclasses.replace(A, member_id=f"m-{tick}", client_host=f"/{host}", instance_id="i-1")
                members = {"g": group(client, B)}
            found = fenced.update(["f", "g"], members, tick * 10_000)
        return found[1].changes if found else None

    assert wrong({story: tuple(each) for story, each in FENCED.items()}, changes) == []


def test_instances_that_are_gone_are_forgotten() -> None:
    """Clients that take a new instance id at each start leave nothing behind."""
    fenced = FencedInstances()
    for start in range(50):
        client = dataclasses.replace(A, member_id=f"m-{start}", instance_id=f"i-{start}")
        fenced.update(["g"], {"g": group(client)}, start * 600_000)
    (histories,) = fenced._histories.values()
    assert list(histories) == ["i-49"]
