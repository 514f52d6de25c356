"""Runs many histories at once on one broker, in rounds: every group does its next step, then all are compared.

Rounds save time: Kafka's tools are called once for all groups, every observer once per round, and expiration is waited
for once, at the end, when `offsets.retention.minutes` passes for all groups at the same time.
"""

from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Self

from sandbox.kafka.broker import Broker
from sandbox.scenarios.comparison import ObservedGroup
from sandbox.scenarios.official import read_groups
from sandbox.scenarios.progress import OFFSETS_PARTITIONS, HistoryProgress
from sandbox.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from sandbox.clients.java_clients import JavaClients
    from sandbox.scenarios.comparison import GroupComparison, Observer
    from sandbox.scenarios.history import GroupHistory

PROPERTIES: Final = {
    # The minimum. Nothing expires before the broker checks for it, and it does not check during the rounds: a check
    # would also remove groups between their first record and their first member.
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "3600000",
    # The sessions of members that vanish must end during the run.
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    # Groups of the newer protocols change only at heartbeats.
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.share.min.heartbeat.interval.ms": "300",
    "group.share.heartbeat.interval.ms": "300",
    "group.streams.min.heartbeat.interval.ms": "300",
    "group.streams.heartbeat.interval.ms": "300",
    "group.streams.initial.rebalance.delay.ms": "0",
}
"""Kafka's properties of a broker for histories."""
EXPIRING: Final = {"offsets.retention.check.interval.ms": "2000"}
"""The properties that change at the end: the broker checks for expired offsets."""
SETTLE_LIMIT: Final = 40.0
AGREE_LIMIT: Final = 25.0
"""Seconds in which an observer must agree with the tools."""
REFRESH_SECONDS: Final = 8.0
"""Seconds between commits that keep offsets from expiring while observers are waited for."""
UNRESOLVABLE_LIMIT: Final = 5.0
"""Like AGREE_LIMIT, for an observer that shows an unexpected transition: meanwhile the offsets of others age."""
END_LIMIT: Final = 150.0
PARALLEL: Final = 8


class HistoryBroker(Broker):
    """A broker with the properties that histories need."""

    def __init__(self) -> None:
        super().__init__(properties=PROPERTIES, offsets_partitions=OFFSETS_PARTITIONS)

    def expire(self) -> None:
        """Check for expired offsets from now on. This takes a restart, which members and offsets survive."""
        self.stop()
        self.properties |= EXPIRING
        self.start()


