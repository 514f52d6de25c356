"""The other exporters' metrics in the selection: off by default, and subject to patterns, granularity and budget."""

from exporters.cluster.exposition import PublishedCluster
from exporters.compatibility.selection import OTHER_EXPORTERS, OtherSelection
from exporters.http.openapi.small_world import small_cluster
from exporters.selection.series import SeriesSelection, SeriesSelector
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.compatibility.other_world import NAMES, snapshot_at

ALL_NAMES = {metric.name for other in OTHER_EXPORTERS for metric in other.metrics}


def shown(selection: SeriesSelection) -> list[str]:
    """Return the names of the rendered metrics about groups."""
    families = PublishedSnapshot.build(snapshot_at(), SeriesSelector(selection)).exposition.families
    return [family.metric.name for family in families]


def test_no_other_name_is_shown_by_default() -> None:
    """No metric has a name of another exporter unless the configuration selects it."""
    families = PublishedCluster.build(small_cluster()).exposition.families
    assert not ALL_NAMES & {*shown(SeriesSelection()), *(family.metric.name for family in families)}


def test_own_metrics_stay_and_come_first() -> None:
    """The names of an exporter are added after lagwarden's own metrics, which stay the same.

    An exporter that is named twice has each metric once: a duplicate sample would fail the whole scrape.
    """
    own = shown(SeriesSelection())
    both = shown(SeriesSelection(compatibility=OtherSelection(("kminion",), "c")))
    assert both[: len(own)] == own
    assert set(both[len(own) :]) == {metric.name for metric in OTHER_EXPORTERS[2].metrics if metric.source.in_snapshot}
    assert shown(SeriesSelection(compatibility=OtherSelection(("kminion", "kminion"), "c"))) == both


def test_the_budget_drops_metrics_of_other_exporters_first() -> None:
    """A budget for lagwarden's own series keeps all of them; metrics of other exporters are dropped and counted."""
    own = PublishedSnapshot.build(snapshot_at()).exposition
    budget = (own.series * 4 + 2) // 3 + 1
    selector = SeriesSelector(SeriesSelection(budget=budget, compatibility=OtherSelection(NAMES, "c")))
    families = PublishedSnapshot.build(snapshot_at(), selector).exposition.families
    own_names = {family.metric.name for family in own.families}
    assert {family.metric.name for family in families} >= own_names
    dropped = set(selector.dropped.column("metric").to_pylist())
    assert dropped
    assert dropped <= ALL_NAMES
