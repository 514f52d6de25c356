"""Plays many scenarios at once on one broker, in rounds: every group takes its next step, then all are looked at.

In rounds the official tools are asked for all groups together, and whoever watches is asked once per round. Time is
only waited for once, at the end: `offsets.retention.minutes` passes for all groups at the same time.
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
    # The shortest there is. Nothing expires before the broker looks, and that it does not while rounds are played: a
    # sweep would also remove groups in the moment between their first record and their first member.
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "3600000",
    # Members that vanish are to be missed while the play lasts.
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    # One heartbeat interval of a newer group is time in which nothing happens.
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.share.min.heartbeat.interval.ms": "300",
    "group.share.heartbeat.interval.ms": "300",
    "group.streams.min.heartbeat.interval.ms": "300",
    "group.streams.heartbeat.interval.ms": "300",
    "group.streams.initial.rebalance.delay.ms": "0",
}
"""Kafka's properties of a broker on which scenarios are played."""
SWEEPING: Final = {"offsets.retention.check.interval.ms": "2000"}
"""What changes when time is to pass: the broker looks for what has expired."""
SETTLE_LIMIT: Final = 40.0
AGREE_LIMIT: Final = 25.0
"""Seconds in which a witness must come to where the tools are."""
YOUNG_SECONDS: Final = 8.0
"""How often offsets are committed anew while witnesses are waited for."""
DOUBT_LIMIT: Final = 5.0
"""The same, for a witness that has found what never was: others grow old while it is waited for."""
END_LIMIT: Final = 150.0
AT_ONCE: Final = 8


class HistoryBroker(Broker):
    """A broker on which scenarios can be played."""

    def __init__(self) -> None:
        super().__init__(properties=PROPERTIES, offsets_partitions=OFFSETS_PARTITIONS)

    def sweep(self) -> None:
        """Look for what has expired from now on, which takes a restart: members and offsets outlive it."""
        self.stop()
        self._properties |= SWEEPING
        self.start()


class HistoryRunner:
    """All scenarios on one `HistoryBroker`.

    `before_round` is told the number of each round (from 0) before its actions begin, `after_look` the scenes of each
    look; `sweep` is called after the rounds and must let the broker look for what has expired. Leaving the `with` lets
    all clients leave, which writes more than the scenes know of.
    """

    def __init__(
        self,
        desk: JavaClients,
        scenarios: Sequence[GroupHistory],
        witnesses: Sequence[Observer] = (),
        *,
        sweep: Callable[[], None],
        before_round: Callable[[int], None] = lambda _: None,
        after_look: Callable[[list[GroupComparison]], None] = lambda _: None,
    ) -> None:
        self.desk: Final = desk
        self.witnesses: Final = tuple(witnesses)
        self.scenes: Final[list[GroupComparison]] = []
        self._sweep = sweep
        self._before_round = before_round
        self._after_look = after_look
        self._parts = [HistoryProgress(desk, scenario) for scenario in scenarios]
        self._wrong: set[str] = set()
        self._pool = ThreadPoolExecutor(AT_ONCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for part in self._parts:
            part.failure = None  # whoever failed has clients too
        self._all(lambda part: part.stage.close())
        self._pool.shutdown()

    def run(self, say: Callable[[str], None] = lambda _: None) -> list[GroupComparison]:
        """Play all rounds, then let time pass; gives a scene per group and round, and one per group at the end."""
        self._all(lambda part: part.stage.create_topics(part.scenario.topics))
        for number in range(max(len(part.scenario.steps) for part in self._parts)):
            began = time.monotonic()
            self._round(number)
            say(f"round {number + 1}: {time.monotonic() - began:.1f} s")
        began = time.monotonic()
        self._let_time_pass()
        say(f"the end: {time.monotonic() - began:.1f} s")
        return self.scenes

    # --- rounds ---

    def _round(self, number: int) -> None:
        self._before_round(number)
        self._all(lambda part: part.act(number))
        self._settle(lambda part: part.unsettled(number))
        self._all(lambda part: part.commit(number))
        self._all(lambda part: part.keep_young(number))
        self._look(number)

    def _settle(self, why_not: Callable[[HistoryProgress], str | None], limit: float = SETTLE_LIMIT) -> None:
        """Wait until every group looks as it must, in two looks in a row; who does not is out of the play."""

        def settled() -> bool:
            return not self._waiting(why_not) and not self._waiting(why_not)

        try:
            wait_until(settled, "the groups to settle", limit=limit, pause=0.3)
        except TimeoutError:
            for part, why in self._waiting(why_not).items():
                part.failure = f"did not settle in {limit:.0f} s: {why}"

    def _waiting(self, why_not: Callable[[HistoryProgress], str | None]) -> dict[HistoryProgress, str]:
        said = read_groups(self.desk)
        for part in self._parts:
            part.official = said.get(part.stage.group)
        return {part: why for part in self._parts if not part.failure and (why := why_not(part))}

    def _look(self, number: int | None) -> None:
        """Hold witnesses against the tools until they agree or time is over, while the tools say the same."""
        scenes, began = [part.scene(number) for part in self._parts], time.monotonic()
        young = began
        while not self._agreed(scenes):
            hopeless = all(scene.hopeless for scene in scenes if scene.all_faults())
            if time.monotonic() > began + (DOUBT_LIMIT if hopeless else AGREE_LIMIT):
                break
            time.sleep(0.5)
            if number is not None and time.monotonic() > young + YOUNG_SECONDS:
                self._all(lambda part: part.commit(number))
                self._all(lambda part: part.keep_young(number))
                young = time.monotonic()
        self._wrong |= {scene.scenario for scene in scenes if scene.all_faults()}
        self._after_look(scenes)
        self.scenes.extend(scenes)

    def _agreed(self, scenes: list[GroupComparison]) -> bool:
        before = read_groups(self.desk)
        found = {witness.name: witness.look() for witness in self.witnesses}
        steady = read_groups(self.desk) == before
        for scene in scenes:
            scene.official = before.get(scene.group)
            scene.found = {
                name: groups.get(scene.group, ObservedGroup(None, ()))
                for name, groups in found.items()
                if groups is not None
            }
        # Whoever was wrong once is not waited for again: the others grow old meanwhile.
        return steady and not any(scene.all_faults() for scene in scenes if scene.scenario not in self._wrong)

    # --- the end ---

    def _let_time_pass(self) -> None:
        """Go on with what keeps offsets young until every end has come, as far as the tools can tell."""
        self._sweep()
        deadline = time.monotonic() + END_LIMIT
        ages = itertools.count()
        while time.monotonic() < deadline:
            if next(ages) % 5 == 0:
                self._all(lambda part: part.keep_going())
            time.sleep(1)
            if not self._waiting(lambda part: part.unended()):
                break
        for part, why in self._waiting(lambda part: part.unended()).items():
            part.failure = f"did not end in {END_LIMIT:.0f} s: {why}"
        self._look(None)

    def _all(self, do: Callable[[HistoryProgress], None]) -> None:
        """Let all parts do something at the same time; one that fails is out of the play."""
        playing = [part for part in self._parts if not part.failure]
        doing: list[Future[None]] = [self._pool.submit(do, part) for part in playing]
        for part, done in zip(playing, doing, strict=True):
            if error := done.exception():
                part.failure = f"{type(error).__name__}: {error}"
