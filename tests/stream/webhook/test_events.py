"""Verdict changes as CloudEvents: which changes are events, and what is in them."""

import dataclasses
import json
from typing import Any

from exporters.http.openapi.small_world import NOON
from exporters.readmodel import FindingDetail, Snapshot
from exporters.verdict_event import AnnouncedVerdict, VerdictEvent
from stream.webhook.events import verdict_changes, verdict_events
from tests.exporters.snapshots import snapshot
from tests.stream.webhook.cloud_events import cloud_event_validator

OK = AnnouncedVerdict("ok", "fine")
STALLED = AnnouncedVerdict("stalled", "critical")


def group(name: str, verdict: str | None, severity: str | None, **columns: Any) -> dict[str, Any]:
    return {"group": name, "verdict": verdict, "severity": severity, "state": "Stable", **columns}


def events(shown: Snapshot, announced: dict[str, AnnouncedVerdict] | None = None) -> list[VerdictEvent]:
    """Return the events of a snapshot without findings, each checked to be a CloudEvent."""
    last = announced or {}
    found = verdict_events(shown, verdict_changes(shown, last)[0], last, lambda _: None, "c1")
    for event in found:
        cloud_event_validator().validate(json.loads(event.body))
    return found


STORIES = [
    ("sick at first sight", group("g", "stalled", "critical"), None, [None, "stalled"]),
    ("fine at first sight", group("g", "ok", "fine"), None, None),
    ("unknown at first sight", group("g", "unknown", "unknown"), None, None),
    ("before the first evaluation", group("g", None, None), STALLED, None),
    ("the same verdict", group("g", "stalled", "critical"), STALLED, None),
    ("another verdict of the same severity", group("g", "stopped", "critical"), STALLED, ["stalled", "stopped"]),
    ("from sick to fine", group("g", "ok", "fine"), STALLED, ["stalled", "ok"]),
    ("from fine to fine", group("g", "caught_up", "fine"), OK, None),
    ("from fine to sick", group("g", "stalled", "critical"), OK, ["ok", "stalled"]),
    ("from sick to unknown", group("g", "unknown", "unknown"), STALLED, ["stalled", "unknown"]),
    ("sick and then dead", group("g", None, None, state="Dead"), STALLED, ["stalled", None]),
    ("fine and then dead", group("g", None, None, state="Dead"), OK, None),
]


def test_which_changes_are_events() -> None:
    """The event has the announced verdict and the new one."""
    for story, row, last, change in STORIES:
        found = events(snapshot(groups=[row]), {} if last is None else {"g": last})
        data = [json.loads(event.body)["data"] for event in found]
        assert [[each["before"], each["verdict"]] for each in data] == ([] if change is None else [change]), story


def test_a_group_that_disappears_is_an_event_if_it_was_not_fine() -> None:
    """The event lets a receiver close what it opened; a fine group is only forgotten."""
    shown, announced = snapshot(groups=[]), {"a": STALLED, "b": OK}
    (event,) = events(shown, announced)
    assert (event.group, event.announced) == ("a", None)
    assert json.loads(event.body)["data"]["sentence"] == "The group no longer exists."
    assert verdict_changes(shown, announced)[1] == ["b"]


def test_an_event_is_a_cloud_event_with_everything_about_the_change() -> None:
    """An event has all required attributes of CloudEvents 1.0, finding, owner, and what mutes its alerts."""
    row = group("billing", "stalled", "critical", verdict_since=NOON - 5000, sentence="It is stalled.")
    owned = {"team": "payments", "tier": "1", "maintenance_until": NOON + 60_000, "silence_reason": "new cluster"}
    finding = FindingDetail("stalled", "critical", NOON / 1000, "It is stalled.", {"lag": 7, "rate": None}, "Look.")
    asked: list[str] = []

    def finding_of(name: str) -> FindingDetail:
        asked.append(name)
        return finding

    healthy = group("a", "ok", "fine")
    shown = snapshot(groups=[healthy, row | owned])
    (event,) = verdict_events(shown, verdict_changes(shown, {})[0], {}, finding_of, "c1")
    body = json.loads(event.body)
    cloud_event_validator().validate(body)
    assert body.pop("id") == event.id
    assert len(event.id) == 32
    assert asked == ["billing"]
    assert body == {
        "specversion": "1.0",
        "source": "/lagwarden/clusters/c1",
        "type": "lagwarden.group.verdict_changed.v1",
        "subject": "billing",
        "time": "2023-11-14T22:13:20.000Z",
        "datacontenttype": "application/json",
        "data": {
            "group": "billing",
            "before": None,
            "verdict": "stalled",
            "severity": "critical",
            "since": "2023-11-14T22:13:15.000Z",
            "sentence": "It is stalled.",
            "evidence": {"lag": 7, "rate": None},
            "next_step": "Look.",
            "owner": {"team": "payments", "tier": "1", "link": None},
            "maintenance_until": "2023-11-14T22:14:20.000Z",
            "silence_reason": "new cluster",
            "not_alerted": False,
        },
    }


def test_each_change_has_its_own_id() -> None:
    """The same change of the same snapshot has the same id; another group, cluster, verdict or time has another."""
    shown = snapshot(groups=[group("g", "stalled", "critical")])
    other = snapshot(groups=[group("h", "stalled", "critical")])
    later = dataclasses.replace(shown, taken_at=shown.taken_at + 10)
    ids = [events(each)[0].id for each in (shown, other, later)]
    ids += [events(shown, {"g": OK})[0].id]
    ids += [verdict_events(shown, verdict_changes(shown, {})[0], {}, lambda _: None, "c2")[0].id]
    assert len(set(ids)) == 5
    assert events(shown)[0].id == ids[0]
