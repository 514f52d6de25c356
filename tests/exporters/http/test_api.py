"""The JSON responses: complete, exact, and null if unknown."""

import dataclasses
import gc
import json
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from exporters.http.api import encode, group_json, groups_json
from exporters.http.openapi.small_world import NOON
from exporters.readmodel import GROUPS, QuotaDetail
from exporters.text.exposition import PublishedSnapshot
from exporters.timestamps import rfc3339
from tests.exporters.openapi_check import check_json
from tests.exporters.snapshots import COMMON_CAUSE, STOPPED, detail, share_partition, small_snapshot, snapshot, status


@pytest.fixture(params=["UTC", "Asia/Kathmandu"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run in a time zone: no time in a response may depend on it."""
    import time  # only this fixture changes the time zone

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


def group(**changes: Any) -> Any:
    """Return the response about billing with its detail, which the OpenAPI document declares."""
    body = group_json(small_snapshot(), "billing", detail(**changes)) or b""
    check_json("/api/v1/group", 200, "application/json", body.decode())
    return json.loads(body)


def test_groups_have_optional_fields() -> None:
    """Groups have the name of their cluster, and the addresses of other instances, only if there are any."""
    world = snapshot(groups=[{"group": "a"}], common_causes=[COMMON_CAUSE])
    urls = ["http://a:1", "http://b:1"]
    shared = status(cluster_name="eu-1", part="1/2", instances=2, siblings=tuple(urls))
    body = groups_json(PublishedSnapshot.build(world), status=shared).decode()
    check_json("/api/v1/groups", 200, "application/json", body)
    whole = json.loads(body)
    assert (whole["cluster_name"], whole["instance"], whole["siblings"]) == ("eu-1", "1/2", urls)
    unnamed = json.loads(groups_json(PublishedSnapshot.build(world), status=status()))
    assert not unnamed.keys() & {"cluster_name", "instance", "siblings"}


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


def in_json(each: Any, **times: float | None) -> dict[str, Any]:
    """Return the fields of a dataclass as in JSON, with times in RFC 3339, and without those for pages."""
    shown = dataclasses.asdict(each) | {name: at and rfc3339(at) for name, at in times.items()}
    shown.pop("about_owner", None)
    return json.loads(json.dumps(shown))  # type: ignore[no-any-return]


@pytest.mark.usefixtures("zone")
def test_a_share_group_has_its_partitions() -> None:
    """A share group has its partitions with the time of their numbers; both are null if they are unknown."""
    partition = share_partition(3)
    answer = group(share_partitions=(partition,), share_progress_time=NOON / 1000)
    assert answer["share_progress_time"] == "2023-11-14T22:13:20.000Z"
    assert answer["by_share_partition"] == [in_json(partition, verdict_since=NOON / 1000 - 30)]
    assert answer["by_share_partition"][0]["verdict_since"] == "2023-11-14T22:12:50.000Z"
    answer = group()
    assert (answer["by_share_partition"], answer["share_progress_time"]) == (None, None)


@pytest.mark.usefixtures("zone")
def test_a_group_has_its_members_and_history() -> None:
    """The detail is next to the counts: `by_member` lists the members that `members` counts."""
    known, answer = detail(), group()
    assert answer["members"] == 3
    assert answer["by_member"] == [
        {**in_json(each), "assignment": {topic: list(numbers) for topic, numbers in each.assignment}}
        for each in known.members
    ]
    assert answer["by_member"][0]["assignment"] == {"orders": [0, 1, 2, 7]}
    assert answer["transitions"] == [in_json(each, time=each.time) for each in known.transitions]
    assert answer["transitions"][2]["time"] == "2023-11-14T22:12:49.500Z"
    assert answer["unowned"] == {"orders": [4, 5, 6]}
    assert answer["unsubscribed"] == ["old"]


def test_a_group_has_its_findings() -> None:
    """A group has its finding, those of its partitions, its topics, and the changes of its verdict."""
    answer = group()
    assert answer["finding"] == in_json(STOPPED, since=STOPPED.since)
    assert answer["findings"][0] == {"topic": "orders", "partition": 0, **answer["finding"]}
    assert (answer["findings"][1]["partition"], answer["findings"][1]["since"]) == (1, None)
    assert [(each["time"], each["before"], each["verdict"]) for each in answer["verdicts"]] == [
        ("2023-11-14T21:13:20.000Z", None, "ok"),
        ("2023-11-14T22:12:50.000Z", "ok", "stopped"),
    ]
    (topic,) = answer["by_topic"]
    assert (topic["topic"], topic["verdict"], topic["time_lag_max"]) == ("orders", "stopped", 61.5)
    shown = (answer["verdict"], answer["severity"], answer["verdict_since"])
    assert shown == ("stopped", "critical", "2023-11-14T22:12:50.000Z")
    answer = group(finding=None, partition_findings=())
    assert (answer["finding"], answer["findings"]) == (None, [])


def test_an_unknown_detail_is_null() -> None:
    """The fields of an unknown detail are null; unknown subscriptions and quotas are null, not an empty list."""
    answer = json.loads(group_json(small_snapshot(), "billing") or b"")
    unknown = "by_member transitions unowned unsubscribed finding findings verdicts quotas by_share_partition"
    assert [answer[name] for name in (*unknown.split(), "share_progress_time")] == [None] * 10
    answer = group(unowned=None, unsubscribed=None)
    assert (answer["unowned"], answer["unsubscribed"], answer["quotas"]) == (None, None, None)
    assert len(answer["transitions"]) == 3
    quota = QuotaDetail("", "app", "consumer_byte_rate", 1024.0, 3, "May be throttled.")
    assert group(quotas=(quota,))["quotas"] == [dataclasses.asdict(quota)]
    assert group(quotas=())["quotas"] == []


def test_the_list_is_rendered_once_per_snapshot() -> None:
    """Readers share the same bytes, which do not keep the snapshot alive. NaN is an error, because JSON has none."""
    published = PublishedSnapshot.build(small_snapshot())
    assert groups_json(published) is groups_json(published)
    assert groups_json(PublishedSnapshot.build(snapshot())) != groups_json(published)
    table = weakref.ref(published.snapshot.groups)
    del published
    gc.collect()
    assert table() is None
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"lag": float("nan")})
