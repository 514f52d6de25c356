"""What is the matter with the groups, tick after tick: asks, judges, remembers, and keeps what must survive a restart.

Owns the order of these within a tick, and nothing of how verdicts come about (`stream.health`). The publisher calls it
after the ends have been read; readers get what it gave through the snapshot and `GroupDetail`. Used by the thread of
the ticks; only what it has given, and `changes_of`, may be read by others.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import pyarrow as pa
import structlog

from exporters.readmodel import NAME, VERDICT_CHANGES
from stream.health.burrow.evaluator import BurrowEvaluator
from stream.health.evaluator import Evaluator
from stream.health.limits import HealthLimits
from stream.tick.inputs.builder import InputBuilder, LookupResults
from stream.tick.inputs.group_state import rebalancing_since
from stream.tick.inputs.rebalance_count import RebalanceCounter
from stream.tick.lookups.model import Lookups, NoLookups, RepeatedLookups
from stream.tick.verdicts.columns import EvaluatedTick
from stream.tick.verdicts.history import VerdictHistory
from stream.tick.verdicts.messages import finding, partition_findings
from stream.tick.verdicts.store import StoredVerdicts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exporters.readmodel import FindingDetail, VerdictChange
    from stream.groups.driver_state import GroupColumns
    from stream.groups.expiry.predict import ExpiryPrediction
    from stream.health.columns import Flags
    from stream.health.evaluation import EvaluationRules
    from stream.tick.context import ClusterContext
    from stream.tick.ends_index import EndsIndex
    from stream.tick.hidden_commits.model import HiddenCommits
    from stream.tick.inputs.builder import TickInputs
    from stream.tick.verdicts.store import VerdictStore

_log = structlog.get_logger(__name__)
RuleSet = Literal["lagwarden", "burrow"]
_KEEP_SECONDS: Final = 60.0
"""How often what must survive is written: what a killed process knew is at most so old."""
_HISTORY: Final = 32


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictResult:
    """One moment, and what was found."""

    moment: TickInputs
    diagnosed: EvaluatedTick

    def finding(self, group: str) -> FindingDetail | None:
        """Give the verdict of a group in words; None for one that is not there or is dead."""
        at = self._at(group)
        return None if at is None else finding(self.diagnosed.evaluation.group_finding(at))

    def partition_findings(self, group: str) -> tuple[tuple[str, int, FindingDetail], ...]:
        """Give those of its partitions that are not fine, the worst first."""
        at = self._at(group)
        return () if at is None else partition_findings(self.diagnosed.evaluation, at)

    def _at(self, group: str) -> int | None:
        groups = self.moment.rows.groups
        at = int(np.searchsorted(np.array(groups, object), group)) if groups else 0
        if at == len(groups) or groups[at] != group or not self.diagnosed.alive[at]:
            return None
        return at


class VerdictEvaluator:
    """Judges tick after tick. One instance per process."""

    def __init__(
        self,
        limits: HealthLimits | None = None,
        *,
        rules: RuleSet = "lagwarden",
        points: int = 48,
        history: int = _HISTORY,
        enquiries: Lookups | None = None,
        file: VerdictStore | None = None,
    ) -> None:
        """Begin with what the file has of an earlier process; `history` changes are kept of each group."""
        self._limits = limits or HealthLimits()
        self._rules, self._points, self._history = rules, points, history
        self._enquiries = enquiries or NoLookups()
        self._file = file
        self._quiet = False
        self._begin(None if file is None else file.read())

    def _begin(self, kept: StoredVerdicts | None) -> None:
        kept = kept or StoredVerdicts(self._rules)
        shown = kept.shown if kept.rules == self._rules else None
        self._judge: EvaluationRules = (
            BurrowEvaluator(self._limits, points=self._points, packed=shown)
            if self._rules == "burrow"
            else Evaluator(self._limits, points=self._points, packed=shown)
        )
        self._changes = VerdictHistory(self._history, kept.changes)
        self._observer = InputBuilder(self._limits, RebalanceCounter(self._limits.storm, kept.rebalances))
        self._rebalancing: dict[str, int] = {}
        self._first = True
        self._kept_at: float | None = None
        self._left_out = 0
        self._asked = LookupResults()

    def rehearsal(self) -> VerdictEvaluator:
        """Return a copy for a trial: it knows what this one knows, asks nobody, logs nothing and writes no file."""
        shared = {id(self._enquiries): RepeatedLookups(self._asked), id(self._asked): self._asked, id(self._file): None}
        twin = copy.deepcopy(self, shared)
        twin.be_quiet()
        return twin

    def be_quiet(self) -> None:
        """Log nothing any more."""
        self._quiet = self._changes.quiet = True

    def ask_first(self, fleet: GroupColumns, now: float) -> frozenset[str]:
        """Ask what must be asked before the ends are read; give the topics that those are needed of as well."""
        self._enquiries.ask_first(fleet, now)
        return self._enquiries.topics

    @property
    def touched(self) -> frozenset[str]:
        """The groups whose membership records the fleet of the next tick must have."""
        return self._enquiries.touched

    def follow(self, ends: EndsIndex, positions: Mapping[int, int], now: float) -> None:
        """See how far the log is read: `positions` were the reader's before the ends had been read, at `now`."""
        self._observer.reading.look(ends, positions, int(now * 1000))
        self._enquiries.follow(positions)

    def miss(self) -> None:
        """Note that the cluster did not answer at a tick."""
        self._observer.reading.miss()
        self._judge.record_missed_tick()

    def held_back(self, fleet: GroupColumns, ends: EndsIndex, around: ClusterContext, now: float) -> HiddenCommits:
        """Ask for the commits that open transactions hide, before all else: the rest is about the fleet with them."""
        return self._enquiries.held_back(fleet, ends, around, now)

    def look(
        self, held: HiddenCommits, ends: EndsIndex, around: ClusterContext, now: float, expiry: ExpiryPrediction
    ) -> VerdictResult:
        """Judge a fleet by ends that had been read at `now` (Unix seconds); `expiry` is of that very fleet."""
        fleet, at = held.fleet, int(now * 1000)
        self._rebalancing = rebalancing_since(self._rebalancing, around, at)
        self._asked = asked = self._enquiries.asked(fleet, ends, around, now)
        asked = dataclasses.replace(
            asked, expiry=expiry, rebalancing_since=asked.rebalancing_since or self._rebalancing
        )
        here = self._observer.moment(
            fleet, ends, around, now, asked, hidden=held.hidden, told=held.asked, answered=held.groups
        )
        if self._first:
            self._judge.start(here.seen, self._enquiries.seeding(here.seen))
            self._first = False
        opinion = self._judge.evaluate(here.seen)
        self._enquiries.note(opinion.window)
        alive = _alive(fleet, here.rows.groups)
        self._changes.note(opinion, alive, now)
        self._tell_of_limits(here.rows.left_out)
        self._keep_in_turn(now)
        here = dataclasses.replace(here, seen=opinion.window.inputs)
        return VerdictResult(here, EvaluatedTick(opinion, held.asked, held.groups, alive))

    def look_closer(self, diagnosis: VerdictResult) -> None:
        """Ask for what would make the next diagnosis more exact, once this one is published."""
        self._enquiries.narrow(diagnosis.diagnosed.evaluation.window, self._judge.history)

    def changes_of(self, group: str) -> tuple[VerdictChange, ...]:
        """Give how the verdict of a group changed, oldest first."""
        return self._changes.of(group)

    def changes_table(self) -> pa.Table:
        """Count the groups that turned to each verdict since the process began (schema VERDICT_CHANGES)."""
        counts = self._changes.counts
        names = pa.array(list(counts), pa.string()).dictionary_encode().cast(NAME)
        return pa.table([names, pa.array(list(counts.values()), pa.int64())], schema=VERDICT_CHANGES)

    def keep(self) -> None:
        """Write what must survive, if anything was judged."""
        if self._file is not None and not self._first:
            self._file.write(
                StoredVerdicts(self._rules, self._judge.pack(), self._changes.changes, self._observer.rebalances.noted)
            )

    def forget(self) -> None:
        """Begin anew: what was judged turned out not to be true. Nothing of it is written any more."""
        self._file = None
        self._begin(None)

    def _keep_in_turn(self, now: float) -> None:
        if self._kept_at is None or now - self._kept_at >= _KEEP_SECONDS:
            if self._kept_at is not None:
                self.keep()
            self._kept_at = now

    def _tell_of_limits(self, left_out: int) -> None:
        if left_out and not self._left_out and not self._quiet:
            _log.warning("too many partitions without any commit; some are not judged", partitions=left_out)
        self._left_out = left_out


def _alive(fleet: GroupColumns, groups: Sequence[str]) -> Flags:
    """Tell which groups are there: the others died, and stay visible for a grace time."""
    dead = {name for name, life in fleet.histories.items() if life.died is not None and name not in fleet.memberships}
    return np.array([name not in dead for name in groups], np.bool_)
