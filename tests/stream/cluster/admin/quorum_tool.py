"""Runs `kafka-metadata-quorum describe --replication`, and returns its rows in the types of `read_quorum`."""

from __future__ import annotations

import base64
from typing import NamedTuple
from uuid import UUID

from sandbox.kafka.tools import run_tool

QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
_HEADER = ("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status")


class DescribedReplica(NamedTuple):
    """A node as the tool describes it; `directory` is None without an id, times are Unix milliseconds."""

    directory: UUID | None
    log_end_offset: int
    lag: int
    last_fetch_time: int
    last_caught_up_time: int
    # Leader, Follower (a voter that is not the leader) or Observer.
    status: str


def replication(bootstrap: str) -> dict[int, DescribedReplica]:
    """Return the nodes that the tool describes, by id."""
    lines = run_tool(QUORUM, "--bootstrap-server", bootstrap, "describe", "--replication").splitlines()
    header = next(at for at, line in enumerate(lines) if line.startswith(_HEADER[0]))
    assert tuple(lines[header].split()) == _HEADER
    rows = [line.split() for line in lines[header + 1 :] if line.strip()]
    return {int(row[0]): _replica(row) for row in rows}


def _replica(row: list[str]) -> DescribedReplica:
    _, directory, end, lag, fetched, caught_up, status = row
    return DescribedReplica(_directory(directory), int(end), int(lag), int(fetched), int(caught_up), status)


def _directory(text: str) -> UUID | None:
    """Return the id that Kafka prints as URL-safe base64 without padding; None for the id of no directory."""
    found = UUID(bytes=base64.urlsafe_b64decode(f"{text}=="))
    return found if found.int else None
