"""Stands for the lookups where there is no cluster, as in tests and benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.tick.context import LookupResults
from stream.tick.hidden_commits.model import nothing_hidden

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.groups.driver_state import GroupColumns
    from stream.health.columns import Ints
    from stream.health.features.partition_history import PartitionHistory
    from stream.health.features.window import Window
    from stream.health.inputs import HealthInputs
    from stream.tick.ends_index import EndsIndex
    from stream.tick.hidden_commits.model import HiddenCommits


class NoLookups:
    """Makes no lookups; has the methods of `stream.tick.lookups.scheduler.LookupScheduler`."""

    topics: frozenset[str] = frozenset()
    groups_with_hidden_records: frozenset[str] = frozenset()

    def set_read_positions(self, positions: Mapping[int, int]) -> None:
        """Do nothing."""

    def read_hidden_commits(self) -> None:
        """Do nothing."""

    def apply_hidden_commits(self, state: GroupColumns, ends: EndsIndex, now: float) -> HiddenCommits:  # noqa: ARG002 - those of LookupScheduler
        """Return the driver state unchanged."""
        return nothing_hidden(state)

    def look_up(self, state: GroupColumns, ends: EndsIndex, now: float) -> LookupResults:  # noqa: ARG002 - those of LookupScheduler
        """Return no results."""
        return LookupResults()

    def backfill_ends(self, inputs: HealthInputs) -> tuple[Ints, Ints] | None:  # noqa: ARG002 - those of LookupScheduler
        """Return None."""
        return None

    def schedule(self, window: Window) -> None:
        """Do nothing."""

    def search_offset_times(self, window: Window, history: PartitionHistory) -> None:
        """Do nothing."""
