"""The derived state and the inputs of health for one tick, from a driver state and end offsets."""

from typing import Any

import pyarrow as pa

from stream.groups.driver_state import GroupColumns
from stream.health.inputs import HealthInputs
from stream.health.limits import HealthLimits
from stream.tick.context import UNKNOWN_CLUSTER, ClusterContext, DerivedState, TickFacts, derive
from stream.tick.ends_index import EndsIndex
from stream.tick.inputs.builder import InputBuilder


def derived(
    state: GroupColumns, ends: pa.Table, now: float, cluster: ClusterContext = UNKNOWN_CLUSTER, **facts: Any
) -> DerivedState:
    """Return the derived state at `now` (Unix seconds); nothing is hidden in the log."""
    return derive(TickFacts(state, EndsIndex(ends), now, cluster, **facts))


def health_inputs(
    state: GroupColumns,
    ends: pa.Table,
    now: float,
    cluster: ClusterContext = UNKNOWN_CLUSTER,
    limits: HealthLimits | None = None,
    **facts: Any,
) -> HealthInputs:
    """Return the inputs of a process at its first tick."""
    return InputBuilder(limits).build(derived(state, ends, now, cluster, **facts))[1]
