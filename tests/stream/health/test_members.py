"""What a finding says about members: the owner of the partitions, whether it is alive, and since which rebalance."""

import dataclasses
import re

from stream.groups.membership.model import MemberClient
from stream.health.evaluator import Evaluator
from stream.health.findings import Finding
from stream.health.inputs import FencedInstance
from stream.health.limits import HealthLimits
from stream.health.rules.rule import fenced_text
from stream.health.verdict import Verdict
from tests.stream.health.simulator import HOUR, MINUTE, SECOND, SLOT, TICK, Membership, Partition, Scene, consume, watch
from tests.stream.health.situations import LATE, LONG, STEADY, steady
from tests.stream.health.tables import wrong

V = Verdict
A = MemberClient("orders-1-7f3a", "orders-1", "/10.0.0.7", session_timeout=45 * SECOND)
B = MemberClient("orders-2-09c1", "orders-2", "/10.0.0.8", session_timeout=45 * SECOND)


def hangs(
    *owners: int, fine: tuple[int, ...] = (), clients: tuple[MemberClient, ...] = (A, B), **more: object
) -> Scene:
    """Return a group in which the partitions of these owners have no progress from noon on, and those of `fine` do."""
    parts = [*(steady(0, owner=owner) for owner in owners), *(steady(owner=owner) for owner in fine)]
    scene = {"memberships": [Membership(LONG, members=2)], "clients": clients, **more}
    return Scene(parts, **scene)  # type: ignore[arg-type] # the fields of Scene


def hot(growth: int, owner: int = -1) -> Scene:
    """Return a group with three partitions that are read and one whose lag grows by this many records per second."""

    def end(t: int) -> int:
        return STEADY(t) + max(t, 0) * growth // SECOND

    busy = Partition(end, consume(end, LONG, LATE, rate=130), owner=owner)
    return Scene([*(steady(owner=min(owner, 0)) for _ in range(3)), busy], clients=(A, B))


def finding(scene: Scene, at: int = 2 * MINUTE, *, hide_members: bool = False) -> Finding:
    evaluator = Evaluator(HealthLimits(tick=TICK, slot=SLOT, hide_members=hide_members))
    return watch(scene, -2 * MINUTE, at, evaluator=evaluator)[-1].result.group_finding(0)


def test_the_member_that_owns_all_stuck_partitions_is_named() -> None:
    """The sentence and the next step have the client and host of the member; the evidence has its member id."""
    found = finding(hangs(0, 0, 0, fine=(1, 1)))
    assert found.verdict is V.STOPPED
    assert "Owner of all of them: client orders-1 on 10.0.0.7, which owns no other partition." in found.sentence
    assert "client orders-1 on 10.0.0.7" in found.next_step
    evidence = {name: found.evidence[name] for name in ("owner_client", "owner_host", "owner_member")}
    assert evidence == {"owner_client": "orders-1", "owner_host": "10.0.0.7", "owner_member": "orders-1-7f3a"}


def test_two_clients_of_one_instance_id_are_named() -> None:
    """The sentence has the instance id, unless members are hidden, and how often its member id has changed."""
    result = watch(hangs(0, 0), -2 * MINUTE, 2 * MINUTE)[-1].result
    window = dataclasses.replace(
        result.window,
        inputs=dataclasses.replace(result.window.inputs, fenced={0: FencedInstance("shop-a", 9, 1_700_006_400_000)}),
    )
    assert "Two clients with instance id shop-a fence each other: its member id has changed 9 times since" in (
        fenced_text(window, 0)
    )
    hidden = dataclasses.replace(window, limits=HealthLimits(hide_members=True))
    assert "shop-a" not in fenced_text(hidden, 0)
    assert fenced_text(result.window, 0) == ""


def test_hidden_members_are_not_named() -> None:
    """Sentence, next step and evidence have no id, client or host with `http.hide_members`."""
    found = finding(hangs(0, 0, 0, fine=(1, 1)), hide_members=True)
    assert found.verdict is V.STOPPED
    assert "Owner of all of them: one member, which owns no other partition." in found.sentence
    assert "Check whether one member still runs" in found.next_step or "Find out what one member" in found.next_step
    assert not re.search(r"orders-[12]|10\.0\.0", f"{found.sentence}{found.next_step}{found.evidence}")


def test_a_poison_record_names_the_member_and_how_many_partitions_it_reads() -> None:
    """The sentence has the owner of the partition, and the number of other partitions that are not affected."""
    found = finding(hangs(0, fine=(0, 0, 1)))
    assert found.verdict is V.POISON_RECORD
    assert "Owner of it: client orders-1 on 10.0.0.7; 2 other partitions of that member are not affected." in (
        found.sentence
    )


