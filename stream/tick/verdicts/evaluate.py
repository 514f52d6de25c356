"""Evaluates the groups tick after tick, and keeps what must survive a restart.

`stream.health` decides the verdicts. Used by the tick thread. Other threads may read its results and call `changes_of`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import structlog

from exporters.readmodel import VERDICT_CHANGES, VerdictChange, rows_table
from stream.groups.lifecycle.model import GroupHistory
from stream.groups.membership.model import Membership
from stream.groups.short_cache import keep_last
from stream.health.columns import Flags, Ints
from stream.health.day_one import DayOne
from stream.health.evaluator import Evaluator
from stream.health.features.partition_history import PartitionHistory
from stream.health.inputs import HealthInputs
from stream.health.limits import HealthLimits
from stream.tick.context import DerivedState
from stream.tick.ends_index import EndsIndex
from stream.tick.inputs.builder import InputBuilder
from stream.tick.inputs.member_changes import RebalanceCounter
from stream.tick.verdicts.evaluated_tick import EvaluatedTick
from stream.tick.verdicts.store import StoredVerdicts, VerdictHistory, VerdictStore

_log = structlog.get_logger(__name__)
_SAVE_SECONDS: Final = 60.0
"""Interval between writes of the verdict file: a killed process loses at most this much."""
_CHANGES_PER_GROUP: Final = 32


class VerdictEvaluator:
    """Builds the inputs of health, applies the rules and records the verdicts, tick after tick. One per process."""

    def __init__(
        self,
        limits: HealthLimits | None = None,
        *,
        with_burrow: bool = False,
        points: int = 48,
        history: int = _CHANGES_PER_GROUP,
        mirrored: Sequence[str] = (),
        store: VerdictStore | None = None,
    ) -> None:
        """Start from what an earlier process stored; keep the newest `history` verdict changes of each group.

        `with_burrow`: apply Burrow's rules too, for `EvaluatedTick.burrow`. `mirrored` are patterns of the groups whose
        offsets another program writes.
        """
        self._limits = limits or HealthLimits()
        self._points, self._history = points, history
        self._with_burrow = with_burrow
        self._mirrored = mirrored
        self._store = store
        self._silent = False
        stored = None if store is None else store.read()
        self._day_one = None if stored is None else stored.day_one
        self._start(stored)

    def _start(self, stored: StoredVerdicts | None) -> None:
        stored = stored or StoredVerdicts()
        self._evaluator = Evaluator(
            self._limits, points=self._points, packed=stored.shown, share_groups=stored.share_groups
        )
        if self._with_burrow:
            self._evaluator.track_burrow_statuses()
        self._changes = VerdictHistory(self._history, stored.changes)
        rebalances = RebalanceCounter(self._limits.storm_window, stored.rebalances)
        self._inputs = InputBuilder(self._limits, rebalances, self._mirrored)
        self._is_first_tick = True
        self._saved_at: float | None = None
        self._left_out = 0, 0

    def trial_copy(self) -> VerdictEvaluator:
        """Return a copy with the same memory for a trial; it logs nothing and writes no file."""
        trial = copy.deepcopy(self, {id(self._store): None})
        trial.silence()
        return trial

    def silence(self) -> None:
        """Disable logging."""
        self._silent = self._changes.is_silent = True

    def record_ends(self, ends: EndsIndex, positions: Mapping[int, int], now: float) -> None:
        """Record how far the log is read: `positions` were the reader's before the end offsets were read, at `now`."""
        self._inputs.read_positions.update(ends, positions, int(now * 1000))

    def record_missed_tick(self) -> None:
        """Record that the cluster did not answer at a tick."""
        self._inputs.read_positions.record_missed_tick()
        self._evaluator.record_missed_tick()

    def evaluate(
        self, derived: DerivedState, backfill: Callable[[HealthInputs], tuple[Ints, Ints] | None] | None = None
    ) -> EvaluatedTick:
        """Return the verdicts on a derived state.

        `backfill` returns past end offsets for `PartitionHistory.seed`; it is called at the first tick only.
        """
        inputs, health_inputs = self._inputs.build(derived)
        if self._is_first_tick:
            self._evaluator.start(health_inputs, None if backfill is None else backfill(health_inputs))
            self._is_first_tick = False
        evaluation = self._evaluator.evaluate(health_inputs)
        self._day_one = (self._day_one or DayOne(health_inputs.now)).advance(evaluation)
        alive, now = (
            _alive(derived.state.histories, derived.state.memberships, inputs.rows.groups),
            derived.facts.taken_at,
        )
        self._changes.record(evaluation, alive, now)
        self._log_left_out(inputs.rows.omitted, derived.state.long_subscriptions)
        self._save_if_due(now)
        return EvaluatedTick(
            derived, inputs, evaluation, alive, self._day_one.unpaged, burrow=self._evaluator.burrow_statuses
        )

    @property
    def end_history(self) -> PartitionHistory:
        """The history of the end offsets, which offset-time searches make more exact."""
        return self._evaluator.history

    def changes_of(self, group: str) -> tuple[VerdictChange, ...]:
        """Return the verdict changes of a group, oldest first."""
        return self._changes.changes_of(group)

    def changes_table(self) -> pa.Table:
        """Return how many groups changed to each verdict since the process started (schema VERDICT_CHANGES)."""
        return rows_table(self._changes.counts.items(), VERDICT_CHANGES)

    def save(self) -> None:
        """Write the verdict file, if there is one and a tick was evaluated."""
        if self._store is not None and not self._is_first_tick:
            self._store.write(
                StoredVerdicts(
                    self._evaluator.pack(),
                    self._changes.changes,
                    self._inputs.rebalances.recorded,
                    self._day_one or DayOne(0),
                    self._evaluator.pack_share_groups(),
                )
            )

    def reset(self) -> None:
        """Discard all verdicts, because what they were based on is wrong; the verdict file is not written any more."""
        self._store = None
        self._start(None)

    def _save_if_due(self, now: float) -> None:
        if self._saved_at is None or not 0 <= now - self._saved_at < _SAVE_SECONDS:
            if self._saved_at is not None:
                self.save()
            self._saved_at = now

    def _log_left_out(self, partitions: int, subscriptions: Collection[str]) -> None:
        before, self._left_out = self._left_out, (partitions, len(subscriptions))
        if partitions and not before[0] and not self._silent:
            _log.warning("too many partitions without any commit; some are not evaluated", partitions=partitions)
        if subscriptions and not before[1] and not self._silent:
            _log.warning(
                "long subscriptions exceed their memory; those of some groups are unknown",
                groups=len(subscriptions),
                first=min(subscriptions),
            )


@keep_last
def _alive(
    histories: Mapping[str, GroupHistory], memberships: Mapping[str, Membership], groups: Sequence[str]
) -> Flags:
    """Return which groups exist; dead ones stay in the driver state for a grace period."""
    dead = {name for name, history in histories.items() if history.died is not None and name not in memberships}
    return np.array([name not in dead for name in groups], np.bool_)
