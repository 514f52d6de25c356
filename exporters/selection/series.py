"""What of a snapshot stands in `/metrics`: how fine, of which groups and topics, how much; and each group's target.

Only `/metrics` is chosen. The API and the page, which are asked for one thing at a time, show everything. A choice
never changes a number: what a group's own series sum up stays the sum over all of its partitions.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.readmodel import NAME, SERIES_DROPPED, TARGETS
from exporters.selection.budget import SeriesBudget
from exporters.selection.name_filter import NameFilter, first_match
from exporters.text.samples import shown_rows

if TYPE_CHECKING:
    from exporters.catalogue.metric import Metric
    from exporters.cluster.model import ClusterFacts
    from exporters.readmodel import Snapshot


Model = TypeVar("Model", "Snapshot", "ClusterFacts")


class Granularity(enum.StrEnum):
    """The finest series that there are; the value is the label that only those have."""

    PARTITION = "partition"
    TOPIC = "topic"
    GROUP = "group"

    def has(self, metric: Metric) -> bool:
        """Tell whether a metric is coarse enough."""
        return not _TOO_FINE[self] & set(metric.labels)


_TOO_FINE: Final = {
    Granularity.PARTITION: frozenset[str](),
    Granularity.TOPIC: frozenset({"partition"}),
    Granularity.GROUP: frozenset({"partition", "topic"}),
}


@dataclasses.dataclass(frozen=True, slots=True)
class SeriesSelection:
    """What is wanted in `/metrics`. `targets` are pairs of a pattern and the time lag in seconds; the first counts."""

    granularity: Granularity = Granularity.PARTITION
    groups: NameFilter = dataclasses.field(default_factory=NameFilter)
    topics: NameFilter = dataclasses.field(default_factory=NameFilter)
    budget: int | None = None
    targets: tuple[tuple[str, float], ...] = ()


EVERYTHING: Final = SeriesSelection()
_DEAD: Final = "Dead"


@dataclasses.dataclass(frozen=True, slots=True)
class SelectedSeries:
    """A snapshot with the targets in it, the part of it that is rendered, and the metrics that are."""

    snapshot: Snapshot
    shown: Snapshot
    metrics: tuple[Metric, ...]


class SeriesSelector:
    """Applies a choice to one snapshot after the other; it remembers what the budget had to leave out."""

    def __init__(self, choice: SeriesSelection = EVERYTHING) -> None:
        self._choice = choice
        self._budget = None if choice.budget is None else SeriesBudget(choice.budget)

    @property
    def dropped(self) -> pa.Table:
        """What the budget has left out (schema SERIES_DROPPED)."""
        return SERIES_DROPPED.empty_table() if self._budget is None else self._budget.dropped

    def choose(self, snapshot: Snapshot) -> SelectedSeries:
        """Choose from a snapshot."""
        if self._choice.targets:
            snapshot = dataclasses.replace(snapshot, targets=target_table(snapshot.groups, self._choice.targets))
        shown = filter_by_name(snapshot, self._choice)
        metrics = [metric for metric in SNAPSHOT_METRICS if self._choice.granularity.has(metric)]
        if self._budget is not None:
            living = without_dead_groups(shown)
            kept = self._budget.fit(
                {metric: _series(shown, metric) for metric in metrics},
                {metric: _series(living, metric) for metric in metrics},
            )
            metrics = [metric for metric in metrics if metric in kept.metrics]
            shown = shown if kept.dead else living
        return SelectedSeries(snapshot, shown, tuple(metrics))


def target_table(groups: pa.Table, targets: tuple[tuple[str, float], ...]) -> pa.Table:
    """Give each group the target of the first pattern that matches its name (schema TARGETS); those without none."""
    names = groups.column("group").cast(pa.string()).combine_chunks()
    place = first_match(names, [pattern for pattern, _ in targets])
    seconds = pa.array([target for _, target in targets], pa.float64()).take(place)
    found = pa.table([names.dictionary_encode().cast(NAME), seconds], schema=TARGETS)
    return found.filter(seconds.is_valid())


def without_dead_groups(snapshot: Snapshot) -> Snapshot:
    """Leave out the rows of groups that have died, in every table that names groups."""
    dead = pc.equal(snapshot.groups.column("state").cast(pa.string()), _DEAD).fill_null(False)
    names = snapshot.groups.column("group").filter(dead).cast(pa.string()).combine_chunks()
    if not len(names):
        return snapshot
    fields = [field.name for field in dataclasses.fields(snapshot)]
    tables = {name: table for name in fields if isinstance(table := getattr(snapshot, name), pa.Table)}
    return dataclasses.replace(
        snapshot,
        **{name: _without(table, names) for name, table in tables.items() if "group" in table.column_names},
    )


def _without(table: pa.Table, names: pa.Array) -> pa.Table:
    encoded = table.column("group").unify_dictionaries().combine_chunks()
    kept = pc.invert(pc.is_in(encoded.dictionary, value_set=names))
    return table.filter(kept.take(encoded.indices).fill_null(True))


def filter_by_name(model: Model, choice: SeriesSelection) -> Model:
    """Leave out the rows of groups and topics that are not wanted, in every table of a model that names them."""
    wanted = {
        label: each for label, each in (("group", choice.groups), ("topic", choice.topics)) if not each.everything
    }
    if not wanted:
        return model
    names = [field.name for field in dataclasses.fields(model)]
    tables = {name: table for name in names if isinstance(table := getattr(model, name), pa.Table)}
    return dataclasses.replace(model, **{name: _rows(table, wanted) for name, table in tables.items()})


def _rows(table: pa.Table, wanted: dict[str, NameFilter]) -> pa.Table:
    for label, each in wanted.items():
        if label in table.column_names and len(table):
            table = table.filter(each.rows(table.column(label)))
    return table


def _series(shown: Snapshot, metric: Metric) -> int:
    """Count the series of a metric."""
    shows = shown_rows(getattr(shown, metric.source.value).column(metric.column), metric.unless)
    return int(pc.sum(shows).as_py() or 0)
