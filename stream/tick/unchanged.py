"""Ticks at which nothing has changed: how they are recognised, and what they show again.

A tick that reads what the last one read, and comes to the same verdicts, has the same snapshot but for ages, which is
not made again. After a minute of such ticks, those that read the same are not evaluated either: a verdict that follows
from the time alone is then shown up to two ticks later. The first tick that reads something else is evaluated.
"""

import dataclasses
import weakref
from typing import Final

from exporters.readmodel import TickStatus
from exporters.text.exposition import PublishedSnapshot
from stream.config.ownership import GroupPolicies
from stream.health.common_cause.search import CommonCause
from stream.tick.context import TickFacts
from stream.tick.verdicts.evaluated_tick import EvaluatedTick, TickDetails

MOST_SHOWN_AGAIN: Final = 2
"""Ticks in a row that show the last snapshot again, so that its ages are at most so many ticks too low."""
_ALIKE: Final = 6
"""Equal evaluations in a row before one is left out: rules, and what is remembered, count fewer ticks."""
Sources = tuple[object, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class LastTick:
    """What the last tick published, and what that was made from. Any thread may read it."""

    published: PublishedSnapshot
    details: TickDetails
    """Packed once the tick is finished."""
    status: TickStatus
    read: Sources | None
    evaluated: Sources
    shown_again: int = 0
    """For how many ticks the snapshot has been the same."""
    alike: int = 0
    """The number of evaluations before the last one that equal it."""

    def need_not_evaluate(self, facts: TickFacts, policies: GroupPolicies) -> bool:
        """Return whether a tick that has read this shows the snapshot again, whatever the time is."""
        rests = self.alike >= _ALIKE and self.shown_again < MOST_SHOWN_AGAIN and self.read is not None
        return rests and self.read == read_sources(facts, policies)


def read_sources(facts: TickFacts, policies: GroupPolicies) -> Sources | None:
    """Return all that a tick has read, but times; None while the answers of brokers are not complete."""
    ends, found, share, now = facts.ends, facts.lookups, facts.polled.share_progress, facts.taken_at
    is_pending = found.transactions or found.blocked or facts.cluster.described_states
    if is_pending or (ends.high_watermark < 0).any():
        return None
    offsets = ends.high_watermark, ends.last_stable_offset, ends.log_start_offset
    return (
        weakref.ref(facts.state),
        # Of bytes, Python's hash has 64 bits and a key of this process.
        *(hash(column.tobytes()) for column in (ends.places, *offsets, ends.leader, ends.leader_epoch)),
        # Other polled facts may wait for two ticks: they are a minute old.
        None if share is None else (share.groups, share.unknown_reason),
        *(facts.positions, facts.current, facts.cluster),
        *(found.retention, found.any_size, found.gapless, found.tails),
        policies,
        [each.open_until(now) for _, each in policies.maintenance],
        [each.holds(now) for _, each in policies.silences],
    )


def evaluated_sources(evaluated: EvaluatedTick, causes: tuple[CommonCause, ...]) -> Sources:
    """Return what an evaluation concludes from what was read, and from the time."""
    found = evaluated.evaluation
    verdicts = found.verdict, found.since, found.rule_verdict, found.group_verdict, found.group_since
    columns = *verdicts, found.group_skipped, evaluated.inputs.odd_time
    return *(hash(column.tobytes()) for column in columns), evaluated.unpaged, causes
