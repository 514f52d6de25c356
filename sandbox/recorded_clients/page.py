"""Writes `docs/clients.md` from the captures: `python -m sandbox.recorded_clients.page > docs/clients.md`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from sandbox.kafka.jars import BROKER
from sandbox.recorded_clients.clients import CLIENTS
from sandbox.recorded_clients.observed import ClientCapture
from sandbox.recorded_clients.record import CAPTURES

if TYPE_CHECKING:
    from pathlib import Path

HEAD: Final = f"""\
# Clients

What the consumers of real libraries write into `__consumer_offsets` of a Kafka {BROKER} broker, from the
records that they wrote. The captures are in `tests/captures/clients`; a test decodes them, and compares this
page with them. `python -m sandbox.recorded_clients.record` records them again, and `python -m
sandbox.recorded_clients.page` writes this page.

Each client has its own defaults, except for a session of six seconds, a start at the beginning of the log, and a commit
each second where it would be each minute (Kafka Connect) or only with checkpoints (Flink).
Its topic has four partitions, of which two never get a record. It reads alone, rests for twelve seconds, gets a
second member, is killed, comes back, and both members are stopped with SIGTERM. Flink and Spark have no members: one
process rests for twice as long, is killed, comes back and is stopped.

## What a client writes

*Record types*: those of its group, with the versions of their values. *Epoch*: whether commits have a leader
epoch. All commits have the topic id, which the broker adds.

| Client | Version | Record types | Protocol type and assignor | Subscription | Metadata of a commit | Epoch |
|---|---|---|---|---|---|---|
"""
BEHAVIOUR: Final = """
## When it writes

*At rest*: how often a partition is committed while nothing can be read. *Empty partitions*: whether partitions
without any record are committed. *A kill*: generations or epochs that follow it. *Clean stops*: state and
members of the group three seconds after the first member has stopped, three seconds after the second one has,
and when the last member is gone.

| Client | At rest | Empty partitions | A kill | Clean stops |
|---|---|---|---|---|
"""
END: Final = """
MirrorMaker 2 assigns the partitions of its source to itself and commits nothing there. Its workers are the group
`SOURCE-mm2` of the target, and also `TARGET-mm2` of the source, for heartbeats, where no direction but the one is
enabled. With `sync.group.offsets.enabled` it commits at the target for groups of the source, as a group without
members ([mirrored groups](health.md#mirrored-groups)); until its next flush, a minute by default, such a group stands
at offset 1 although everything has been read at the source.

Flink's Kafka source commits without a membership when a checkpoint is complete, but only after its poll has ended: with
the next records, or after ten seconds, when the commits of all checkpoints since then come at once. Its lag is that
much too high where records are rare, and the last commit is not sent when the job stops, not even with a savepoint
([finding](../findings/flink-commits-wait-for-the-next-record.sh)).

Confluent's client for JavaScript downloads its binary when it is installed. Where that fails, it is built with
`CKJS_LINKING=dynamic`, for which zlib, OpenSSL, zstd and curl need their packages for development.

Spark's Kafka source assigns partitions to itself and keeps its offsets in its checkpoint. It writes no record of any
group, so that no monitor of this topic can show it; the same is true of readers without a group id.
"""


def page() -> str:
    """Return the text of the page."""
    written, behaviour = tables()
    return HEAD + written + BEHAVIOUR + behaviour + END


def tables(folder: Path = CAPTURES) -> tuple[str, str]:
    """Return the rows of both tables from the captures of a folder; clients without one are left out."""
    names = {path.stem for path in folder.glob("*.avro")}
    found = [(client, ClientCapture.read(client.name, folder)) for client in CLIENTS if client.name in names]
    written = "".join(
        f"| {client.title} | {client.version} | {each.versions} | {each.assignor} | {each.subscription} |"
        f" {each.metadata} | {each.epochs} |\n"
        for client, each in found
    )
    behaviour = "".join(
        f"| {client.title} | {each.rest} | {each.empty_partitions} | {each.killed} | {each.stopped} |\n"
        for client, each in found
    )
    return written, behaviour


if __name__ == "__main__":
    sys.stdout.write(page())
