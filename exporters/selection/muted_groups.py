"""The groups whose alerts the configuration mutes: those in a maintenance window, and silenced ones."""

import pyarrow as pa
import pyarrow.compute as pc


def muted_by_configuration(groups: pa.Table) -> pa.ChunkedArray:
    """Return a mask of the rows of GROUPS that a maintenance window or a silence mutes."""
    return pc.or_(groups.column("maintenance_until").is_valid(), groups.column("silence_reason").is_valid())
