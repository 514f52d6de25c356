"""The inputs of health for one tick, from a driver state and end offsets."""

import pyarrow as pa

from stream.groups.driver_state import GroupColumns
from stream.health.inputs import HealthInputs
from stream.health.limits import HealthLimits
from stream.tick.context import UNKNOWN_CLUSTER, ClusterContext
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.model import nothing_hidden
from stream.tick.inputs.builder import InputBuilder


def health_inputs(
    state: GroupColumns,
    ends: pa.Table,
    now: float,
    context: ClusterContext = UNKNOWN_CLUSTER,
    limits: HealthLimits | None = None,
) -> HealthInputs:
    """Return the inputs of a process at its first tick, at `now` (Unix seconds); nothing is hidden in the log."""
    return InputBuilder(limits).build(nothing_hidden(state), EndsIndex(ends), context, now)[1]
