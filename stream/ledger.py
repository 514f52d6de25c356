"""What ended, counted: deaths of groups by their cause, and offsets that went, held against what was predicted.

Batches hand in news as they come; a tick judges them, for only then is known what the cluster has to say (which topics
are there, how long offsets are kept). What the initial catch-up replays is history and counts nowhere.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import structlog

from exporters.readmodel import DEATHS, EXPIRY_CHECKS, NAME, Histogram
from stream.groups.causes import Cause, cause_of, sentence
from stream.groups.forecast import ExpiryWatch, hours_before
from stream.groups.lives import Happening

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stream.groups.fleet import FleetColumns, ForgottenOffset, News
    from stream.groups.lives import Transition
    from stream.groups.membership import Membership
    from stream.surroundings import Context

_log = structlog.get_logger(__name__)
_LINES: Final = 20
"""Deaths told one by one at a tick; of more, only how many."""


@dataclasses.dataclass(frozen=True, slots=True)
class Accounts:
    """What the ledger counts: tables DEATHS and EXPIRY_CHECKS, and the errors of the predictions in seconds."""

    deaths: pa.Table
    checks: pa.Table
    errors: Histogram | None


NOTHING_COUNTED: Final = Accounts(DEATHS.empty_table(), EXPIRY_CHECKS.empty_table(), None)


class Ledger:
    """`take` is called by the thread of the batches, all else by that of the ticks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._transitions: list[tuple[str, Transition]] = []
        self._forgotten: list[ForgottenOffset] = []
        # All from the start: a counter that begins with its first event hides that one from increase().
        self._deaths: Counter[str] = Counter({str(cause): 0 for cause in Cause})
        self._watch = ExpiryWatch()
        self._memberships: Mapping[str, Membership] = {}

    def take(self, news: News, *, catching_up: bool) -> None:
        """Note what a batch told. While catching up, only what happened since the monitor was last there counts."""
        with self._lock:
            self._transitions += [(group, each) for group, each in news.transitions if each.live]
            if not catching_up:
                self._forgotten += news.forgotten

    def judge(self, fleet: FleetColumns, context: Context, now: float, *, current: bool) -> Accounts:
        """Judge what was noted; `current`: all that the log had at the tick before has been read."""
        with self._lock:
            transitions, self._transitions = self._transitions, []
            forgotten, self._forgotten = self._forgotten, []
        self._judge_deaths(transitions, context)
        self._judge_tombstones(forgotten, context)
        if current:
            self._watch.tick(fleet.runs.keys, context.expiry.offset, int(now * 1000), context.around.retention)
        else:
            self._watch.restart()
        self._memberships = fleet.memberships
        return self._accounts()

    def _judge_deaths(self, transitions: Iterable[tuple[str, Transition]], context: Context) -> None:
        around, told = context.around, 0
        for group, transition in transitions:
            if transition.what is not Happening.DEAD or transition.ending is None:
                continue
            cause = cause_of(transition.ending, around.retention, around.topic_exists)
            self._deaths[cause] += 1
            told += 1
            if told <= _LINES:
                _log.info("a group died", group=group, why=sentence(transition, cause, around.retention))
        if told > _LINES:
            _log.info("more groups died", groups=told - _LINES)

    def _judge_tombstones(self, forgotten: list[ForgottenOffset], context: Context) -> None:
        if forgotten:
            retention = context.around.retention
            # By their groups as they were when they still had them: at the tick before.
            self._watch.arrived(forgotten, hours_before(forgotten, self._memberships, retention), retention)

    def _accounts(self) -> Accounts:
        errors = self._watch.errors()
        checks = {str(outcome): count for outcome, count in self._watch.checks().items()}
        return Accounts(
            _counts(self._deaths, DEATHS),
            _counts(checks, EXPIRY_CHECKS),
            Histogram(errors.bounds, errors.cumulative, errors.count, errors.total),
        )


def _counts(counts: Mapping[str, int], schema: pa.Schema) -> pa.Table:
    names = sorted(counts)
    arrays = [pa.array(names, pa.string()).dictionary_encode().cast(NAME), pa.array([counts[name] for name in names])]
    return pa.table(arrays, schema=schema)
