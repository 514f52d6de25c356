"""`lagwarden run` at the pace of the play, as a process of its own, and the recorder that samples what it says."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import json
import os
import sys
import threading
import time
import urllib.request
from typing import TYPE_CHECKING, Any, Final, Self

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined] # its stubs do not re-export

from sandbox.clients.members import REQUEST_TIMEOUT, client_config
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.record import GroupVerdict, RecordedEnds, VerdictSnapshot
from sandbox.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from concurrent.futures import Future
    from pathlib import Path

    from confluent_kafka.admin import ListOffsetsResultInfo  # type: ignore[attr-defined] # its stubs do not re-export

READY_LIMIT: Final = 180.0
STOP_LIMIT: Final = 45.0
LOOK_EVERY: Final = 0.2
LATEST: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call] # of confluent_kafka
ODD: Final = ("notice", "warning", "critical")


def settings() -> dict[str, str]:
    """Give the options of a monitor at the pace of the play."""
    return {
        "job.tick_interval": f"{pace.TICK:g}s",
        "job.trigger_interval": "1s",
        "job.commit_window_slot_seconds": f"{pace.SLOT:g}",
        "job.driver_memory": "512m",
        "http.host": LOOPBACK,
        **{f"health.{name}": f"{seconds:g}s" for name, seconds in pace.limits().items()},
    }


class MonitorProcess:
    """One `lagwarden run` over a checkpoint of its own. After `stop`, `start` runs it again."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.bootstrap: Final = bootstrap
        self.log: Final = folder / "lagwarden.log"
        self._checkpoint = folder / "checkpoint"
        self._port = free_port()
        self._process: GuardedProcess | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate(STOP_LIMIT)

    def start(self) -> None:
        """Start the process; returns at once."""
        options = [word for key, value in settings().items() for word in ("--set", f"{key}={value}")]
        self._process = GuardedProcess(
            [
                *(sys.executable, "-m", "stream.cli", "run", "--bootstrap-servers", self.bootstrap),
                *("--http-port", str(self._port), "--checkpoint-dir", str(self._checkpoint), "--log-format", "json"),
                *options,
            ],
            self.log,
            env={"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        )

    def stop(self) -> None:
        """Stop it as a supervisor does."""
        if self._process is not None:
            self._process.terminate(STOP_LIMIT)

    def wait_ready(self) -> None:
        """Wait until its numbers can be relied on. Raises RuntimeError with its log when it ends."""

        def ready() -> bool:
            if self._process is None or not self._process.running:
                raise RuntimeError(f"lagwarden ended:\n{self.log.read_text(errors='replace')[-4_000:]}")
            return self.ask("/readyz") is not None

        wait_until(ready, "lagwarden to be ready", limit=READY_LIMIT)

    def ask(self, path: str) -> Any:
        """Give what it answers as JSON; None while it does not, or with an error."""
        try:
            with urllib.request.urlopen(f"http://{LOOPBACK}:{self._port}{path}", timeout=5) as answer:
                return json.loads(answer.read())
        except (OSError, ValueError):
            return None


class SnapshotRecorder:
    """Samples the monitor at every snapshot, and the ends of topics at every tick, in two threads."""

    def __init__(self, watcher: MonitorProcess, places: Collection[Collection[tuple[str, int]]]) -> None:
        """Sample the ends of these partitions; each collection is asked for apart, so that a dead leader hides few."""
        self.snapshots: Final[list[VerdictSnapshot]] = []
        self.details: Final[dict[str, list[dict[str, Any]]]] = {}
        self.ends: Final[list[RecordedEnds]] = []
        self._watcher = watcher
        self._places = places
        self._admin = AdminClient(client_config(watcher.bootstrap))
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._listen, self._measure)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(2 * REQUEST_TIMEOUT)

    def _listen(self) -> None:
        last: dict[str, GroupVerdict] = {}
        while not self._ended.wait(LOOK_EVERY):
            said = self._watcher.ask("/api/v1/groups")
            if said is None or said.get("snapshot_time") is None:
                continue
            taken_at = dt.datetime.fromisoformat(said["snapshot_time"]).timestamp()
            if self.snapshots and taken_at <= self.snapshots[-1].taken_at:
                continue
            groups = {each["group"]: _said(each) for each in said["groups"] if each.get("verdict")}
            self.snapshots.append(VerdictSnapshot(taken_at, groups))
            for group, now in groups.items():
                if now.severity in ODD and (group not in last or last[group].verdict != now.verdict):
                    self._look_closer(group)
            last = groups

    def _look_closer(self, group: str) -> None:
        detail = self._watcher.ask(f"/api/v1/groups/{group}")
        if detail is not None:
            kept = ("snapshot_time", "verdict", "state", "finding", "by_partition", "held_back")
            self.details.setdefault(group, []).append({name: detail.get(name) for name in kept})

    def _measure(self) -> None:
        while not self._ended.wait(pace.TICK):
            asked = [self._ask_ends(places) for places in self._places]
            offsets = []
            for place, answer in itertools.chain.from_iterable(each.items() for each in asked):
                # A topic that was deleted, a broker that is away.
                with contextlib.suppress(KafkaException, TimeoutError):
                    offset = int(answer.result(2 * pace.TICK).offset)
                    if offset >= 0:
                        offsets.append((place.topic, place.partition, offset))
            self.ends.append(RecordedEnds(time.time(), offsets))

    def _ask_ends(self, places: Iterable[tuple[str, int]]) -> dict[TopicPartition, Future[ListOffsetsResultInfo]]:
        found: dict[TopicPartition, Future[ListOffsetsResultInfo]] = self._admin.list_offsets(
            dict.fromkeys((TopicPartition(*place) for place in places), LATEST),
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=pace.TICK,
        )
        return found


def _said(row: dict[str, Any]) -> GroupVerdict:
    return GroupVerdict(row["verdict"], row["severity"], row.get("sentence"))
