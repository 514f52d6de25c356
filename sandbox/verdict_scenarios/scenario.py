"""A scenario: the life of one group as data, and what must be said of it from which moment on. The vocabulary only.

Times are seconds of the play; its beginning, when all traffic begins, is 0. What an action does is in `actions`, who
plays it in `stage` and `play`; the lives themselves are in `sick`, `healthy` and `violent`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.verdict_scenarios.actions import ScenarioAction

Kind = Literal["sick", "healthy"]
EVENT: Final = 60.0
"""When most faults happen: by then every group has shown its habits for ten slots."""
END: Final = 250.0
"""It may be later, for the monitor comes back when it does."""
RATE: Final = 20.0
FINE: Final = ("ok", "caught_up", "recovering", "reset")
"""Verdicts for which nobody gets up."""


@dataclasses.dataclass(frozen=True, slots=True)
class Flow:
    """Records that are written to each partition, in pulses: `per_second` on the average, one pulse every so often."""

    per_second: float = RATE
    every: float = 0.5
    start: float = 0.0
    until: float = 10_000.0
    partitions: tuple[int, ...] | None = None
    """None: all there are."""

    def written(self, time: float) -> int:
        """How many records a partition has got by a moment."""
        pulses = int(max(min(time, self.until) - self.start, 0.0) / self.every + 1e-9)
        return int(pulses * self.every * self.per_second + 1e-9)


@dataclasses.dataclass(frozen=True, slots=True)
class ScenarioTopic:
    """A topic of a group, and what is written to it."""

    partitions: int = 1
    flows: tuple[Flow, ...] = (Flow(),)
    backlog: int = 0
    """Records that stand in each partition before the play begins."""
    config: Mapping[str, str] = dataclasses.field(default_factory=dict)
    transaction: float | None = None
    """Everything is written in transactions that last so many seconds."""
    keys: int = 0
    """How many different keys there are; 0: none."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClientBehaviour:
    """How the members of a group read and commit, from a moment on. What is read is real; only its processing is slow.

    Partitions are told by their number, in whatever topic.
    """

    every: float = 1.0
    """Seconds between commits."""
    rate: float | None = None
    """Offsets that each partition gets processed per second; None: as fast as they come."""
    repeats: bool = True
    """Commits also what it has committed before."""
    stuck: tuple[int, ...] = ()
    """Partitions that are processed no further."""
    skipped: tuple[int, ...] = ()
    """Partitions that are never committed."""
    silent: bool = False
    """Commits nothing."""
    hung: tuple[str, ...] = ()
    """Members that do not even poll; their heartbeats go on."""


@dataclasses.dataclass(frozen=True, slots=True)
class TimedStep:
    """What is done at a moment. With a `mark` the moment when it was done is noted by that name."""

    time: float
    actions: tuple[ScenarioAction, ...]
    mark: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectedVerdict:
    """What must be said of a group from a moment on: any of these verdicts, `after` seconds behind a mark.

    That moment is when one who sees every commit, and the ends at every tick, can know it (`pace`).
    """

    verdicts: tuple[str, ...]
    after: float
    mark: str = "fault"
    says: str = ""
    """What its sentence must say."""


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictScenario:
    """The life of a group. A healthy one has no `expected`: nobody must be called, at no tick."""

    name: str
    kind: Kind
    story: str
    topics: Mapping[str, ScenarioTopic]
    cast: tuple[ScenarioAction, ...]
    """What is done when traffic begins."""
    habit: ClientBehaviour = ClientBehaviour()
    script: tuple[TimedStep, ...] = ()
    expected: tuple[ExpectedVerdict, ...] = ()
    true_as_well: tuple[str, ...] = ()
    """Other sick verdicts that are true of it: no false alarms, though not the cause that is asked for."""
    judged_from: float = 0.0
    """Before this nobody could know the group's habits (a batch, before it has come a second time)."""
    judged_until: float = 10_000.0
    corner: bool = False
    """Must stand in the offsets partition that is kept for those that hold a whole one back."""

    @property
    def causes(self) -> tuple[str, ...]:
        """The verdicts that name its cause exactly: what is expected in the end, apart from being well again."""
        sick = [each for each in self.expected if not set(each.verdicts) & set(FINE)]
        return sick[-1].verdicts if sick else ()
