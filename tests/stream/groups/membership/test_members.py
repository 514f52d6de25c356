"""The members of one group in the detail view."""

import struct
from typing import Any

from tests.stream.groups.written import (
    NAMES,
    ORDERS,
    PAYMENTS,
    Written,
    assignment,
    classic,
    classic_member,
    connect_metadata,
    connect_work,
    group_epoch,
    member,
    memberships,
    resolved,
    share_state,
    sharer,
    shares,
    stands,
    subscription,
    target,
    topology,
    worker,
    works,
)

T = subscription("t")
RANGE = ({"name": "range", "metadata": T},)
STREAMS_USER_DATA = struct.pack(">iiiiii", 1, 0, 2, 2, 5, 0) + struct.pack(">iii", 2, 7, 0)


def has(**fields: Any) -> dict[str, Any]:
    """Return the fields that the result of an example has."""
    return fields


STORIES: dict[str, tuple[list[Written], dict[str, Any]]] = {
    "a classic consumer with its blobs": (
        [
            classic(
                classic_member(
                    "m", instance="i", wants=subscription("u", "t", rack="r"), has=assignment({"u": [2, 0], "t": [1]})
                )
            )
        ],
        has(
            member_id="m",
            instance_id="i",
            client_id="client-m",
            client_host="/10.0.0.1",
            rack="r",
            epoch=None,
            state=None,
            away=False,
            subscription=("t", "u"),
            regex=None,
            assignor="range",
            assignment=(("t", (1,)), ("u", (0, 2))),
            target=None,
            idle=False,
            unreadable=(),
        ),
    ),
    "partitions pending revocation are assigned": (
        [group_epoch(3), member("m", "orders"), stands("m", 2, {ORDERS: [0]}, gives_up={ORDERS: [1]}, state=1)],
        {"state": "unrevoked", "assignment": (("orders", (0, 1)),)},
    ),
    "tasks pending revocation are assigned": (
        [
            group_epoch(3, kind=17),
            topology(1),
            worker("m"),
            works(
                "m",
                2,
                state=2,
                active={"0": [0]},
                active_tasks_pending_revocation={"0": [1]},
                standby_tasks_pending_revocation={"0": [2]},
            ),
        ],
        {"assignment": (("active task 0", (0, 1)), ("standby task 0", (2,)))},
    ),
    "empty blobs: no subscription, no assignment, nothing unreadable": (
        [classic(classic_member("m"))],
        {"subscription": (), "assignment": (), "idle": True, "unreadable": ()},
    ),
    "undecodable blobs are reported as unreadable": (
        [classic(classic_member("m", wants=b"\0", has=assignment({"t": [0]})[:-5]))],
        {"subscription": (), "assignment": (), "idle": None, "unreadable": ("subscription", "assignment")},
    ),
    "a worker of Connect: connectors and tasks, where -1 is the connector itself": (
        [
            classic(
                classic_member("w", wants=connect_metadata(), has=connect_work({"sink": [1, -1], "copy": [0]})),
                kind="connect",
                protocol="sessioned",
            )
        ],
        has(
            subscription=(),
            assignor="sessioned",
            assignment=(("connector copy", (0,)), ("connector sink", (-1, 1))),
            idle=False,
            unreadable=(),
        ),
    ),
    "a worker of Connect with blobs of an unknown version": (
        [
            classic(
                classic_member("w", wants=b"\0\x09" + connect_metadata()[2:], has=b"\0\x09" + connect_work({})[2:]),
                kind="connect",
                protocol="newer",
            )
        ],
        {"assignment": (), "unreadable": ("subscription", "assignment"), "idle": None},
    ),
    "an unknown protocol": (
        [classic(classic_member("m", wants=b"x", has=b"y"), kind="sr", protocol="v0")],
        {"assignment": (), "unreadable": ("subscription", "assignment"), "idle": None},
    ),
    "Kafka Streams on the classic protocol: standby tasks are in the assignment": (
        [
            classic(
                classic_member("m", wants=T, has=assignment({"t": [1]}, user_data=STREAMS_USER_DATA)), protocol="stream"
            )
        ],
        {"assignment": (("standby task 2", (5, 7)), ("t", (1,)))},
    ),
    "a KIP-848 member: topics by name if known, else by id": (
        [
            member("m", "payments", "orders", rack_id="r", server_assignor="uniform"),
            stands("m", 4, {PAYMENTS: [1, 0], bytes(15) + b"x": [3]}, state=2),
            target("m", {ORDERS: [0]}),
        ],
        has(
            rack="r",
            epoch=4,
            state="unreleased",
            assignor="uniform",
            subscription=("orders", "payments"),
            assignment=(("AAAAAAAAAAAAAAAAAAAAeA", (3,)), ("payments", (0, 1))),
            target=(("orders", (0,)),),
            idle=False,
        ),
    ),
    "a KIP-848 member that has just joined": (
        [member("m", regex="ord.*"), resolved("ord.*", "orders"), group_epoch(1)],
        has(epoch=None, state=None, subscription=(), regex="ord.*", assignment=(), target=(), idle=True),
    ),
    "a static member that is away has no epoch, and keeps its partitions": (
        [member("m", "orders", instance="i"), stands("m", -2, {ORDERS: [0]})],
        has(instance_id="i", away=True, epoch=None, assignment=(("orders", (0,)),), idle=False),
    ),
    "a classic member in an upgraded group": (
        [member("m", "orders", classic_member_metadata={"session_timeout_ms": 45, "supported_protocols": RANGE})],
        {"subscription": ("orders",)},
    ),
    "a member of a share group": (
        [sharer("m", "orders"), shares("m", 3, {ORDERS: [0, 1]}), target("m", {ORDERS: [0]}, kind=13)],
        has(
            instance_id=None,
            epoch=3,
            state="stable",
            subscription=("orders",),
            assignment=(("orders", (0, 1)),),
            target=(("orders", (0,)),),
        ),
    ),
    "a worker of a streams group: active tasks by the topics that they read": (
        [
            worker("m", instance="i"),
            topology(1, s0=["orders", "payments"], s1=["app-repartition"]),
            works("m", 2, active={"0": [1, 0], "1": [1]}, standby={"1": [0]}, warmup={"0": [2]}),
        ],
        has(
            instance_id="i",
            epoch=2,
            state="stable",
            subscription=("app-repartition", "orders", "payments"),
            assignment=(
                ("app-repartition", (1,)),
                ("orders", (0, 1)),
                ("payments", (0, 1)),
                ("standby task 1", (0,)),
                ("warm-up task 0", (2,)),
            ),
        ),
    ),
    "a worker without a topology: tasks by subtopology": (
        [worker("m"), works("m", 2, active={"0": [0]})],
        {"subscription": (), "assignment": (("active task 0", (0,)),), "idle": False},
    ),
}


def test_the_fields_of_a_member_follow_from_its_records() -> None:
    """The only member of each example has these fields."""
    for story, (written, expected) in STORIES.items():
        (found,) = memberships(written).members("g", NAMES)
        assert {name: getattr(found, name) for name in expected} == expected, story


def test_topic_names_in_the_groups_records_are_used() -> None:
    """Records of a share group have topic names, so the cluster is not needed."""
    (found,) = memberships([sharer("m", "orders"), shares("m", 3, {ORDERS: [0]}), share_state(NAMES)]).members("g")
    assert found.assignment == (("orders", (0,)),)