def test_the_owner_of_a_partition_that_carries_the_lag_is_named() -> None:
    """The finding of a skewed partition names the client and host of its owner, but not with `http.hide_members`."""
    scene = hot(1_000, owner=1)
    found = finding(scene)
    assert found.verdict is V.SKEWED
    assert " Its owner: client orders-2 on 10.0.0.8. Partitions with" in found.sentence
    assert found.evidence["owner_member"] == "orders-2-09c1"
    assert "orders-2" not in finding(scene, hide_members=True).sentence


def test_a_member_whose_transactions_are_aborted_works() -> None:
    """The finding names the member, and reports that it does not work only after its aborted commits have ended."""
    whole = hangs(0, 0)
    aborts = range(5 * SECOND, 3 * MINUTE, 5 * SECOND)
    aborting = [dataclasses.replace(part, aborts=aborts) for part in whole.partitions]
    found = finding(dataclasses.replace(whole, partitions=aborting), 2 * MINUTE)
    assert found.verdict is V.ABORTING
    assert "Each of its 24 transactions in 1 min 55 s was aborted" in found.sentence
    assert "Owner of all of them: client orders-1 on 10.0.0.7" in found.sentence
    assert "heartbeats" not in found.sentence
    assert found.evidence["producer_id"] == 4_000
    later = finding(dataclasses.replace(whole, partitions=aborting), 5 * MINUTE)
    assert later.verdict is V.STOPPED
    assert "still sends heartbeats: it is alive, and does not work" in later.sentence


def test_a_member_that_hangs_and_sends_heartbeats_is_alive() -> None:
    """The member is alive after its session timeout, if the coordinator has not removed it."""
    unknown = (dataclasses.replace(A, session_timeout=None), B)
    new_session = [Membership(LONG), Membership(90 * SECOND)]
    stories = {
        "last heartbeat possibly before the last commit": (hangs(0, 0), 50 * SECOND, False),
        "session timeout passed since the last commit": (hangs(0, 0), MINUTE, True),
        "unknown timeout": (hangs(0, 0, clients=unknown), 2 * MINUTE, False),
        "new session since the last rebalance": (hangs(0, 0, memberships=new_session), 130 * SECOND, False),
        "commits on other partitions": (hangs(0, 0, fine=(0,)), 2 * MINUTE, False),
    }
    alive = "still sends heartbeats: it is alive, and does not work"
    assert wrong(stories, lambda scene, at: alive in finding(scene, at).sentence) == []


def rebalanced(since: int, joined: int = 1, clients: tuple[MemberClient, ...] = ()) -> Scene:
    """Return a group that hangs from noon on, with a rebalance at another time."""
    last = Membership(since, members=2, generation=812, joined=joined, left=2, joined_clients=clients)
    return hangs(0, 0, memberships=[Membership(LONG), last])


def test_the_rebalance_at_which_progress_ended_is_named() -> None:
    """The sentence has the time of the rebalance and the numbers of members that joined and left.

    The sentence does not name a rebalance at another time than the end of the progress.
    """
    texts = {
        -40 * SECOND: "The last progress was 40 s after generation 812 (",
        0: "No progress since generation 812 (",
        10 * SECOND: "No progress since generation 812 (",
        -7 * MINUTE: None,  # long before the last progress
        90 * SECOND: None,  # long after the last progress
    }
    for since, text in texts.items():
        sentence = finding(rebalanced(since), 4 * MINUTE).sentence
        assert (text in sentence) if text else "generation" not in sentence
        assert ("1 member joined, 2 members left)" in sentence) is (text is not None)


def test_the_member_that_joined_last_is_named_in_a_storm() -> None:
    """The member that joined last is the first one to examine; a sentence without its name ends with the fault."""
    for clients, ends in (((B,), " Joined last: client orders-2 on 10.0.0.8."), ((), "the oldest for 1 min 59 s.")):
        last = Membership(0, members=2, joined=1, joined_clients=clients)
        storm = hangs(0, 0, memberships=[Membership(LONG), last], rebalances=[*range(0, HOUR, 15 * SECOND)])
        found = finding(storm)
        assert found.verdict is V.REBALANCE_STORM
        assert f"{ends} Partitions with" in found.sentence


def test_aborted_transactions_of_another_member_do_not_count() -> None:
    """A member that hangs is alive also while the transactions of another member are aborted."""
    whole = hangs(0, 1)
    aborting = dataclasses.replace(whole.partitions[1], aborts=range(5 * SECOND, 3 * MINUTE, 5 * SECOND))
    scene = dataclasses.replace(whole, partitions=[whole.partitions[0], aborting])
    assert "still sends heartbeats" in watch(scene, -6 * MINUTE, 2 * MINUTE)[-1].result.row_finding(0).sentence
