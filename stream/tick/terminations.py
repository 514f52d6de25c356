"""Decides and counts terminations: deaths of groups by cause, and removed offsets against their predicted expiry.

Batches record change events as they arrive. A tick evaluates them, because only then the cluster context is known
(which topics exist, how long offsets are retained). What the initial catch-up replays gets a cause, but is not counted.
"""

import dataclasses
import functools
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeVar

import numpy as np
import structlog

from exporters.readmodel import DEATHS, EXPIRY_CHECKS, Histogram, TerminationCounts, rows_table
from stream.groups.driver_state import GroupColumns
from stream.groups.expiry.broker_rules import UNKNOWN, OffsetsRetention
from stream.groups.expiry.causes import RemovalCause, transition_sentence
from stream.groups.expiry.check import BOUNDS, ExpiryCheck, PredictionOutcome
from stream.groups.expiry.predict import ExpiryPrediction, Times, predict_removed
from stream.groups.lifecycle.model import Transition, TransitionType
from stream.groups.membership.memberships import Membership
from stream.groups.membership.model import SIMPLE
from stream.groups.row_order import ChangeEvents, RemovedOffset
from stream.tick.context import Causes, ClusterContext, CommitRemovals, RemovedCommit

_log = structlog.get_logger(__name__)
_Result = TypeVar("_Result")
_LOGGED_DEATHS: Final = 20
"""Deaths logged with their group per tick; more are logged as a number."""
_BEFORE_TIME: Final = (PredictionOutcome.EARLY, PredictionOutcome.DELETED)
_ALIVE_MS: Final = 60_000
"""A group without membership is alive if its last commit is not older than this."""
_REMOVED_KEPT_MS: Final = 3_600_000
_MOST_REMOVED: Final = 10_000
_FAULTS_PER_LINE: Final = 100
"""One of this many internal errors is logged."""


