"""Records what each client writes into the offsets topic: `python -m sandbox.recorded_clients.record [NAME ...]`.

Each client consumes alone, rests, gets a second member, is killed, comes back and is stopped: the phases. A capture per
client in `tests/captures/clients` has the records of its group, and `phases.json` the times at which its phases ended.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Producer, TopicPartition

from decoders.scalar import decode
from decoders.schema import Record
from sandbox.clients.members import Member, client_config, commit_first
from sandbox.kafka.broker import Broker, create_topics
from sandbox.kafka.jars import BROKER
from sandbox.process import GuardedProcess
from sandbox.recorded_clients.clients import CLIENTS, Client, command
from sandbox.waiting import eventually, wait_until
from stream.cluster.transport.client import Cluster
from stream.offline.capture import CaptureWriter
from stream.offline.live import LiveTopics
from stream.offline.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.offline.rows import LogRow

CAPTURES: Final = Path(__file__).resolve().parents[2] / "tests" / "captures" / "clients"
PHASES: Final = "phases.json"
READER: Final = "-reader"
"""The end of the name of the group whose offsets MirrorMaker copies, and of the prefix that Spark is given."""
OFFSETS_TOPIC: Final = "__consumer_offsets"
PARTITIONS: Final = 4
"""Partitions of a client's topic; only the first two have records."""
AT_ONCE: Final = 3
"""Clients that run at the same time."""
REST: Final = 12.0
"""Seconds in which a client has nothing to read."""
SHORT: Final = 3.0
LIMIT: Final = 90.0
_KINDS: Final = ("consumer", "share", "streams")
PROPERTIES: Final = {
    "group.initial.rebalance.delay.ms": "0",
    **{f"group.{kind}.{name}": "6000" for kind in _KINDS for name in ("session.timeout.ms", "min.session.timeout.ms")},
    **{
        f"group.{kind}.{name}": "1000"
        for kind in _KINDS
        for name in ("heartbeat.interval.ms", "min.heartbeat.interval.ms")
    },
}
"""Sessions of six seconds for the clients whose sessions the broker sets, as the others set theirs."""


class Session:
    """One client on a broker: its two members by number, and the phases that have ended."""

    def __init__(self, client: Client, bootstrap: str, folder: Path) -> None:
        self.phases: dict[str, int] = {}
        self._client = client
        self._bootstrap = self._source = bootstrap
        self._folder = folder
        self._members: dict[int, GuardedProcess] = {}
        self._written = 0
        # A client that joins no group is one process: its second is its first.
        self._last = int(client.members)

    def run(self) -> None:
        """Run all phases. Raises TimeoutError with the log of the clients."""
        mirrors = "MirrorMaker" in self._client.variant
        try:
            with Broker() if mirrors else contextlib.nullcontext() as source:
                self._source = source.bootstrap if source else self._bootstrap
                create_topics(self._source, {self._client.name: PARTITIONS})
                self._phases()
        except TimeoutError as error:
            logs = [path.read_text(errors="replace")[-500:] for path in self._folder.glob(f"{self._client.name}-?.log")]
            raise TimeoutError("\n".join([f"{self._client.name}: {error}", *logs])) from error
        finally:
            for member in self._members.values():
                member.kill()

    def _phases(self) -> None:
        self._produce(10)
        self._start(0)
        self._wait_for_members(1)
        self._end("alone", SHORT)
        self._end("at rest", REST if self._client.members else 2 * REST)
        self._start(self._last)
        self._wait_for_members(2)
        self._produce(5)
        self._wait_for_members(2)
        self._end("two members", SHORT)
        self._members[0].kill()
        self._wait_for_members(1)
        self._end("killed", SHORT)
        self._start(0)
        self._wait_for_members(2)
        self._produce(5)
        self._wait_for_members(2)
        self._end("back", SHORT)
        self._members[0].terminate(LIMIT)
        self._end("stopped one", SHORT)
        self._members[self._last].terminate(LIMIT)
        self._end("stopped both", SHORT)
        self._wait_for_members(0)
        self._end("session over", 0)

    def _start(self, number: int) -> None:
        if number in self._members and self._members[number].running:
            return
        words = command(self._client, self._bootstrap, number, self._folder, self._source)
        self._members[number] = GuardedProcess(words, self._folder / f"{self._client.name}-{number}.log")

    def _produce(self, count: int) -> None:
        producer = Producer(client_config(self._source))
        for number in range(2 * count):
            producer.produce(self._client.name, f"record {number}", partition=number % 2)
        producer.flush(10)
        self._written += count
        if self._source != self._bootstrap:
            read = [TopicPartition(self._client.name, number, self._written) for number in range(2)]
            with Member(self._source, f"{self._client.name}{READER}", "simple") as reader:
                eventually(lambda: reader.commit(read))

    def _end(self, phase: str, seconds: float) -> None:
        time.sleep(seconds)
        self.phases[phase] = int(time.time() * 1000)

    def _wait_for_members(self, count: int) -> None:
        what = f"{count} members of {self._client.name}"
        wait_until(lambda: self._has_members(count), what, limit=LIMIT, pause=0.5)

    def _has_members(self, count: int) -> bool:
        if not self._client.members:
            printed = (self._folder / f"{self._client.name}-0.log").read_text(errors="replace")
            return count == 0 or printed.count("record ") >= 2 * self._written
        replay = Replay()
        replay.read(rows_of(self._bootstrap, self._client.name))
        group = replay.driver_state.columns().memberships.get(self._client.name)
        if group is None or group.members != count:
            return group is None and count == 0
        return count == 0 or group.state == "Stable"


