"""Examples of the large responses, made by the functions of the API from a small world, so that they have its form."""

import functools
import json
from collections.abc import Mapping
from typing import Any, Final

from exporters import readmodel
from exporters.api_types.monitor import VerdictCloudEvent
from exporters.cluster.exposition import PublishedCluster
from exporters.http.api import group_json, groups_json, topic_groups_json
from exporters.http.cluster_api import cluster_json, topic_json
from exporters.http.openapi.small_world import NOON, rows_table, small_cluster
from exporters.text.exposition import EMPTY, PublishedSnapshot
from exporters.timestamps import rfc3339

_NOW: Final = NOON / 1000
_SENTENCE: Final = "No commit for 5 min, where 20 s is the longest to expect; 400 offsets unread."
_NUMBERS: Final = (1, 0, 400, 400, 302.5, True, "stopped")
_COUNTED: Final = "partitions partitions_lag_unknown lag_sum lag_max time_lag_max time_lag_max_exact verdict"
_SINCE: Final = NOON - 280_000
_OFFSETS: Final = "partition committed_offset commit_time progress_time high_watermark log_start_offset"
_AT: Final = NOON - 302_500
_LAG: Final = "lag time_lag time_lag_exact verdict verdict_since"
_IS: Final = (400, 302.5, True, "stopped", _SINCE)
_FINDING: Final = readmodel.FindingDetail(
    "stopped", "critical", _NOW - 280, _SENTENCE, {"lag": 400, "patience_seconds": 20.0}, "See whether it still runs."
)
_MEMBER: Final = readmodel.MemberDetail(
    member_id="billing-1-f2c1",
    instance_id=None,
    client_id="billing-1",
    client_host="/10.0.0.1",
    rack=None,
    epoch=4,
    state="Stable",
    away=False,
    assignor="uniform",
    subscription=("orders",),
    regex=None,
    assignment=(("orders", (0,)),),
)
_DETAIL: Final = readmodel.GroupDetail(
    "billing",
    (_MEMBER,),
    (),
    (),
    (),
    _FINDING,
    (("orders", 0, _FINDING),),
    (readmodel.VerdictChange(_NOW - 280, "ok", "stopped", _SENTENCE),),
    (
        readmodel.QuotaDetail(
            "",
            "billing-1",
            "consumer_byte_rate",
            1_048_576.0,
            1,
            "May be throttled by the quota of 1,048,576 bytes/s per broker for client-id billing-1"
            " (consumer_byte_rate): 1 of 1 members.",
        ),
    ),
)
_TIME: Final = rfc3339(_NOW)
_EVENT: Final[VerdictCloudEvent] = {
    "specversion": "1.0",
    "id": "0f5e1f6a5b1f4b0f9a8d7c6e5f4a3b2c",
    "source": "/lagwarden/clusters/MkU3OEVBNTcwNTJENDM2Qk",
    "type": "lagwarden.group.verdict_changed.v1",
    "subject": "billing",
    "time": _TIME,
    "datacontenttype": "application/json",
    "data": {
        "group": "billing",
        "before": "ok",
        "verdict": "stopped",
        "severity": "critical",
        "since": rfc3339(_NOW - 280),
        "sentence": _SENTENCE,
        "evidence": dict(_FINDING.evidence),
        "next_step": _FINDING.next_step,
        "owner": {"team": "payments", "tier": None, "link": None},
        "maintenance_until": None,
        "silence_reason": None,
        "not_alerted": False,
    },
}


@functools.cache
def examples() -> Mapping[tuple[str, int], Mapping[str, Any]]:
    """Return the examples by path and status code. Made at the first request for the document, not at the start."""
    cluster = PublishedCluster(small_cluster(), EMPTY)
    snapshot = readmodel.Snapshot(
        _NOW,
        rows_table(
            readmodel.PARTITIONS,
            f"group topic {_OFFSETS} {_LAG}",
            ("billing", "orders", 0, 1600, _AT, _AT, 2000, 0, *_IS),
        ),
        rows_table(
            readmodel.GROUPS,
            f"group kind state members severity sentence verdict_partitions team verdict_since {_COUNTED}",
            ("billing", "consumer", "Stable", 1, "critical", _SENTENCE, 1, "payments", _SINCE, *_NUMBERS),
        ),
        readmodel.UNKNOWN_LAGS.empty_table(),
        topics=rows_table(readmodel.TOPICS, f"group topic {_COUNTED}", ("billing", "orders", *_NUMBERS)),
    )
    group = json.loads(group_json(snapshot, "billing", _DETAIL) or b"{}")
    return {
        ("/api/v1/events", 200): _EVENT,
        ("/api/v1/cluster", 200): json.loads(cluster_json(cluster)[0]),
        ("/api/v1/topics/{topic}", 200): json.loads(topic_json(cluster, "orders")[0]),
        ("/api/v1/groups", 200): json.loads(groups_json(PublishedSnapshot(snapshot, EMPTY))),
        ("/api/v1/group", 200): group,
        ("/api/v1/groups/{name}", 200): group,
        ("/api/v1/topics/{topic}/groups", 200): json.loads(topic_groups_json(snapshot, "orders")),
        ("/readyz", 200): {
            "ready": True,
            "phase": "running",
            "reasons": [],
            "catch_up_ratio": 1.0,
            "catch_up_seconds_left": None,
            "snapshot_time": _TIME,
        },
        ("/readyz", 503): {
            "ready": False,
            "phase": "catching up",
            "reasons": ["Reading what groups have committed so far."],
            "catch_up_ratio": 0.425,
            "catch_up_seconds_left": 75.0,
            "snapshot_time": None,
        },
    }
