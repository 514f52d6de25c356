"""`lagwarden run` as a process with the shortened limits of a run, and the recorder that samples its API."""

import contextlib
import datetime as dt
import http
import itertools
import json
import threading
import time
from collections.abc import Collection, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, Self

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec

from sandbox.clients.members import REQUEST_TIMEOUT, client_config
from sandbox.lagwarden import LagwardenProcess
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.pace import RunPace
from sandbox.verdict_scenarios.record import GroupVerdict, RecordedEnds, VerdictSnapshot

READY_LIMIT: Final = 180.0
"""Seconds of the wall clock at any pace."""
POLL: Final = 0.2
"""Seconds of the run between two requests for the snapshot."""
_LATEST: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call] # of confluent_kafka
_EARLIEST: Final = OffsetSpec.earliest()  # type: ignore[no-untyped-call] # of confluent_kafka
_ENDS: Final = (
    (_LATEST, IsolationLevel.READ_UNCOMMITTED),
    (_LATEST, IsolationLevel.READ_COMMITTED),
    (_EARLIEST, IsolationLevel.READ_UNCOMMITTED),
)
"""High watermark, last stable offset and log start offset, as requests."""
DETAILED_SEVERITIES: Final = ("notice", "warning", "critical")


def settings(chosen: RunPace) -> dict[str, str]:
    """Return the options of the monitor: the intervals and limits of the run in seconds of the wall clock."""
    return {
        "job.tick_interval": f"{chosen.wall(pace.TICK):g}s",
        "job.trigger_interval": f"{chosen.wall(pace.TRIGGER):g}s",
        "job.commit_window_slot_seconds": f"{chosen.wall(pace.SLOT):g}",
        "job.driver_memory": "512m",
        "groups.mirrored": "mirrored(-[0-9]+)?",
        **{f"health.{name}": f"{chosen.wall(seconds):g}s" for name, seconds in pace.limits().items()},
    }


class MonitorProcess(LagwardenProcess):
    """The `lagwarden run` of a run of scenarios."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        super().__init__(bootstrap, folder / "checkpoint", folder / "lagwarden.log", settings(pace.CHOSEN))

    def answer(self, path: str) -> Any:
        """Return the JSON of a path; None when the monitor does not answer or answers with an error."""
        status, body = self.get(path)
        return json.loads(body) if status == http.HTTPStatus.OK else None


class SnapshotRecorder:
    """Samples every snapshot of the monitor, and start and end offsets of topics at every tick, in two threads."""

    def __init__(self, monitor: MonitorProcess, places: Collection[Collection[tuple[str, int]]]) -> None:
        """Sample the offsets of these partitions, one request per collection: a dead leader fails only its own."""
        self.snapshots: Final[list[VerdictSnapshot]] = []
        self.details: Final[dict[str, list[dict[str, Any]]]] = {}
        self.ends: Final[list[RecordedEnds]] = []
        self._monitor = monitor
        self._places = places
        self._admin = AdminClient(client_config(monitor.bootstrap))
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=run, daemon=True) for run in (self._record_snapshots, self._record_ends)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(2 * REQUEST_TIMEOUT)

    def _record_snapshots(self) -> None:
        last: dict[str, GroupVerdict] = {}
        while not self._ended.wait(pace.CHOSEN.wall(POLL)):
            answer = self._monitor.answer("/api/v1/groups")
            if answer is None or answer.get("snapshot_time") is None:
                continue
            taken_at = dt.datetime.fromisoformat(answer["snapshot_time"]).timestamp()
            if self.snapshots and taken_at <= self.snapshots[-1].taken_at:
                continue
            groups = {each["group"]: _verdict(each) for each in answer["groups"] if each.get("verdict")}
            self.snapshots.append(VerdictSnapshot(taken_at, groups))
            for group, now in groups.items():
                if now.severity in DETAILED_SEVERITIES and (group not in last or last[group].verdict != now.verdict):
                    self._record_detail(group)
            last = groups

    def _record_detail(self, group: str) -> None:
        detail = self._monitor.answer(f"/api/v1/groups/{group}")
        if detail is not None:
            kept = ("snapshot_time", "verdict", "state", "finding", "by_partition", "held_back")
            self.details.setdefault(group, []).append({name: detail.get(name) for name in kept})

    def _record_ends(self) -> None:
        while not self._ended.wait(pace.CHOSEN.wall(pace.TICK)):
            requested = [[self._request(places, *kind) for places in self._places] for kind in _ENDS]
            offsets, stable, starts = (_known(itertools.chain.from_iterable(each)) for each in requested)
            self.ends.append(RecordedEnds(time.time(), offsets, stable, starts))

    def _request(
        self, places: Iterable[tuple[str, int]], which: OffsetSpec, isolation: IsolationLevel
    ) -> Iterable[tuple[TopicPartition, Future[ListOffsetsResultInfo]]]:
        found: dict[TopicPartition, Future[ListOffsetsResultInfo]] = self._admin.list_offsets(
            dict.fromkeys((TopicPartition(*place) for place in places), which),
            isolation_level=isolation,
            request_timeout=pace.CHOSEN.wall(pace.TICK),
        )
        return found.items()


def _known(answers: Iterable[tuple[TopicPartition, Future[ListOffsetsResultInfo]]]) -> list[tuple[str, int, int]]:
    """Return the offsets that the cluster knows; waits for the answers."""
    offsets = []
    for place, answer in answers:
        # The topic was deleted, or the broker is down.
        with contextlib.suppress(KafkaException, TimeoutError):
            offset = int(answer.result(pace.CHOSEN.wall(2 * pace.TICK)).offset)
            if offset >= 0:
                offsets.append((place.topic, place.partition, offset))
    return offsets


def _verdict(row: dict[str, Any]) -> GroupVerdict:
    return GroupVerdict(row["verdict"], row["severity"], row.get("sentence"))