def rows_of(bootstrap: str, group: str) -> list[LogRow]:
    """Return the committed rows of the offsets topic whose key has this group, or a group of its readers."""
    with Cluster([bootstrap]) as cluster:
        rows = list(LiveTopics(cluster, [OFFSETS_TOPIC]).rows())
    return [row for row in rows if (found := _group(row)) == group or found.startswith(f"{group}{READER}")]


def _group(row: LogRow) -> str:
    record = decode(row.key, row.value, frozenset({"group", "group_id"}))
    return str(record.key.get("group", record.key.get("group_id", ""))) if isinstance(record, Record) else ""


def record(clients: Sequence[Client], folder: Path, version: str = BROKER) -> None:
    """Run the clients on one broker of a release, and write their captures and phases."""
    with Broker(version=version, properties=PROPERTIES) as broker:
        commit_first(broker.bootstrap)
        clients = [client for client in clients if _is_installed(client, broker)]
        sessions = [Session(client, broker.bootstrap, broker.folder) for client in clients]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = [pool.submit(session.run) for session in sessions]
            failed = [error for each in done if (error := each.exception())]
        folder.mkdir(parents=True, exist_ok=True)
        for client, session, ended in zip(clients, sessions, done, strict=True):
            if ended.exception() is None:
                _write(client, session, broker.bootstrap, folder)
        for error in failed:
            print(error, file=sys.stderr)


def _is_installed(client: Client, broker: Broker) -> bool:
    """Install a client, and return whether that went well; otherwise say so, and the others run without it."""
    try:
        command(client, broker.bootstrap, 0, broker.folder)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print(f"{client.name} is left out: {error}", file=sys.stderr)
        return False
    return True


def _write(client: Client, session: Session, bootstrap: str, folder: Path) -> None:
    path = folder / f"{client.name}.avro"
    path.unlink(missing_ok=True)
    rows = rows_of(bootstrap, client.name)
    with Cluster([bootstrap]) as cluster, CaptureWriter(path, LiveTopics(cluster, [OFFSETS_TOPIC]).origin) as capture:
        for row in rows:
            capture.write(row)
    ends = folder / PHASES
    phases: dict[str, Any] = json.loads(ends.read_text()) if ends.exists() else {}
    phases[client.name] = {"version": client.version, "ended": session.phases}
    ends.write_text(json.dumps(phases, indent=1, sort_keys=True) + "\n")
    print(f"{path.name}: {len(rows)} records", flush=True)


def main(names: Sequence[str]) -> int:
    """Record the named clients, or all. Returns the exit code."""
    record([client for client in CLIENTS if not names or client.name in names], CAPTURES)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
