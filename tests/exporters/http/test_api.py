"""The JSON shapes: complete, exact, and null where nothing is known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from exporters.http.api import encode, group_json, groups_json, moment, readiness_json
from exporters.readmodel import GROUPS
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.snapshots import CATCHING_UP, HOSTILE_NAMES, STOPPED, detail, small_world, snapshot, status

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=["UTC", "Asia/Kathmandu"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run in a time zone: none of the moments may depend on it."""
    import time  # noqa: PLC0415  # only here is the process's zone of interest

    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_groups_have_every_column_of_the_read_model() -> None:
    """All groups in order, each with all columns; numbers exact, moments in UTC, unknown as null."""
    answer = json.loads(groups_json(PublishedSnapshot.build(small_world())))
    assert answer["snapshot_time"] == "2023-11-14T22:13:20.000Z"
    assert [group["group"] for group in answer["groups"]] == ["billing", "gone", "plain", 'say "hi"\\\nthere']
    assert all(list(group) == GROUPS.names for group in answer["groups"])
    assert answer["groups"][0]["lag_sum"] == 2**62
    assert answer["groups"][0]["last_commit_time"] == "2023-11-14T22:13:20.000Z"
    assert answer["groups"][2]["lag_sum"] is None
    assert answer["groups"][2]["last_commit_time"] is None


@pytest.mark.usefixtures("zone")
def test_one_group_has_its_partitions_and_reasons() -> None:
    """A group comes with its row, its partitions without its name, and why lags are unknown."""
    answer = json.loads(group_json(small_world(), "billing") or b"")
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
def test_one_group_has_its_members_and_history() -> None:
    """The detail stands beside the numbers: members under `by_member`, as `members` counts them."""
    answer = json.loads(group_json(small_world(), "billing", detail()) or b"")
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


def test_one_group_has_its_verdict_in_words() -> None:
    """The group's finding, those of its partitions, its topics, and how its verdict changed."""
    answer = json.loads(group_json(small_world(), "billing", detail()) or b"")
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
    answer = json.loads(group_json(small_world(), "billing", detail(finding=None, partition_findings=())) or b"")
    assert (answer["finding"], answer["findings"]) == (None, [])


def test_what_is_not_known_of_a_group_is_null() -> None:
    """Without a detail its fields are there and null; subscriptions that are not known are not an empty list."""
    answer = json.loads(group_json(small_world(), "billing") or b"")
    unknown = ("by_member", "transitions", "unowned", "unsubscribed", "finding", "findings", "verdicts")
    assert [answer[name] for name in unknown] == [None] * len(unknown)
    answer = json.loads(group_json(small_world(), "billing", detail(unowned=None, unsubscribed=None)) or b"")
    assert answer["unowned"] is None
    assert answer["unsubscribed"] is None
    assert len(answer["transitions"]) == 3


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_any_name_is_found_by_itself(name: str) -> None:
    """A group is found by its exact name, whatever that is, and no other is."""
    world = snapshot(groups=[{"group": other} for other in HOSTILE_NAMES])
    assert json.loads(group_json(world, name) or b"")["group"] == name


@pytest.mark.parametrize("name", ["bill", "billing ", "BILLING", ""])
def test_an_unknown_group_is_none(name: str) -> None:
    """Only the exact name counts."""
    assert group_json(small_world(), name) is None
    assert group_json(snapshot(), name) is None


def test_the_list_is_made_once_per_snapshot() -> None:
    """Readers of the same snapshot share the same bytes; another snapshot has its own."""
    published = PublishedSnapshot.build(small_world())
    assert groups_json(published) is groups_json(published)
    assert groups_json(PublishedSnapshot.build(snapshot())) != groups_json(published)


def test_readiness_tells_why_not() -> None:
    """A monitor that is not ready gives its phase, its reasons and how far it is."""
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


def test_a_nan_is_refused() -> None:
    """What is not JSON is an error where it arises."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"lag": float("nan")})


def test_moments_have_milliseconds() -> None:
    """Moments are written in UTC with three decimals."""
    assert moment(1_700_000_000.5) == "2023-11-14T22:13:20.500Z"