class Terminations:
    """The batch thread calls `record`; the tick thread calls all other methods."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._removals: list[tuple[str, Transition]] = []
        self._removed_offsets: list[RemovedOffset] = []
        self._causes = Causes()
        # All from the start: a counter that begins with its first event hides that event from increase().
        self._deaths: Counter[str] = Counter({str(cause): 0 for cause in RemovalCause})
        self._expiry_check = ExpiryCheck()
        self._memberships: Mapping[str, Membership] | None = None
        self._removed_commits: dict[tuple[str, str, int], RemovedCommit] = {}
        self.faults = 0
        """Terminations that could not be evaluated because of an internal error."""

    def record(self, events: ChangeEvents, *, catching_up: bool) -> None:
        """Record the events of a batch. Tombstones read late, while catching up, do not check any prediction."""
        with self._lock:
            self._removals += [each for each in events.transitions if each[1].removal is not None]
            if not catching_up:
                self._removed_offsets += events.removed_offsets

    def topics_in_question(self, state: GroupColumns) -> set[str]:
        """Return the topics of removals without a decided cause; the cause depends on whether they exist."""
        with self._lock:
            pending = [each for _, each in self._removals]
        if self._causes.at_first is None:  # an earlier process decided these
            pending += [each for history in state.histories.values() for each in history.transitions]
        return set(itertools.chain.from_iterable(each.removal.topics for each in pending if each.removal is not None))

    def decide_causes(self, state: GroupColumns, context: ClusterContext) -> Causes:
        """Decide the cause of each removal since the last tick and count deaths; return the causes of all removals.

        A cause is decided once: later the topic may be deleted or recreated for another reason.
        """
        with self._lock:
            removals, self._removals = self._removals, []
        causes, is_first = self._causes, self._causes.at_first is None
        new = [(group, each) for group, each in removals if each.live or not is_first]
        decided = dict(causes.decided)  # earlier ticks have the former mapping
        for group, each in new:
            cause = self._tried(group, functools.partial(context.cause_of, each), RemovalCause.UNKNOWN)
            decided.setdefault((group, each.position), cause)
        self._count_deaths([(group, each, decided[group, each.position]) for group, each in new if each.live], context)
        decided = {place: cause for place, cause in decided.items() if place[0] in state.histories}
        if is_first:
            before = {name: each.transitions[-1].position for name, each in state.histories.items() if each.transitions}
            self._causes = Causes(decided, context, before)
        elif decided != causes.decided:
            self._causes = dataclasses.replace(causes, decided=decided)
        return self._causes

    def check_predictions(
        self,
        state: GroupColumns,
        expiry: ExpiryPrediction,
        retention: OffsetsRetention,
        now: float,
        *,
        current: bool,
        unread: Collection[str] = frozenset(),
    ) -> None:
        """Compare tombstones with the predictions for their offsets.

        `expiry` is that of `state`, `now` is Unix seconds. `current`: all records of the log as of the last tick are
        read. Tombstones of `unread` groups may be hidden behind an open transaction, so theirs are not missed.
        """
        with self._lock:
            removed, self._removed_offsets = self._removed_offsets, []
        if removed:
            # By the memberships of the last tick, when the groups still had these offsets.
            memberships = state.memberships if self._memberships is None else self._memberships
            self._check_removed(removed, memberships, retention)
        if current:
            expiry_time = _without(expiry.offset, state, unread)
            self._expiry_check.update(state.runs.keys, expiry_time, int(now * 1000), retention)
        else:
            self._expiry_check.restart()
        self._memberships = state.memberships

    def removed_commits(self, context: ClusterContext, now: float) -> CommitRemovals:
        """Return the offsets that were removed within the last hour, and whose topics still exist.

        `now` is Unix seconds. The groups may commit them again later.
        """
        oldest = int(now * 1000) - _REMOVED_KEPT_MS
        recent = [(place, each) for place, each in self._removed_commits.items() if each.time >= oldest]
        self._removed_commits = dict(recent[-_MOST_REMOVED:])
        return {
            place: each for place, each in self._removed_commits.items() if context.topic_exists(place[1], each.time)
        }

    def _tried(self, group: str, evaluate: Callable[[], _Result], otherwise: _Result) -> _Result:
        """Return what a function finds of a removal; one that fails must not fail the tick."""
        try:
            return evaluate()
        except Exception as error:  # noqa: BLE001 - see above
            self._record_fault(group, error)
            return otherwise

    def _check_removed(
        self, removed: list[RemovedOffset], memberships: Mapping[str, Membership], retention: OffsetsRetention
    ) -> None:
        """Check all tombstones together; if that fails, group by group, so that only the faulty group is left out."""
        groups = dict.fromkeys(each.group for each in removed)
        try:
            expiry_times = predict_removed(removed, memberships, retention)
            outcomes = self._expiry_check.record_tombstones(removed, expiry_times, retention)
        except Exception as error:  # noqa: BLE001 - one group must not fail the tick
            if len(groups) == 1:
                self._record_fault(removed[0].group, error)
            else:
                for group in groups:
                    self._check_removed([each for each in removed if each.group == group], memberships, retention)
            return
        for each, outcome in zip(removed, outcomes, strict=True):
            place = each.group, each.topic, each.partition
            is_early = outcome in _BEFORE_TIME
            is_forgotten = is_early and _was_alive(each, memberships.get(each.group))
            self._removed_commits.pop(place, None)
            self._removed_commits[place] = RemovedCommit(
                each.time, None if outcome is None else not is_early, is_forgotten
            )

    def _record_fault(self, group: str, error: Exception) -> None:
        if not self.faults % _FAULTS_PER_LINE:
            _log.error("internal error while evaluating a termination", group=group, exc_info=error)
        self.faults += 1

    def _count_deaths(self, removals: Iterable[tuple[str, Transition, RemovalCause]], context: ClusterContext) -> None:
        deaths = 0
        for group, transition, cause in removals:
            if transition.type is not TransitionType.DEAD:
                continue
            self._deaths[cause] += 1
            deaths += 1
            if deaths <= _LOGGED_DEATHS:
                sentence = functools.partial(transition_sentence, transition, cause, context.retention)
                _log.info("group died", group=group, why=self._tried(group, sentence, str(cause)))
        if deaths > _LOGGED_DEATHS:
            _log.info("more groups died", groups=deaths - _LOGGED_DEATHS)

    def counts(self) -> TerminationCounts:
        """Return the counts since the process started."""
        check = self._expiry_check
        *cumulative, count = np.cumsum(check.errors).tolist()
        return TerminationCounts(
            rows_table(sorted(self._deaths.items()), DEATHS),
            rows_table(sorted((str(outcome), found) for outcome, found in check.counts.items()), EXPIRY_CHECKS),
            Histogram(BOUNDS, tuple(cumulative), count, check.total_error),
        )


def _was_alive(removed: RemovedOffset, membership: Membership | None) -> bool:
    """Return whether the group of a removed offset needed it.

    No tool can delete offsets of a topic that members subscribe to. A group without membership is alive while it
    commits; its offsets may have been deleted by a tool.
    """
    if membership is None or membership.kind == SIMPLE:
        return 0 <= removed.time - removed.last_time <= _ALIVE_MS
    return membership.members > 0 and removed.topic in (membership.subscribed or ())


def _without(expiry: Times, state: GroupColumns, groups: Collection[str]) -> Times:
    """Return the predictions with those of `groups` set to unknown."""
    if not groups:
        return expiry
    names = state.group.dictionary.to_pylist()
    is_excluded = np.array([name in groups for name in names] or [False], np.bool_)
    return np.where(is_excluded[state.group.indices.to_numpy(zero_copy_only=False)], UNKNOWN, expiry)
