"""Converts the section `metrics` of the configuration into the selection of series for the exposition."""

from exporters.catalogue.metric import Preset
from exporters.compatibility.selection import OtherSelection
from exporters.selection.folding import FoldRules
from exporters.selection.name_filter import NameFilter
from exporters.selection.series import Granularity, SeriesSelection
from stream.config.options import MetricsOptions
from stream.config.values import parse_target


def selection_from_options(metrics: MetricsOptions, *, hide_members: bool = False) -> SeriesSelection:
    """Return the configured selection of series. With `hide_members` no label names a member of a group."""
    return SeriesSelection(
        preset=Preset(metrics.preset),
        add=frozenset(metrics.add),
        omit=frozenset(metrics.omit),
        granularity=Granularity(metrics.granularity),
        groups=NameFilter(metrics.groups_allow, metrics.groups_deny),
        topics=NameFilter(metrics.topics_allow, metrics.topics_deny),
        budget=metrics.series_budget or None,
        targets=tuple(parse_target(text) for text in metrics.targets),
        fold=FoldRules(metrics.fold, metrics.fold_generated or None),
        compatibility=OtherSelection(metrics.compatibility, metrics.other_cluster, hide_members),
        cluster=metrics.cluster_name,
    )
