"""What ended: why, decided once, and counted. Deaths by cause, and offsets that went, held against what was predicted.

Batches hand in news as they come; a tick judges them, for only then is known what the cluster has to say (which topics
are there, how long offsets are kept). What the initial catch-up replays is judged too, and counted nowhere.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import structlog

from exporters.readmodel import DEATHS, EXPIRY_CHECKS, NAME, Histogram
from stream.groups.expiry.broker_rules import UNKNOWN
from stream.groups.expiry.causes import RemovalCause, transition_sentence
from stream.groups.expiry.check import ExpiryCheck, predict_removed
from stream.groups.lifecycle.model import TransitionType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from stream.groups.driver_state import ChangeEvents, GroupColumns, RemovedOffset
    from stream.groups.expiry.broker_rules import OffsetsRetention
    from stream.groups.expiry.predict import Times
    from stream.groups.lifecycle.model import Transition
    from stream.groups.membership.memberships import Membership
    from stream.tick.context import Causes, ClusterContext, SnapshotContext

_log = structlog.get_logger(__name__)
_LINES: Final = 20
"""Deaths told one by one at a tick; of more, only how many."""
_FAULTS_PER_LINE: Final = 100
"""Of so many endings that cannot be judged, one is logged."""


@dataclasses.dataclass(frozen=True, slots=True)
class TerminationCounts:
    """What the ledger counts: tables DEATHS and EXPIRY_CHECKS, and the errors of the predictions in seconds."""

    deaths: pa.Table
    checks: pa.Table
    errors: Histogram | None


NOTHING_COUNTED: Final = TerminationCounts(DEATHS.empty_table(), EXPIRY_CHECKS.empty_table(), None)


class Terminations:
    """`take` is called by the thread of the batches, all else by that of the ticks, in the order of the methods."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._endings: list[tuple[str, Transition]] = []
        self._remembered: list[tuple[str, Transition]] | None = None
        self._forgotten: list[RemovedOffset] = []
        self._causes: dict[tuple[str, int], RemovalCause] = {}
        # All from the start: a counter that begins with its first event hides that one from increase().
        self._deaths: Counter[str] = Counter({str(cause): 0 for cause in RemovalCause})
        self._watch = ExpiryCheck()
        self._memberships: Mapping[str, Membership] | None = None
        self.faults = 0
        """Endings that could not be judged because of a fault of the program."""

    def take(self, news: ChangeEvents, *, catching_up: bool) -> None:
        """Note what a batch told; a tombstone that is read late, while catching up, says nothing of a prediction."""
        with self._lock:
            self._endings += [each for each in news.transitions if each[1].removal is not None]
            if not catching_up:
                self._forgotten += news.removed_offsets

    def topics_in_question(self, fleet: GroupColumns) -> set[str]:
        """Give the topics of what ended and is not judged yet: the cluster must say whether they are there."""
        with self._lock:
            pending = list(self._endings)
        if self._remembered is None:  # the first look: what the state remembers was judged by a former process
            self._remembered = [
                (group, each) for group, life in fleet.histories.items() for each in life.transitions if each.removal
            ]
        return {
            topic
            for _, each in (*pending, *self._remembered)
            if each.removal is not None
            for topic in each.removal.topics
        }

    def judge_endings(self, fleet: GroupColumns, around: ClusterContext) -> Causes:
        """Decide why what ended since the last tick did, and count deaths; give the causes of all that is remembered.

        Decided once: later on its topic may be deleted, or made anew, by somebody else.
        """
        with self._lock:
            endings, self._endings = self._endings, []
        remembered, self._remembered = self._remembered or [], []
        for group, transition in (*remembered, *endings):
            self._causes.setdefault((group, transition.position), self._cause(group, transition, around))
        self._count_deaths([(group, each) for group, each in endings if each.live], around)
        self._causes = {place: cause for place, cause in self._causes.items() if place[0] in fleet.histories}
        return self._causes

    def judge_predictions(
        self,
        fleet: GroupColumns,
        context: SnapshotContext,
        now: float,
        *,
        current: bool,
        unread: Collection[str] = frozenset(),
    ) -> TerminationCounts:
        """Hold tombstones against what was predicted; `current`: all that the log had a tick ago has been read.

        Of the `unread` groups an open transaction hides tombstones: they are not held against any.
        """
        with self._lock:
            forgotten, self._forgotten = self._forgotten, []
        retention = context.around.retention
        if forgotten:
            # By their groups as they were when they still had them: at the tick before.
            memberships = fleet.memberships if self._memberships is None else self._memberships
            self._arrived(forgotten, memberships, retention)
        if current:
            hour = _without(context.expiry.offset, fleet, unread)
            self._watch.update(fleet.runs.keys, hour, int(now * 1000), retention)
        else:
            self._watch.restart()
        self._memberships = fleet.memberships
        return self._accounts()

    def _cause(self, group: str, transition: Transition, around: ClusterContext) -> RemovalCause:
        try:
            return around.cause_of(transition)
        except Exception as error:  # noqa: BLE001 - one ending must not end the tick
            self._fault(group, error)
            return RemovalCause.UNKNOWN

    def _why(self, group: str, transition: Transition, cause: RemovalCause, around: ClusterContext) -> str:
        try:
            return transition_sentence(transition, cause, around.retention)
        except Exception as error:  # noqa: BLE001 - one ending must not end the tick
            self._fault(group, error)
            return str(cause)

    def _arrived(
        self, forgotten: list[RemovedOffset], memberships: Mapping[str, Membership], retention: OffsetsRetention
    ) -> None:
        """Judge tombstones, all together; if that fails group by group, so that only the faulty ones are not judged."""
        try:
            hours = predict_removed(forgotten, memberships, retention)
        except Exception:  # noqa: BLE001 - one group must not end the tick
            for group in dict.fromkeys(each.group for each in forgotten):
                mine = [each for each in forgotten if each.group == group]
                try:
                    self._watch.record_tombstones(mine, predict_removed(mine, memberships, retention), retention)
                except Exception as error:  # noqa: BLE001 - likewise
                    self._fault(group, error)
        else:
            self._watch.record_tombstones(forgotten, hours, retention)

    def _fault(self, group: str, error: Exception) -> None:
        if not self.faults % _FAULTS_PER_LINE:
            _log.error("what ended cannot be judged because of a fault of lagwarden", group=group, exc_info=error)
        self.faults += 1

    def _count_deaths(self, transitions: Iterable[tuple[str, Transition]], around: ClusterContext) -> None:
        told = 0
        for group, transition in transitions:
            if transition.type is not TransitionType.DEAD:
                continue
            cause = self._causes[group, transition.position]
            self._deaths[cause] += 1
            told += 1
            if told <= _LINES:
                _log.info("a group died", group=group, why=self._why(group, transition, cause, around))
        if told > _LINES:
            _log.info("more groups died", groups=told - _LINES)

    def _accounts(self) -> TerminationCounts:
        errors = self._watch.errors()
        checks = {str(outcome): count for outcome, count in self._watch.outcomes().items()}
        return TerminationCounts(
            _counts(self._deaths, DEATHS),
            _counts(checks, EXPIRY_CHECKS),
            Histogram(errors.bounds, errors.cumulative, errors.count, errors.total),
        )


def _without(hour: Times, fleet: GroupColumns, groups: Collection[str]) -> Times:
    """Return the predictions, without those of these groups."""
    if not groups:
        return hour
    names = fleet.group.dictionary.to_pylist()
    theirs = np.array([name in groups for name in names] or [False], np.bool_)
    return np.where(theirs[fleet.group.indices.to_numpy(zero_copy_only=False)], UNKNOWN, hour)


def _counts(counts: Mapping[str, int], schema: pa.Schema) -> pa.Table:
    names = sorted(counts)
    arrays = [pa.array(names, pa.string()).dictionary_encode().cast(NAME), pa.array([counts[name] for name in names])]
    return pa.table(arrays, schema=schema)
