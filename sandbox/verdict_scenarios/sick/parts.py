"""Topics, times and steps that several sick groups share."""

import itertools
from typing import Final

from sandbox.clients.traffic import ScenarioTopic
from sandbox.verdict_scenarios import scenario as do
from sandbox.verdict_scenarios.scenario import EVENT, TimedStep, step

BATCH: Final = 20.0
"""Seconds between two runs of a batch; an hour of production would be longer than the whole run."""
BATCH_TAKES: Final = 3.0


_phases = itertools.cycle((0.0, 1.2, 0.4, 1.6, 0.8))
"""Seconds, spread over a tick: with equal phases all faults would be found equally late."""


def at_event(*actions: do.ScenarioAction, mark: str = "fault") -> TimedStep:
    """Return a step with these actions at EVENT, shifted by the next phase."""
    return step(EVENT + next(_phases), *actions, mark=mark)


def batch_runs(until: float) -> tuple[TimedStep, ...]:
    """Return the steps of a batch that processes all records at regular times, until a time of the run."""
    starts = [5.0 + BATCH * number for number in range(100)]
    steps = [
        each
        for start in starts
        if start < until
        for each in (
            step(start, do.change_behaviour(rate=400.0)),
            step(start + BATCH_TAKES, do.change_behaviour(rate=0.0), mark="last run"),
        )
    ]
    return tuple(steps)


THREE: Final = {"in": ScenarioTopic(3)}
FOUR: Final = {"in": ScenarioTopic(4)}
