"""What the recorded responses of Burrow do not show: unknown lags, and partitions without a commit."""

import json
from typing import Any

from exporters.compatibility.burrow_responses import BurrowRequest, consumer_status, topic_detail
from tests.exporters.compatibility.burrow_world import EU, commit, place, world


def request(**names: str) -> BurrowRequest:
    return BurrowRequest("/v3", "monitor-1", EU, {"cluster": "eu", **names})


def status(*rows: dict[str, Any]) -> Any:
    """Return the status of the group g with all partitions."""
    body, code = consumer_status(request(group="g"), world(list(rows)))
    assert code == 200
    return json.loads(body)["status"]


def known(partition: int, name: str, lag: int = 5) -> dict[str, Any]:
    return place("g", "t", partition, 10, 10 + lag, burrow_status=name, burrow_window=[commit(10, 0, lag)])


def test_an_unknown_lag_is_null() -> None:
    """An unknown lag is null and is left out of the sum; the sum is null if no lag is known.

    A commit beyond the end has a lag of 0, because Burrow reads ends and commits at different times.
    """
    silent = place("g", "t", 0, 10, None, burrow_status="OK", burrow_window=[commit(10, 0, None)])
    found = status(silent)
    assert (found["partitions"][0]["current_lag"], found["totallag"]) == (None, None)
    assert found["partitions"][0]["end"]["lag"] is None
    both = status(silent, known(1, "WARN", lag=7))
    assert (both["totallag"], both["maxlag"]["partition"]) == (7, 1)
    assert status(known(0, "OK", lag=-3))["totallag"] == 0


def test_a_topic_has_an_entry_for_every_partition() -> None:
    """Partitions without a commit are empty, also behind the last one. An unknown end is no offset, as in Burrow."""
    rows = [place("g", "t", 0, 1, None), place("g", "t", 1, 1, 9), place("g", "u", 0, 1, None)]
    assert json.loads(topic_detail(request(topic="t"), world(rows))[0])["offsets"] == [9]
    assert topic_detail(request(topic="u"), world(rows))[1] == 404
    counted, uncounted = known(1, "STOP") | {"topic_partitions": 3}, place("g", "u", 1, 1, 2, burrow_window=[])
    found = status(counted, uncounted)
    places = [(each["topic"], each["partition"], each["current_lag"]) for each in found["partitions"]]
    assert places == [("t", 0, 0), ("t", 1, 5), ("t", 2, 0), ("u", 0, 0), ("u", 1, 1)]
    assert (found["partition_count"], found["totallag"]) == (5, 6)
