"""Living traffic: real topics, real producers, and a group for every fate in `sandbox.demo.groups`.

`Workload` runs each actor in a thread of its own, all of it under a tenth of a core. Its `pause` is exact: when it
returns, committed offsets and the ends of partitions stand still, with every member alive and heartbeating, so that
two readers of the cluster can be compared number by number.

    python -m sandbox.demo.workload --bootstrap-servers 127.0.0.1:9092
"""

from __future__ import annotations

import argparse
import collections
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Final, Self

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from sandbox.clients.members import client_config
from sandbox.demo.behaviours import PERIOD, DemoProducer, TrafficWorker
from sandbox.demo.group_factory import build_group
from sandbox.demo.groups import DEMO_GROUPS, TOPICS, DemoGroup, DemoTopic
from sandbox.kafka.topics import create_topics
from sandbox.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIMIT: Final = 60.0
"""Seconds in which all actors must come to rest, or all stories come true."""
CONNECT_LIMIT: Final = 10.0
FAULTS_KEPT: Final = 50


class Workload:
    """The traffic on one cluster: `with Workload(bootstrap) as traffic: traffic.wait_until_settled(); ...`.

    `prefix` stands before all names, so that several may share a cluster; `fates` may be a part of the table; `more`
    are actors beside it. Topics that exist are used as they are. `faults` keeps the last things that went wrong: a
    broker that is restarted makes some, and every actor goes on as soon as it can.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        prefix: str = "",
        fates: Sequence[DemoGroup] = DEMO_GROUPS,
        more: Sequence[TrafficWorker] = (),
    ) -> None:
        self.bootstrap: Final = bootstrap
        self.prefix: Final = prefix
        self.fates: Final = tuple(fates)
        self.topics: Final[dict[str, DemoTopic]] = {prefix + topic.name: topic for topic in TOPICS}
        self.faults: Final[collections.deque[str]] = collections.deque(maxlen=FAULTS_KEPT)
        self._more = tuple(more)
        self._actors: list[TrafficWorker] = []
        self._threads: list[threading.Thread] = []
        self._turn = threading.Condition()
        self._running = True
        self._stopping = False
        self._resting: set[str] = set()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def groups(self) -> list[str]:
        """The ids of the groups, prefix included."""
        return [self.prefix + fate.name for fate in self.fates]

    def start(self) -> Self:
        """Make the topics and let everybody begin. Raises KafkaException when the cluster refuses."""
        there = AdminClient(client_config(self.bootstrap)).list_topics(timeout=CONNECT_LIMIT).topics
        missing = {name: topic.partitions for name, topic in self.topics.items() if name not in there}
        if missing:
            create_topics(self.bootstrap, missing)
        writer = DemoProducer(self.bootstrap, self.topics)
        if missing:
            writer.write_backlog()
        groups = [build_group(self.bootstrap, fate, self.prefix, self.topics) for fate in self.fates]
        self._actors = [writer, *groups, *self._more]
        self._threads = [threading.Thread(target=self._live, args=(actor,), daemon=True) for actor in self._actors]
        for thread in self._threads:
            thread.start()
        return self

    def wait_until_settled(self, limit: float = LIMIT) -> None:
        """Wait until every group's story has begun to show. Raises TimeoutError that names who is not there."""
        self._wait(lambda: [actor.name for actor in self._actors if not actor.settled], "to settle", limit)

    def pause(self, limit: float = LIMIT) -> None:
        """Stop producing, consuming and committing; when this returns, no offset on the cluster moves any more."""
        with self._turn:
            self._running = False
            self._turn.notify_all()
        self._wait(lambda: [actor.name for actor in self._actors if actor.name not in self._resting], "to rest", limit)
        self._wait_for_still_ends(limit)

    def resume(self) -> None:
        """Go on after a pause."""
        with self._turn:
            self._resting.clear()
            self._running = True
            self._turn.notify_all()

    def stop(self) -> None:
        """End all traffic: members leave their groups, offsets stay. An actor whose broker is away is left behind."""
        with self._turn:
            self._stopping = True
            self._turn.notify_all()
        deadline = time.monotonic() + 20
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._threads = []

    def ends(self) -> dict[tuple[str, int], int]:
        """Ask the cluster for the high watermark of every partition of the traffic, again while it has no leader."""
        return eventually(self._ends)

    def _ends(self) -> dict[tuple[str, int], int]:
        consumer = Consumer(
            {**client_config(self.bootstrap), "group.id": "workload-ends", "isolation.level": "read_uncommitted"}
        )
        try:
            return {
                (name, partition): consumer.get_watermark_offsets(TopicPartition(name, partition), timeout=10)[1]
                for name, topic in self.topics.items()
                for partition in range(topic.partitions)
            }
        finally:
            consumer.close()

    def _live(self, actor: TrafficWorker) -> None:
        """Take turns until the end: act while traffic flows, rest while it is paused."""
        while not self._stopping:
            with self._turn:
                acting = self._running
                if not acting:
                    self._resting.add(actor.name)
                    self._turn.notify_all()
            self._try(actor, actor.act if acting else actor.rest)
            self._wait_a_turn(acting=acting)
        self._try(actor, actor.close)

    def _wait_a_turn(self, *, acting: bool) -> None:
        """Wait for the next turn; a pause or the end cuts the wait short."""
        with self._turn:
            self._turn.wait_for(lambda: self._stopping or (acting and not self._running), PERIOD)

    def _try(self, actor: TrafficWorker, what: Callable[[], None]) -> None:
        try:
            what()
        except (KafkaException, RuntimeError, TimeoutError) as error:
            self.faults.append(f"{actor.name}: {error}")

    def _wait(self, absent: Callable[[], list[str]], what: str, limit: float) -> None:
        deadline = time.monotonic() + limit
        while names := absent():
            if time.monotonic() > deadline:
                raise TimeoutError(f"after {limit:.0f} s still waiting for {', '.join(names)} {what}: {self.faults}")
            time.sleep(0.05)

    def _wait_for_still_ends(self, limit: float) -> None:
        """Wait until the ends are the same twice: a transaction's markers are written after its commit was answered."""
        deadline = time.monotonic() + limit
        before = self.ends()
        while True:
            time.sleep(0.25)
            now = self.ends()
            if now == before:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"after {limit:.0f} s the ends of partitions still move")
            before = now


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the traffic until Ctrl-C, SIGTERM or the duration is over. Gives the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.demo.workload", description="living traffic for a test cluster"
    )
    parser.add_argument("--bootstrap-servers", required=True, metavar="HOST:PORT")
    parser.add_argument("--prefix", default="", help="stands before the names of all topics and groups")
    parser.add_argument("--duration", type=float, default=None, metavar="SECONDS", help="default: until Ctrl-C")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for fate in DEMO_GROUPS:
        print(f"{options.prefix + fate.name:20} {fate.kind:9} {fate.story}")
    try:
        with Workload(options.bootstrap_servers, prefix=options.prefix) as traffic:
            traffic.wait_until_settled()
            print("every group's story has begun; Ctrl-C ends it", flush=True)
            threading.Event().wait(options.duration)
    except KeyboardInterrupt:
        print("ended")
    except KafkaException as error:
        print(f"workload: {options.bootstrap_servers}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
