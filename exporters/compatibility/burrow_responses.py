"""The JSON of Burrow's read API (`/v3/kafka/…`), by the structs of linkedin/Burrow.

Responses are those of core/internal/httpserver/structs.go, statuses those of core/protocol/evaluator.go, and how both
are filled is that of core/internal/evaluator/caching.go and core/internal/storage/inmemory.go. An unknown lag is null,
where Burrow has 0. No HTTP here.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exporters.compatibility.snapshot_tables import BURROW_CODES
from exporters.group_search import rows_where
from exporters.readmodel import Snapshot

Json = dict[str, Any]
BodyAndStatus = tuple[bytes, int]

SLOTS: Final = 10
"""Burrow's default `intervals`: the length of the window of a partition."""
OK, _ERR = BURROW_CODES.index("OK"), BURROW_CODES.index("ERR")
_NO_PROFILE: Final = {"name": "", "client-id": "", "kafka-version": "", "tls": None, "sasl": None}


@dataclasses.dataclass(frozen=True, slots=True)
class BurrowCluster:
    """The cluster as Burrow's configuration would have it. `refresh` is the seconds between two reads of offsets."""

    name: str
    servers: tuple[str, ...]
    refresh: int


@dataclasses.dataclass(frozen=True, slots=True)
class BurrowRequest:
    """A request: its path and the host that answers, both of which a response repeats, and the names in the path."""

    path: str
    host: str
    own: BurrowCluster
    names: Mapping[str, str]

    def response(self, message: str, content: Mapping[str, Any], code: int = 200) -> BodyAndStatus:
        """Return a response with this content."""
        request = {"url": self.path, "host": self.host}
        response = {"error": False, "message": message, **content, "request": request}
        return json.dumps(response, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(), code

    def error(self, message: str, code: int = 404) -> BodyAndStatus:
        """Return an error."""
        return self.response(message, {"error": True}, code)


UNKNOWN_PATH: Final = b'{"error":true,"message":"invalid request type","result":{}}\n'
"""The body of 404 for every other path."""


def cluster_list(request: BurrowRequest, _: Snapshot | None) -> BodyAndStatus:
    """Return the clusters: one."""
    return request.response("cluster list returned", {"clusters": [request.own.name]})


def cluster_detail(request: BurrowRequest, _: Snapshot | None) -> BodyAndStatus:
    """Return the configuration of the cluster module; lagwarden has no client profiles."""
    own = request.own
    if request.names["cluster"] != own.name:
        return request.error("cluster module not found")
    module = {
        "class-name": "kafka",
        "servers": list(own.servers),
        "client-profile": _NO_PROFILE,
        "topic-refresh": own.refresh,
        "offset-refresh": own.refresh,
    }
    return request.response("cluster module detail returned", {"module": module})


def topic_list(request: BurrowRequest, snapshot: Snapshot) -> BodyAndStatus:
    """Return the topics whose end offsets are known: those that a group reads."""
    ends = _with_end(snapshot)
    return request.response("topic list returned", {"topics": sorted(_names(ends.column("topic")))})


def topic_detail(request: BurrowRequest, snapshot: Snapshot) -> BodyAndStatus:
    """Return the end offsets of the partitions of a topic, by partition. Unknown ones are left out, as in Burrow."""
    rows = rows_where(_with_end(snapshot), topic=request.names["topic"]).sort_by("partition")
    if not len(rows):
        return request.error("cluster or topic not found")
    return request.response("topic offsets returned", {"offsets": rows.column("high_watermark").to_pylist()})


def topic_consumers(request: BurrowRequest, snapshot: Snapshot) -> BodyAndStatus:
    """Return the groups with a commit in a topic; none for an unknown topic, as in Burrow."""
    found = _names(rows_where(_committed(snapshot), topic=request.names["topic"]).column("group"))
    return request.response("consumers of topic returned", {"consumers": sorted(found)})


def consumer_list(request: BurrowRequest, snapshot: Snapshot) -> BodyAndStatus:
    """Return the groups with a commit."""
    return request.response("consumer list returned", {"consumers": sorted(_names(_committed(snapshot)["group"]))})


def consumer_detail(request: BurrowRequest, snapshot: Snapshot) -> BodyAndStatus:
    """Return the windows of all partitions of a group."""
    topics = _topics_of(snapshot, request.names["group"])
    if topics is None:
        return request.error("cluster or consumer not found")
    keys = {"offsets": "offsets", "owner": "owner", "client_id": "client_id", "current-lag": "current_lag"}
    shown = {
        topic: [{key: row[column] for key, column in keys.items()} for row in rows] for topic, rows in topics.items()
    }
    return request.response("consumer detail returned", {"topics": shown})


def consumer_status(request: BurrowRequest, snapshot: Snapshot, at_least: int = 0) -> BodyAndStatus:
    """Return the status of a group with the partitions whose code is at least this one; 404 if it is not known."""
    topics = _topics_of(snapshot, request.names["group"])
    if topics is None:
        return unknown_group(request)
    partitions = [_partition_status(topic, at, row) for topic, rows in topics.items() for at, row in enumerate(rows)]
    complete = sum(each["complete"] == 1 for each in partitions)
    codes = [BURROW_CODES.index(each["status"]) for each in partitions]
    known = [each["current_lag"] for each in partitions if each["current_lag"] is not None]
    status = {
        **request.names,
        "status": BURROW_CODES[min(max(codes), _ERR)],
        "complete": _number(complete / len(partitions)),
        "partitions": [each for each, code in zip(partitions, codes, strict=True) if code >= at_least],
        "partition_count": len(partitions),
        "maxlag": max(partitions, key=lambda each: -1 if each["current_lag"] is None else each["current_lag"]),
        "totallag": sum(known) if known else None,
    }
    return request.response("consumer status returned", {"status": status})


def unknown_group(request: BurrowRequest) -> BodyAndStatus:
    """Return the status of a group that is not known, or is of a cluster that is not known."""
    status: Json = {
        **request.names,
        "status": BURROW_CODES[0],
        "complete": 1,
        "partitions": [],
        "partition_count": 0,
        "maxlag": None,
        "totallag": 0,
    }
    return request.response("consumer status returned", {"status": status}, 404)


def _partition_status(topic: str, partition: int, row: Mapping[str, Any]) -> Json:
    filled = [slot for slot in row["offsets"] if slot is not None]
    return {
        "topic": topic,
        "partition": partition,
        "owner": row["owner"],
        "client_id": row["client_id"],
        "status": row["status"],
        "start": filled[0] if filled else None,
        "end": filled[-1] if filled else None,
        "current_lag": row["current_lag"],
        "complete": _number(len(filled) / SLOTS),
    }


def _topics_of(snapshot: Snapshot, group: str) -> dict[str, list[Json]] | None:
    """Return all partitions of a group's topics, by topic; None for a group without a commit.

    Burrow numbers partitions by their place in the list, so those without a commit and an owner stand there empty. If
    the number of a topic's partitions is not known, the list ends with the last one that has either.
    """
    mask = pc.equal(snapshot.partitions.column("group"), pa.scalar(group))
    rows = snapshot.partitions.filter(mask).to_pylist() if len(snapshot.compatibility) else []
    if all(row["committed_offset"] is None for row in rows):
        return None
    more = snapshot.compatibility.filter(mask).to_pylist()
    by_topic: dict[str, dict[int, Json]] = {}
    lengths: dict[str, int] = {}
    for row, extra in zip(rows, more, strict=True):
        topic, partition = row["topic"], row["partition"]
        by_topic.setdefault(topic, {})[partition] = _partition(row, extra)
        lengths[topic] = max(lengths.get(topic, 0), partition + 1, extra["topic_partitions"] or 0)
    empty = _partition({}, {})
    return {topic: [by_topic[topic].get(at, empty) for at in range(lengths[topic])] for topic in sorted(by_topic)}


def _partition(row: Mapping[str, Any], extra: Mapping[str, Any]) -> Json:
    window = extra.get("burrow_window") or []
    committed, end = row.get("committed_offset"), row.get("high_watermark")
    unknown = committed is not None and (end is None or committed < 0)
    lag = None if unknown else 0 if committed is None else max(end - committed, 0)
    # Burrow creates a window with the first commit or owner.
    has_window = bool(window) or extra.get("owner") is not None
    return {
        "offsets": [*[None] * (SLOTS - len(window)), *map(_slot, window)] if has_window else [],
        "owner": extra.get("client_host") or "",
        "client_id": extra.get("client_id") or "",
        "status": extra.get("burrow_status") or BURROW_CODES[OK],
        "current_lag": lag,
    }


def _slot(commit: Mapping[str, int | None]) -> Json:
    # When Burrow itself read the commit is no fact of this monitor: the time of the commit stands for it.
    time = commit["timestamp"]
    return {"offset": commit["offset"], "timestamp": time, "observedAt": time, "lag": commit["lag"]}


def _with_end(snapshot: Snapshot) -> pa.Table:
    return snapshot.log_ends.filter(snapshot.log_ends.column("high_watermark").is_valid())


def _committed(snapshot: Snapshot) -> pa.Table:
    return snapshot.partitions.filter(snapshot.partitions.column("committed_offset").is_valid())


def _names(column: pa.ChunkedArray) -> Sequence[str]:
    found: list[str] = pc.unique(column.cast(pa.string())).to_pylist()
    return found


def _number(ratio: float) -> float | int:
    """Return a ratio as Go writes a float32: whole numbers without a fraction, others with their shortest digits."""
    return int(ratio) if ratio.is_integer() else float(str(np.float32(ratio)))
