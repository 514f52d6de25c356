"""Unhealthy groups as alerts at a real HTTP server; `tests/chart/test_alertmanager.py` has a real Alertmanager."""

import datetime as dt
import threading
from typing import Any

import pytest

from exporters.http.openapi.small_world import NOON
from exporters.page.links import PageLinks
from exporters.readmodel import WebhookStatus
from sandbox.ports import free_port
from sandbox.waiting import wait_until
from stream.config.loader import ConfigRefusal, load_section
from stream.config.options import WebhookOptions
from stream.webhook import alertmanager
from stream.webhook.alert_poster import AlertPoster
from tests.exporters.snapshots import snapshot, verdicts_snapshot
from tests.stream.webhook.receiver import Receiver


def alertmanagers(most: int, *urls: str) -> WebhookOptions:
    return WebhookOptions(url=urls, format="alertmanager", queue=most)


def poster(receiver: Receiver) -> AlertPoster:
    """Return a poster of at most two alerts that sends them every 60 ms."""
    return AlertPoster(alertmanagers(2, receiver.url), "c1", PageLinks(), pace=0.001)


def failures(own: AlertPoster, reason: str) -> list[int]:
    """Return the failed requests of each address."""
    return [row["failures"] for row in own.status().failures.to_pylist() if row["reason"] == reason]


def dropped(status: WebhookStatus, reason: str) -> int:
    return next(row["events"] for row in status.drops.to_pylist() if row["reason"] == reason)


def sick(verdict: str = "stopped", **more: Any) -> dict[str, Any]:
    severity = "warning" if verdict == "skewed" else "critical"
    return {"verdict": verdict, "severity": severity, "state": "Stable", **more}


def firing(request: Any) -> dict[str, bool]:
    """Return the verdicts of the alerts of a request, and whether each holds when it is sent."""
    ends = {each["labels"]["verdict"]: dt.datetime.fromisoformat(each["endsAt"]) for each in request}
    return {verdict: end > dt.datetime.now(dt.UTC) for verdict, end in ends.items()}


def test_alerts_are_sent_again_and_then_their_end() -> None:
    """An alert is sent again with a later end, from the same start; a change of the verdict ends it.

    A group whose verdict is unknown for a moment keeps its alert. Failed requests are counted, and all is sent again.
    Alerts end without repetitions, so refused ones count as waiting.
    """
    down = threading.Event()
    with Receiver(lambda at: (503 if at == 2 or down.is_set() else 200, {})) as receiver, poster(receiver) as own:
        own.update(verdicts_snapshot(a="stopped", b="ok", c="stalled"))
        wait_until(lambda: len(receiver.bodies) > 4 and own.status().sent == 2, "repetitions")
        own.update(verdicts_snapshot(a="unknown", b="ok", c="poison_record"))
        wait_until(lambda: own.status().sent == 4, "the change")
        assert firing(receiver.events[-1]) == {"stopped": True, "poison_record": True, "stalled": False}
        first, again = (request[0] for request in receiver.events[:2])
        assert first["startsAt"] == again["startsAt"]
        assert first["endsAt"] <= again["endsAt"]
        assert (failures(own, "server_error"), own.status().oldest_at) == ([1], None)
        down.set()
        wait_until(lambda: own.status().oldest_at is not None, "a refused repetition")


def test_the_most_severe_and_oldest_alerts_are_sent() -> None:
    """Each of the others is counted once. Groups that the rules mute, fine groups and dead ones have no alert."""
    muted = {"not_alerted": True, "silence_reason": "old", "maintenance_until": NOON}
    groups = [sick("skewed", group="late", verdict_since=NOON - 9), sick(group="new", verdict_since=NOON)]
    groups += [sick(group="old", verdict_since=NOON - 5), {"group": "b", "verdict": "ok", "severity": "fine"}]
    groups += [{"group": "c", "state": "Dead"}, *(sick(group=name, **{name: value}) for name, value in muted.items())]
    with Receiver() as receiver, poster(receiver) as own:
        for _ in range(2):
            own.update(snapshot(groups=groups))
        wait_until(lambda: own.status().sent == 2, "the alerts")
        last: Any = receiver.events[-1]
        assert [each["labels"]["group"] for each in last] == ["old", "new"]
        assert dropped(own.status(), "queue_full") == 1
        # A silence also ends the alert of a group whose verdict is unknown for a moment.
        own.update(snapshot(groups=[{"group": "old", "verdict": "unknown", "silence_reason": "known"}]))
        wait_until(lambda: own.status().sent == 4, "both ends")


def test_each_alertmanager_gets_each_alert(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is away is counted by its address, and one that refuses an alert for its content gets all others.

    The refused alert is counted once, and sent again after a while. A receiver that refuses all of them drops none.
    """
    away = f"http://127.0.0.1:{free_port()}"
    with (
        Receiver(lambda at: (413 if b"bad" in one.bodies[at] else 200, {})) as one,
        Receiver() as other,
        Receiver(lambda _: (400, {})) as strict,
    ):
        options = alertmanagers(9, away, strict.url, one.url, other.url)
        with AlertPoster(options, "c1", PageLinks(external_url="https://here.example"), pace=0.001) as own:
            own.update(verdicts_snapshot(**{"a group": "stopped", "bad": "stopped", "c": "stopped"}))
            wait_until(lambda: dropped(own.status(), "refused") == 1, "the refused alert")
            count = len(one.bodies) + 3
            wait_until(lambda: len(one.bodies) > count and len(strict.bodies) > 9 and other.bodies, "repetitions")
            status = own.status()
            last: Any = one.events[-1]
            monkeypatch.setattr(alertmanager, "_REFUSED_SECONDS", 0)
            wait_until(lambda: dropped(own.status(), "refused") > 1, "the refused alert again")
    assert [each["labels"]["group"] for each in last] == ["a group", "c"]
    assert last[0]["generatorURL"] == last[0]["annotations"]["dashboard_url"]
    assert last[0]["generatorURL"] == "https://here.example/group?name=a%20group"
    assert last[0]["annotations"]["runbook_url"] == "https://here.example/runbook/LagwardenGroupStuck"
    assert len(other.events[-1]) == 3
    assert (dropped(status, "refused"), status.sent) == (1, 3)
    assert {
        row["address"] for row in status.failures.to_pylist() if row["failures"] and row["reason"] == "unreachable"
    } == {away}
    assert status.oldest_at is not None


def test_the_address_is_that_of_the_api() -> None:
    """Another path is refused with the one that is meant, the format without a URL, and several URLs for CloudEvents.

    A URL may contain a comma.
    """
    for flags, problem in (
        ({"webhook.url": "http://alertmanager:9093/"}, "must end in /api/v2/alerts with webhook.format alertmanager"),
        ({}, "has no effect without webhook.url"),
    ):
        with pytest.raises(ConfigRefusal, match=problem):
            load_section(WebhookOptions, flags={**flags, "webhook.format": "alertmanager"})
    two = {"webhook.url": "http://a/x,y/api/v2/alerts, https://b/api/v2/alerts"}
    with pytest.raises(ConfigRefusal, match="must be one URL with"):
        load_section(WebhookOptions, flags=two)
    found = load_section(WebhookOptions, flags={**two, "webhook.format": "alertmanager"})
    assert found.url == ("http://a/x,y/api/v2/alerts", "https://b/api/v2/alerts")
