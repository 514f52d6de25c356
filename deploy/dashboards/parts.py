"""The parts of all dashboards: queries scoped to one monitor, panels with common defaults, variables, links.

No metric is named here but the ones that the variables list.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import json
import re
from collections.abc import Sequence
from typing import Final

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as common_models
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE: Final = common_models.DataSourceRef(type_val="prometheus", uid="${datasource}")
TARGET: Final = 'job=~"$job", instance=~"$instance"'
"""Label matchers of the series of a scrape itself, which have no other labels: the selected monitor."""
SCOPE: Final = f'{TARGET}, cluster=~"$cluster"'
"""Label matchers of every other query: the selected monitor and cluster. All clusters: also series without a name."""
OF_GROUP: Final = f'{SCOPE}, group="$group"'
"""Label matchers of the Group dashboard."""
PLAIN: Final = ("green", ())
"""Colours without a limit: the first colour, and (from where on, colour)."""

WIDTH: Final = 24
_NAMES: Final = "ABCDEFGH"
"""Of the queries of a panel."""
_INTERVAL: Final = "$__rate_interval"
_REFRESH: Final = "30s"
_UIDS: Final = {"Overview": "lagwarden-overview", "Group": "lagwarden-group", "Monitor": "lagwarden-monitor"}

Colours = tuple[str, tuple[tuple[float, str], ...]]


@dataclasses.dataclass(frozen=True, slots=True)
class Query:
    """An expression and the legend of its series.

    `SCOPE`, `TARGET` and `OF_GROUP` stand for those matchers, and metrics without matchers have `SCOPE`; `RATE` is the
    interval of a rate. In the legend, `INSTANCE` stands for the labels of instance and cluster.

    A unit of its own, other than the panel's, gives its series an axis at the right.
    """

    expression: str
    legend: str = ""
    unit: Unit | None = None

    @property
    def text(self) -> str:
        """The expression as Grafana gets it."""
        text = re.sub(r"\blagwarden_\w+\b(?!{)", r"\g<0>{SCOPE}", self.expression)
        for word, matchers in (("OF_GROUP", OF_GROUP), ("SCOPE", SCOPE), ("TARGET", TARGET), ("RATE", _INTERVAL)):
            text = text.replace(word, matchers)
        return text


class Unit(enum.StrEnum):
    """Units as Grafana calls them, and the panels whose values have a unit."""

    SECONDS = "s"
    BYTES = "bytes"
    COUNT = "short"
    RATE = "cps"
    BYTES_PER_SECOND = "Bps"
    RATIO = "percentunit"
    MOMENT = "dateTimeAsIso"
    CORES = "none"

    def graph(self, description: str, *queries: Query, width: int = 12, stacked: bool = False) -> timeseries.Panel:
        """Return a time series panel. Its legend is a table with the last and the largest value."""
        panel = (
            timeseries.Panel()
            .description(description)
            .datasource(SOURCE)
            .unit(self)
            .height(8)
            .span(width)
            .line_width(1)
            .fill_opacity(30 if stacked else 0)
            .min(0)
            .legend(_legend())
            .tooltip(common.VizTooltipOptions().mode(common_models.TooltipDisplayMode.MULTI))
        )
        if stacked:
            panel = panel.stacking(common.StackingConfig().mode(common_models.StackingMode.NORMAL))
        for name, query in zip(_NAMES, queries, strict=False):
            panel = panel.with_target(_target(name, query).range())
            if query.unit is not None:
                own = {"unit": query.unit.value, "custom.axisPlacement": "right"}
                values = [models.DynamicConfigValue(id_val=option, value=value) for option, value in own.items()]
                panel = panel.override_by_query(name, values)
        return panel

    def figure(
        self, description: str, query: Query, *, width: int = 4, colours: Colours = PLAIN, named: bool = False
    ) -> stat.Panel:
        """Return a panel with one number; with `named`, with the name of the series, for facts that are labels."""
        return (
            stat.Panel()
            .description(description)
            .datasource(SOURCE)
            .unit(self)
            .height(4)
            .span(width)
            .thresholds(_thresholds(colours))
            .text_mode(common_models.BigValueTextMode.NAME if named else common_models.BigValueTextMode.AUTO)
            .graph_mode(common_models.BigValueGraphMode.NONE)
            .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
            .with_target(_target("A", query).instant())
        )


def listing(
    description: str, columns: dict[str, tuple[Unit, str]], *, width: int = 12, labels: Sequence[str] = ("group",)
) -> table.Panel:
    """Return a table panel: one row per label set, one column per query, by heading: unit, expression.

    Sorted by the first query's column, the greatest first; a group leads to its own dashboard.
    """
    headings = {f"Value #{name}": heading for name, heading in zip(_NAMES, columns, strict=False)}
    hidden = dict.fromkeys(("Time", "job", "instance", "__name__"), True)
    order = {name: at for at, name in enumerate((*labels, "cluster", *headings))}
    panel = (
        table.Panel()
        .description(description)
        .datasource(SOURCE)
        .unit(Unit.COUNT)
        .height(9)
        .span(width)
        .no_value("none")
        .sort_by([common.TableSortByFieldState().display_name(next(iter(headings.values()))).desc(True)])
        .with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(
            models.DataTransformerConfig(
                id_val="organize", options={"excludeByName": hidden, "indexByName": order, "renameByName": headings}
            )
        )
        .override_by_name("group", [models.DynamicConfigValue(id_val="links", value=[_group_link()])])
    )
    for name, (heading, (unit, expression)) in zip(_NAMES, columns.items(), strict=False):
        target = _target(name, Query(expression)).instant().format(PromQueryFormat.TABLE)
        panel = panel.with_target(target)
        panel = panel.override_by_name(heading, [models.DynamicConfigValue(id_val="unit", value=unit.value)])
    return panel


Panel = timeseries.Panel | stat.Panel | table.Panel


def board(
    name: str, description: str, rows: dict[str, dict[str, Panel]], variables: Sequence[dashboard.QueryVariable] = ()
) -> dashboard.Dashboard:
    """Return a dashboard of rows of panels by title, scoped to a monitor and a cluster, with links to the others."""
    made = (
        dashboard.Dashboard(f"lagwarden / {name}")
        .uid(_UIDS[name])
        .description(description)
        .tags(["lagwarden", "kafka"])
        .readonly()
        .refresh(_REFRESH)
        .time("now-3h", "now")
        .timezone("browser")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(choice("job", "Job", "label_values(lagwarden_build_info, job)"))
        .with_variable(
            choice("cluster", "Cluster", 'label_values(lagwarden_build_info{job=~"$job"}, cluster)', all_value=".*")
        )
        .with_variable(
            choice(
                "instance", "Instance", 'label_values(lagwarden_build_info{job=~"$job", cluster=~"$cluster"}, instance)'
            )
        )
    )
    for variable in variables:
        made = made.with_variable(variable)
    for other, uid in _UIDS.items():
        if other != name:
            made = made.link(_link(f"lagwarden / {other}", f"/d/{uid}"))
    number = itertools.count(1)
    for title, panels in rows.items():
        made = made.with_row(dashboard.Row(title).id(next(number)))
        for heading, panel in panels.items():
            made = made.with_panel(panel.title(heading).id(next(number)))
    return made


def choice(
    name: str, label: str, query: str, *, several: bool = True, all_value: str = ".+"
) -> dashboard.QueryVariable:
    """Return a variable of the values of a label, queried again whenever the time range changes.

    `all_value` is the regular expression of all values; `.*` also matches series without the label.
    """
    made = (
        dashboard.QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query({"query": query, "refId": f"variable-{name}", "qryType": 1})
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(several)
        .include_all(several)
    )
    if several:
        made = made.all_value(all_value).current(models.VariableOption(text=["All"], value=["$__all"], selected=True))
    return made


def marks(name: str, expression: str, text: str, colour: str, *, at_value: bool = False) -> dashboard.AnnotationQuery:
    """Return annotations where an expression has a sample; with `at_value`, at its value as time in ms."""
    return (
        dashboard.AnnotationQuery()
        .name(name)
        .datasource(SOURCE)
        .enable(True)
        .icon_color(colour)
        .expr(Query(expression).text)
        .step("30s")
        .title_format(name)
        .text_format(text)
        .use_value_for_time(at_value)
    )


def json_text(builder: dashboard.Dashboard) -> str:
    """Return the JSON of a dashboard, in the form that every Grafana from version 10 on reads."""
    return json.dumps(builder.build(), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _target(name: str, query: Query) -> prometheus.Dataquery:
    return (
        prometheus.Dataquery()
        .ref_id(name)
        .datasource(SOURCE)
        .expr(query.text)
        .legend_format(query.legend.replace("INSTANCE", "{{instance}} {{cluster}}"))
    )


def _legend() -> common.VizLegendOptions:
    return (
        common.VizLegendOptions()
        .display_mode(common_models.LegendDisplayMode.TABLE)
        .placement(common_models.LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs(["lastNotNull", "max"])
    )


def _thresholds(colours: Colours) -> dashboard.ThresholdsConfig:
    first, others = colours
    steps = [
        models.Threshold(value=None, color=first),
        *(models.Threshold(value=at, color=name) for at, name in others),
    ]
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps)


def _link(title: str, url: str) -> dashboard.DashboardLink:
    made = dashboard.DashboardLink(title).type(models.DashboardLinkType.LINK).url(url)
    return made.include_vars(True).keep_time(True).icon("dashboard").placement("")


def _group_link() -> dict[str, str]:
    scope = "&".join(f"${{{name}:queryparam}}" for name in ("datasource", "job", "cluster", "instance"))
    url = f"/d/{_UIDS['Group']}?{scope}&var-group=${{__data.fields.group}}&${{__url_time_range}}"
    return {"title": "Open the group", "url": url}