class HistoryRunner:
    """Runs all histories on one `HistoryBroker`.

    `before_round` is called with the number of each round (from 0) before its actions, `after_comparison` with the
    comparisons of each round; `expire` is called after the rounds and must make the broker check for expired offsets.
    Leaving the `with` closes all clients, which writes records that no comparison covers.
    """

    def __init__(
        self,
        java_clients: JavaClients,
        histories: Sequence[GroupHistory],
        observers: Sequence[Observer] = (),
        *,
        expire: Callable[[], None],
        before_round: Callable[[int], None] = lambda _: None,
        after_comparison: Callable[[list[GroupComparison]], None] = lambda _: None,
    ) -> None:
        self.java_clients: Final = java_clients
        self.observers: Final = tuple(observers)
        self.comparisons: Final[list[GroupComparison]] = []
        self._expire = expire
        self._before_round = before_round
        self._after_comparison = after_comparison
        self._running = [HistoryProgress(java_clients, history) for history in histories]
        self._wrong: set[str] = set()
        self._pool = ThreadPoolExecutor(PARALLEL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for progress in self._running:
            progress.failure = None  # failed histories have clients too
        self._all(lambda progress: progress.group.close())
        self._pool.shutdown()

    def run(self, report: Callable[[str], None] = lambda _: None) -> list[GroupComparison]:
        """Run all rounds, then wait for expiration; returns a comparison per group and round, and one per group."""
        self._all(lambda progress: progress.group.create_topics(progress.history.topics))
        for number in range(max(len(progress.history.steps) for progress in self._running)):
            began = time.monotonic()
            self._round(number)
            report(f"round {number + 1}: {time.monotonic() - began:.1f} s")
        began = time.monotonic()
        self._wait_for_expiration()
        report(f"expiration: {time.monotonic() - began:.1f} s")
        return self.comparisons

    # --- rounds ---

    def _round(self, number: int) -> None:
        self._before_round(number)
        self._all(lambda progress: progress.perform(number))
        self._settle(lambda progress: progress.unsettled(number))
        self._commit(number)
        self._compare(number)

    def _commit(self, number: int) -> None:
        self._all(lambda progress: progress.commit(number))
        self._all(lambda progress: progress.refresh_offsets(number))

    def _settle(self, reason: Callable[[HistoryProgress], str | None], limit: float = SETTLE_LIMIT) -> None:
        """Wait until every group has its expected state twice in a row; a history that does not settle fails."""

        def settled() -> bool:
            return not self._unready(reason) and not self._unready(reason)

        try:
            wait_until(settled, "the groups to settle", limit=limit, pause=0.3)
        except TimeoutError:
            for progress, why in self._unready(reason).items():
                progress.failure = f"did not settle in {limit:.0f} s: {why}"

    def _unready(self, reason: Callable[[HistoryProgress], str | None]) -> dict[HistoryProgress, str]:
        """Read all groups with Kafka's tools and return those for which `reason` is not None."""
        official = read_groups(self.java_clients)
        for progress in self._running:
            progress.official = official.get(progress.group.group)
        return {progress: why for progress in self._running if not progress.failure and (why := reason(progress))}

    def _compare(self, number: int | None) -> None:
        """Compare the observers with the tools until they agree or the limit has passed."""
        comparisons = [progress.comparison(number) for progress in self._running]
        refreshed = began = time.monotonic()
        while not self._agreed(comparisons):
            unresolvable = all(each.unresolvable for each in comparisons if each.all_faults())
            if time.monotonic() > began + (UNRESOLVABLE_LIMIT if unresolvable else AGREE_LIMIT):
                break
            time.sleep(0.5)
            if number is not None and time.monotonic() > refreshed + REFRESH_SECONDS:
                self._commit(number)
                refreshed = time.monotonic()
        self._wrong |= {each.history for each in comparisons if each.all_faults()}
        self._after_comparison(comparisons)
        self.comparisons.extend(comparisons)

    def _agreed(self, comparisons: list[GroupComparison]) -> bool:
        """Fill in the comparisons; return whether all agree while the tools show no change."""
        official = read_groups(self.java_clients)
        found = {observer.name: observer.observe() for observer in self.observers}
        steady = read_groups(self.java_clients) == official
        for each in comparisons:
            each.official = official.get(each.group)
            each.found = {
                name: groups.get(each.group, ObservedGroup(None, ()))
                for name, groups in found.items()
                if groups is not None
            }
        # A history that was wrong once is not waited for again: meanwhile the offsets of all others age.
        return steady and not any(each.all_faults() for each in comparisons if each.history not in self._wrong)

    # --- expiration ---

    def _wait_for_expiration(self) -> None:
        """Keep committing what must not expire until the tools show that everything else has expired."""
        self._expire()
        deadline = time.monotonic() + END_LIMIT
        seconds = itertools.count()
        while time.monotonic() < deadline:
            if next(seconds) % 5 == 0:
                self._all(lambda progress: progress.keep_alive())
            time.sleep(1)
            if not self._unready(lambda progress: progress.unended()):
                break
        for progress, why in self._unready(lambda progress: progress.unended()).items():
            progress.failure = f"did not end in {END_LIMIT:.0f} s: {why}"
        self._compare(None)

    def _all(self, call: Callable[[HistoryProgress], None]) -> None:
        """Call this for all histories in parallel; one that raises an exception fails and takes no further part."""
        running = [progress for progress in self._running if not progress.failure]
        futures: list[Future[None]] = [self._pool.submit(call, progress) for progress in running]
        for progress, done in zip(running, futures, strict=True):
            if error := done.exception():
                progress.failure = f"{type(error).__name__}: {error}"
