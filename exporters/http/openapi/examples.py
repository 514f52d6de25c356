"""Examples of the large responses, made by the functions of the API from a small world, so that they have its form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from exporters.http.api import group_json, groups_json, topic_groups_json
from exporters.readmodel import (
    GROUPS,
    PARTITIONS,
    TOPICS,
    UNKNOWN_LAGS,
    FindingDetail,
    GroupDetail,
    MemberDetail,
    QuotaDetail,
    Snapshot,
    VerdictChange,
)
from exporters.text.exposition import EMPTY, PublishedSnapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporters.api_types.cluster import (
        ClusterResponse,
        ConfigRow,
        TopicResponse,
    )
    from exporters.api_types.monitor import VerdictCloudEvent

_NOW: Final = 1_767_258_000.0
_NOW_MS: Final = int(_NOW * 1000)
_SENTENCE: Final = "No commit for 5 min, where 20 s is the longest to expect; 400 offsets unread."
_NUMBERS: Final = {"lag_sum": 400, "lag_max": 400, "time_lag_max": 302.5, "time_lag_max_exact": True}
_VERDICT: Final = {"verdict": "stopped", "verdict_since": _NOW_MS - 280_000}
_SNAPSHOT: Final = Snapshot(
    _NOW,
    pa.Table.from_pylist(
        [
            {
                "group": "billing",
                "topic": "orders",
                "partition": 0,
                "committed_offset": 1600,
                "commit_time": _NOW_MS - 302_500,
                "progress_time": _NOW_MS - 302_500,
                "high_watermark": 2000,
                "log_start_offset": 0,
                "lag": 400,
                "time_lag": 302.5,
                "time_lag_exact": True,
                **_VERDICT,
            }
        ],
        schema=PARTITIONS,
    ),
    pa.Table.from_pylist(
        [
            {
                "group": "billing",
                "kind": "consumer",
                "state": "Stable",
                "members": 1,
                "partitions": 1,
                "partitions_lag_unknown": 0,
                "severity": "critical",
                "sentence": _SENTENCE,
                "verdict_partitions": 1,
                "team": "payments",
                **_NUMBERS,
                **_VERDICT,
            }
        ],
        schema=GROUPS,
    ),
    UNKNOWN_LAGS.empty_table(),
    topics=pa.Table.from_pylist(
        [
            {
                "group": "billing",
                "topic": "orders",
                "partitions": 1,
                "partitions_lag_unknown": 0,
                "verdict": "stopped",
                **_NUMBERS,
            }
        ],
        schema=TOPICS,
    ),
)
_FINDING: Final = FindingDetail(
    "stopped", "critical", _NOW - 280, _SENTENCE, {"lag": 400, "patience_seconds": 20.0}, "See whether it still runs."
)
_MEMBER: Final = MemberDetail(
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
_DETAIL: Final = GroupDetail(
    "billing",
    (_MEMBER,),
    (),
    (),
    (),
    _FINDING,
    (("orders", 0, _FINDING),),
    (VerdictChange(_NOW - 280, "ok", "stopped", _SENTENCE),),
    (
        QuotaDetail(
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
_GROUP: Final[dict[str, Any]] = json.loads(group_json(_SNAPSHOT, "billing", _DETAIL) or b"{}")

_TIME: Final = "2026-01-01T09:00:00.000Z"
_RETENTION: Final[ConfigRow] = {
    "key": "retention.ms",
    "value": "604800000",
    "source": "default",
    "unknown_reason": None,
}
_CLUSTER: Final[ClusterResponse] = {
    "time": _TIME,
    "cluster_id": "MkU3OEVBNTcwNTJENDM2Qk",
    "controller": 1,
    "controller_unknown_reason": None,
    "brokers": [
        {
            "broker": 1,
            "host": "broker-1",
            "port": 9092,
            "rack": None,
            "leads": 51,
            "holds": 51,
            "controller": True,
            "configs": [],
        }
    ],
    "totals": {"topics": 2, "partitions": 51, "under_replicated": 0, "leaderless": 0},
    "offsets_topic": {
        "by_broker": [{"broker": 1, "bytes": 2_400_000, "growth": 12.5, "unknown_reason": None}],
        "cleaner_suspect": False,
        "cleaner_evidence": (),
        "configs": [{"key": "cleanup.policy", "value": "compact", "source": "topic", "unknown_reason": None}],
    },
    "quorum": {
        "leader_epoch": 4,
        "high_watermark": 81_230,
        "voters": 3,
        "voters_behind": 0,
        "replicas": [
            {
                "replica": 1,
                "role": "voter",
                "directory": "0d4b2a0e-5d8b-4c43-a1c4-8d0b0c1a2b3c",
                "log_end_offset": 81_231,
                "lag": 0,
                "last_fetch_time": _TIME,
                "last_caught_up_time": _TIME,
            }
        ],
    },
    "reassignments": [
        {
            "topic": "orders",
            "partition": 0,
            "replica_brokers": [1, 2],
            "adding_brokers": [2],
            "removing_brokers": [1],
        }
    ],
    "versions": {
        "features": [{"feature": "metadata.version", "level": 27}],
        "by_broker": [{"broker": 1, "feature": "metadata.version", "min_level": 7, "max_level": 27}],
        "mixed": (),
    },
    "share_groups": [
        {
            "group": "jobs",
            "topic": "orders",
            "partition": 0,
            "end": 2000,
            "start_offset": 1600,
            "lag": 390,
            "finished": 10,
            "returned": 2,
            "most_deliveries": 3,
            "acknowledged": 1590,
            "archived": 1,
            "returns": 3,
        }
    ],
    "quotas": [{"user": "", "client_id": "billing-1", "ip": "", "key": "consumer_byte_rate", "value": 1_048_576.0}],
    "disks": [{"broker": 1, "bytes": 7_300_000, "left_replicas": 0}],
    "unknown": [],
}
_TOPIC: Final[TopicResponse] = {
    "time": _TIME,
    "topic": "orders",
    "partitions": 1,
    "replication_factor": 1,
    "under_replicated": 0,
    "leaderless": 0,
    "at_min_isr": 1,
    "under_min_isr": 0,
    "preferred_leaders_ratio": 1.0,
    "brokers_skewed_ratio": 0.0,
    "brokers_spread_ratio": 1.0,
    "leaders_skewed_ratio": 0.0,
    "under_replicated_ratio": 0.0,
    "bytes": 4_900_000,
    "configs": [_RETENTION],
    "by_partition": [
        {
            "partition": 0,
            "leader": 1,
            "leader_epoch": 4,
            "replicas": 1,
            "in_sync_replicas": 1,
            "under_replicated": False,
            "preferred_leader": True,
            "replica_brokers": [1],
            "in_sync_brokers": [1],
            "offline_brokers": [],
        }
    ],
    "followers": [],
}

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
        "since": "2026-01-01T08:55:20.000Z",
        "sentence": _SENTENCE,
        "evidence": dict(_FINDING.evidence),
        "next_step": _FINDING.next_step,
        "owner": {"team": "payments", "tier": None, "link": None},
        "maintenance_until": None,
        "silence_reason": None,
        "unpaged": False,
    },
}

EXAMPLES: Final[dict[tuple[str, int], Mapping[str, Any]]] = {
    ("/api/v1/events", 200): _EVENT,
    ("/api/v1/cluster", 200): _CLUSTER,
    ("/api/v1/topics/{topic}", 200): _TOPIC,
    ("/api/v1/groups", 200): json.loads(groups_json(PublishedSnapshot(_SNAPSHOT, EMPTY))),
    ("/api/v1/group", 200): _GROUP,
    ("/api/v1/groups/{name}", 200): _GROUP,
    ("/api/v1/topics/{topic}/groups", 200): json.loads(topic_groups_json(_SNAPSHOT, "orders")),
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
"""By path and status code."""
