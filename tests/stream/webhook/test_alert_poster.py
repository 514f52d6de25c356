"""Unhealthy groups as alerts at a real HTTP server; `tests/chart/test_alertmanager.py` has a real Alertmanager."""

import datetime as dt
from typing import Any

import pytest

from exporters.page.links import PageLinks
from exporters.readmodel import Snapshot
from sandbox.waiting import wait_until
from stream.config.loader import ConfigRefusal, load_section
from stream.config.options import WebhookOptions
from stream.webhook.alert_poster import HOLD_SECONDS, AlertPoster
from stream.webhook.alerts import alerts_of
from stream.webhook.request import WebhookTarget
from tests.exporters.snapshots import NOON, snapshot, verdicts_snapshot
from tests.stream.webhook.receiver import Receiver


def poster(receiver: Receiver, limit: int = 100, pace: float = 0.001) -> AlertPoster:
    return AlertPoster(WebhookTarget(receiver.url), limit, "c1", PageLinks(), pace=pace)


def sick(verdict: str = "stopped", **more: Any) -> dict[str, Any]:
    severity = "warning" if verdict == "skewed" else "critical"
    return {"group": "a", "verdict": verdict, "severity": severity, "state": "Stable", **more}


def firing(request: list[dict[str, Any]]) -> dict[str, bool]:
    """Return the verdict and group of the alerts of a request, and whether each holds when it is sent."""
    now = dt.datetime.now(dt.UTC)
    return {
        f"{each['labels']['verdict']} {each['labels']['group']}": dt.datetime.fromisoformat(each["endsAt"]) > now
        for each in request
    }


def test_alerts_are_sent_again_and_then_their_end() -> None:
    """An alert is sent again with a later end, from the same start; a change of the verdict ends it.

    A group whose verdict is unknown for a moment keeps its alert. Failed requests are counted, and all is sent again.
    """
    with Receiver(lambda number: (503 if number == 2 else 200, {})) as receiver, poster(receiver) as own:
        own.update(verdicts_snapshot(a="stopped", b="ok", c="stalled"))
        wait_until(lambda: len(receiver.bodies) > 4 and own.status().sent == 2, "repetitions")
        own.update(verdicts_snapshot(a="unknown", b="ok", c="poison_record"))
        wait_until(lambda: own.status().sent == 4, "the change")
        last: Any = receiver.events[-1]
        assert firing(last) == {"stopped a": True, "poison_record c": True, "stalled c": False}
        first, again = (request[0] for request in receiver.events[:2])
        assert first["startsAt"] == again["startsAt"]
        assert first["endsAt"] <= again["endsAt"]
        assert own.failures()["server_error"] == 1
        assert own.status().oldest is None
        ends = dt.datetime.fromisoformat(first["endsAt"]).timestamp()
        assert ends - dt.datetime.now(dt.UTC).timestamp() <= HOLD_SECONDS


@pytest.mark.parametrize(
    "muted",
    [{"unpaged": True}, {"silence_reason": "old"}, {"maintenance_until": NOON + 1}],
    ids=lambda each: str(*each),
)
def test_what_the_rules_mute_has_no_alert(muted: dict[str, Any]) -> None:
    """Maintenance, silences and faults that are not paged; a fine group and a dead one have none either."""
    well = [{"group": "b", "verdict": "ok", "severity": "fine"}, {"group": "c", "state": "Dead"}]

    def found(seen: Snapshot) -> list[str]:
        return [each.group for each in alerts_of(seen, (), (), "c1", PageLinks())]

    assert found(snapshot(groups=[sick(), *well])) == ["a"]
    assert found(snapshot(groups=[sick(**muted), *well])) == []


def test_the_number_of_alerts_is_bounded() -> None:
    """The most severe and oldest ones are sent; each of the others is counted once."""
    groups = [sick("skewed", group="late", verdict_since=NOON - 9), sick(group="new", verdict_since=NOON)]
    groups += [sick(group="old", verdict_since=NOON - 5)]
    with Receiver() as receiver, poster(receiver, limit=2) as own:
        own.update(snapshot(groups=groups))
        own.update(snapshot(groups=groups))
        wait_until(lambda: own.status().sent == 2, "the alerts")
        last: Any = receiver.events[-1]
        assert [each["labels"]["group"] for each in last] == ["old", "new"]
        assert own.drops()["queue_full"] == 1


def test_the_address_is_that_of_the_api() -> None:
    """Another path is refused with the one that is meant, and the format without a URL."""
    for flags, problem in (
        ({"webhook.url": "http://alertmanager:9093/"}, "must end in /api/v2/alerts with webhook.format alertmanager"),
        ({}, "has no effect without webhook.url"),
    ):
        with pytest.raises(ConfigRefusal, match=problem):
            load_section(WebhookOptions, flags={**flags, "webhook.format": "alertmanager"})
