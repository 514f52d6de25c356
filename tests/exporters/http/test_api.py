"""The JSON responses: complete, exact, and null if unknown."""

from __future__ import annotations

import dataclasses
import gc
import json
import weakref
from typing import TYPE_CHECKING

import pytest

from exporters.http.api import encode, group_json, groups_json, readiness_json
from exporters.readmodel import GROUPS, QuotaDetail
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.snapshots import (
    CATCHING_UP,
    HOSTILE_NAMES,
    NOON,
    STOPPED,
    detail,
    share_partition,
    small_snapshot,
    snapshot,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=["UTC", "Asia/Kathmandu"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run in a time zone: no time in a response may depend on it."""
    import time  # noqa: PLC0415  # only this fixture changes the time zone

    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_groups_have_every_column_of_the_read_model() -> None:
    """All groups are sorted and have all columns; numbers are exact, times are in UTC, unknown values are null."""
    answer = json.loads(groups_json(PublishedSnapshot.build(small_snapshot())))
    assert answer["snapshot_time"] == "2023-11-14T22:13:20.000Z"
    assert [group["group"] for group in answer["groups"]] == ["billing", "gone", "plain", 'say "hi"\\\nthere']
    assert all(list(group) == GROUPS.names for group in answer["groups"])
    assert answer["groups"][0]["lag_sum"] == 2**62
    assert answer["groups"][0]["last_commit_time"] == "2023-11-14T22:13:20.000Z"
    assert answer["groups"][2]["lag_sum"] is None
    assert answer["groups"][2]["last_commit_time"] is None


def test_groups_have_the_name_of_their_cluster() -> None:
    """Groups have the name of their cluster only if it is configured."""
    named, unnamed = (
        json.loads(groups_json(PublishedSnapshot.build(small_snapshot()), status=status(cluster_name=name)))
        for name in ("eu-1", None)
    )
    assert named == unnamed | {"cluster_name": "eu-1"}
    assert "cluster_name" not in unnamed


@pytest.mark.usefixtures("zone")
def test_a_group_has_its_partitions_and_reasons() -> None:
    """A group has its row, its partitions without the group's name, and the reasons of unknown lags."""
    answer = json.loads(group_json(small_snapshot(), "billing") or b"")
    assert answer["group"] == "billing"
    assert answer["partitions"] == 2
    assert answer["unknown_lags"] == {"no leader": 1}
    assert [(row["partition"], row["lag"], row["lag_unknown_reason"]) for row in answer["by_partition"]] == [
        (0, 2**62, None),
        (1, None, "no leader"),
    ]
    assert answer["by_partition"][0]["commit_time"] == "2023-11-14T22:13:18.500Z"
    assert "group" not in answer["by_partition"][0]


@pytest.mark.usefixtures("zone")
def test_a_share_group_has_its_partitions() -> None:
    """A share group has its partitions with the time of their numbers; both are null if they are unknown."""
    known = detail(share_partitions=(share_partition(3),), share_progress_time=NOON / 1000)
    answer = json.loads(group_json(small_snapshot(), "billing", known) or b"")
    assert answer["share_progress_time"] == "2023-11-14T22:13:20.000Z"
    assert answer["by_share_partition"] == [
        {
            "topic": "orders",
            "partition": 3,
            "start_offset": 1600,
            "end": 2000,
            "lag": 390,
            "finished": 10,
            "returned": 2,
            "most_deliveries": 3,
            "acknowledged": 1590,
            "archived": 1,
            "returns": 4,
            "verdict": "ok",
            "verdict_since": "2023-11-14T22:12:50.000Z",
        }
    ]
    answer = json.loads(group_json(small_snapshot(), "billing", detail()) or b"")
    assert (answer["by_share_partition"], answer["share_progress_time"]) == (None, None)


@pytest.mark.usefixtures("zone")
def test_a_group_has_its_members_and_history() -> None:
    """The detail is next to the counts: `by_member` lists the members that `members` counts."""
    answer = json.loads(group_json(small_snapshot(), "billing", detail()) or b"")
    assert answer["members"] == 3
    assert [each["member_id"] for each in answer["by_member"]] == ["app-1", "app-2", "app-3"]
    assert answer["by_member"][0] == {
        "member_id": "app-1",
        "instance_id": None,
        "client_id": "app",
        "client_host": "/10.0.0.1",
        "rack": "eu-1",
        "epoch": 9,
        "state": "Stable",
        "away": False,
        "assignor": None,
        "subscription": ["orders"],
        "regex": None,
        "assignment": {"orders": [0, 1, 2, 7]},
    }
    assert answer["transitions"][2] == {
        "time": "2023-11-14T22:12:49.500Z",
        "transition": "forgotten",
        "text": "1 offset",
        "cause": "topic deleted",
        "live": True,
        "came": 0,
        "went": 0,
    }
    assert answer["unowned"] == {"orders": [4, 5, 6]}
    assert answer["unsubscribed"] == ["old"]


def test_a_group_has_its_findings() -> None:
    """A group has its finding, those of its partitions, its topics, and the changes of its verdict."""
    answer = json.loads(group_json(small_snapshot(), "billing", detail()) or b"")
    assert answer["finding"] == {
        "verdict": "stopped",
        "severity": "critical",
        "since": "2023-11-14T22:12:50.000Z",
        "sentence": STOPPED.sentence,
        "evidence": dict(STOPPED.evidence),
        "next_step": STOPPED.next_step,
    }
    assert answer["findings"][0] == {"topic": "orders", "partition": 0, **answer["finding"]}
    assert (answer["findings"][1]["partition"], answer["findings"][1]["since"]) == (1, None)
    assert [(each["time"], each["before"], each["verdict"]) for each in answer["verdicts"]] == [
        ("2023-11-14T21:13:20.000Z", None, "ok"),
        ("2023-11-14T22:12:50.000Z", "ok", "stopped"),
    ]
    assert [(each["topic"], each["verdict"], each["time_lag_max"]) for each in answer["by_topic"]] == [
        ("orders", "stopped", 61.5)
    ]
    assert (answer["verdict"], answer["severity"], answer["verdict_since"]) == (
        "stopped",
        "critical",
        "2023-11-14T22:12:50.000Z",
    )
    answer = json.loads(group_json(small_snapshot(), "billing", detail(finding=None, partition_findings=())) or b"")
    assert (answer["finding"], answer["findings"]) == (None, [])


def test_a_group_has_the_quotas_of_its_members() -> None:
    """A group lists the quotas of its members; an empty list says that no quota applies."""
    quota = QuotaDetail("", "app", "consumer_byte_rate", 1024.0, 3, "May be throttled.")
    answer = json.loads(group_json(small_snapshot(), "billing", detail(quotas=(quota,))) or b"")
    assert answer["quotas"] == [dataclasses.asdict(quota)]
    assert json.loads(group_json(small_snapshot(), "billing", detail(quotas=())) or b"")["quotas"] == []


def test_an_unknown_detail_is_null() -> None:
    """The fields of an unknown detail are null; unknown subscriptions are null, not an empty list."""
    answer = json.loads(group_json(small_snapshot(), "billing") or b"")
    unknown = ("by_member", "transitions", "unowned", "unsubscribed", "finding", "findings", "verdicts", "quotas",
               "by_share_partition", "share_progress_time")  # fmt: skip
    assert [answer[name] for name in unknown] == [None] * len(unknown)
    answer = json.loads(group_json(small_snapshot(), "billing", detail(unowned=None, unsubscribed=None)) or b"")
    assert answer["unowned"] is None
    assert answer["unsubscribed"] is None
    assert answer["quotas"] is None
    assert len(answer["transitions"]) == 3


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_a_group_is_found_by_its_exact_name(name: str) -> None:
    """The response is about the group with this name, whatever its characters."""
    data = snapshot(groups=[{"group": other} for other in HOSTILE_NAMES])
    assert json.loads(group_json(data, name) or b"")["group"] == name


@pytest.mark.parametrize("name", ["bill", "billing ", "BILLING", ""])
def test_an_unknown_group_has_no_response(name: str) -> None:
    """A group is found only by its exact name."""
    assert group_json(small_snapshot(), name) is None
    assert group_json(snapshot(), name) is None


def test_the_list_is_rendered_once_per_snapshot() -> None:
    """Readers of the same snapshot share the same bytes; another snapshot has its own."""
    published = PublishedSnapshot.build(small_snapshot())
    assert groups_json(published) is groups_json(published)
    assert groups_json(PublishedSnapshot.build(snapshot())) != groups_json(published)


def test_a_replaced_snapshot_is_freed() -> None:
    """The rendered list does not keep a snapshot alive after the publisher has dropped it."""
    published = PublishedSnapshot.build(small_snapshot())
    groups_json(published)
    table = weakref.ref(published.snapshot.groups)
    del published
    gc.collect()
    assert table() is None


def test_readiness_has_the_reasons() -> None:
    """A monitor that is not ready reports its phase, its reasons and its progress."""
    answer = json.loads(readiness_json(status(**CATCHING_UP)))
    assert answer == {
        "ready": False,
        "phase": "catching up",
        "reasons": ["Reading what groups have committed so far."],
        "catch_up_ratio": 0.425,
        "catch_up_seconds_left": 75.0,
        "snapshot_time": None,
    }
    assert json.loads(readiness_json(status()))["ready"] is True


def test_nan_is_an_error() -> None:
    """Encoding NaN raises ValueError, because JSON has no NaN and every reader would fail."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"lag": float("nan")})
