"""The series and labels that a PromQL expression uses, by a parser independent of Prometheus."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from exporters.catalogue.metric import MetricKind
from exporters.catalogue.metrics import METRICS

promql_parser = pytest.importorskip("promql_parser", reason="promql-parser is not installed (the dev extra has it)")

TARGET_LABELS: Final = frozenset({"job", "instance"})
"""The labels that every scrape adds. Queries must not use labels of a particular site."""
CLUSTER_LABELS: Final = frozenset({"cluster"})
"""The label that all series of lagwarden have if `metrics.cluster_name` is set."""
POD: Final = "pod"
"""The label that Prometheus' operator adds per target. Sums over instances leave it out, wherever it is."""
OTHERS: Final = {
    "up": TARGET_LABELS,
    "process_start_time_seconds": TARGET_LABELS | CLUSTER_LABELS,
    "process_resident_memory_bytes": TARGET_LABELS | CLUSTER_LABELS,
    "process_cpu_seconds_total": TARGET_LABELS | CLUSTER_LABELS,
    "process_open_fds": TARGET_LABELS | CLUSTER_LABELS,
    "scrape_duration_seconds": TARGET_LABELS,
    "scrape_samples_scraped": TARGET_LABELS,
    "ALERTS": TARGET_LABELS | CLUSTER_LABELS | {"alertname", "alertstate", "severity", "about", "group"},
}
"""Series that are not lagwarden's own: of Prometheus, and of the process."""


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """One series selector, with the functions around it, the innermost last."""

    metric: str
    matchers: tuple[tuple[str, str, str], ...]
    inside: tuple[str, ...]

    @property
    def labels(self) -> set[str]:
        return {name for name, _, _ in self.matchers}


def parsed(expression: str) -> Any:
    """Parse an expression. Raises ValueError with the message of the parser."""
    return promql_parser.parse(expression)


def asked(expression: str) -> list[Asked]:
    """Return every selector of an expression."""
    return list(_walk(parsed(expression), ()))


def selects(selector: Asked, labels: Mapping[str, str]) -> bool:
    """Return whether the matchers of a selector, which are of these labels only, select a series with them."""
    for name, op, value in selector.matchers:
        hit = re.fullmatch(value, labels[name]) if "Re" in op else value == labels[name]
        if bool(hit) == ("Not" in op):
            return False
    return True


def template_queries(text: str) -> list[str]:
    """Return the expressions that the template of an annotation queries, with `x` for each label value."""
    found = re.findall(r'printf ("(?:[^"\\]|\\.)*") [^|}]*\| query', text)
    return [json.loads(each).replace("%q", '"x"') for each in found]


def metrics_of(expression: str, recorded: dict[str, str]) -> set[str]:
    """Return the names of the series that an expression uses, those behind recording rules instead of their results."""
    names = {each.metric for each in asked(expression)}
    behind = (metrics_of(recorded[name], recorded) for name in names & recorded.keys())
    return (names - recorded.keys()).union(*behind)


def _walk(node: Any, inside: tuple[str, ...]) -> Iterator[Asked]:
    match type(node).__name__:
        case "VectorSelector":
            matchers = tuple((each.name, str(each.op), each.value) for each in node.matchers.matchers)
            yield Asked(node.name, matchers, inside)
        case "MatrixSelector":
            yield from _walk(node.vector_selector, inside)
        case "Call":
            for argument in node.args:
                yield from _walk(argument, (*inside, node.func.name))
        case "BinaryExpr":
            yield from _walk(node.lhs, inside)
            yield from _walk(node.rhs, inside)
        case "AggregateExpr":
            yield from _walk(node.expr, (*inside, str(node.op)))
        case "NumberLiteral" | "StringLiteral":
            pass
        case _:
            yield from _walk(node.expr, inside)


def named_labels(expression: str) -> set[str]:
    """Return the labels by which an expression groups or matches: by, without, on, ignoring, group_left and so on."""
    found = re.findall(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)", expression)
    return {label.strip() for labels in found for label in labels.split(",") if label.strip()}


def clusters_mixed(expression: str) -> list[str]:
    """Return the parts of an expression that add up or join series of different clusters.

    `cluster_name`, the label of kafka-lag-exporter, also distinguishes clusters. A sum of everything is right if a
    selector selects one cluster, because joins are within a cluster.
    """
    kept = re.findall(r"\b((?:by|on)\s*\(([^)]*)\))", expression)
    left = re.findall(r"\b((?:without|ignoring)\s*\(([^)]*)\))", expression)
    found = [part for part, labels in kept if not {"cluster", "cluster_name"} & set(re.split(r"[ ,]+", labels))]
    found += [part for part, labels in left if "cluster" in re.split(r"[ ,]+", labels)]
    everything = re.findall(r"\b(sum|max|min|avg|count|group|quantile|stddev|topk|bottomk)\s*\(", expression)
    if any(("cluster", "MatchOp.Equal") in [matcher[:2] for matcher in each.matchers] for each in asked(expression)):
        return found
    return found + [f"{function} of everything" for function in everything]


def keeps_clusters(expression: str, series: Mapping[str, frozenset[str]]) -> bool:
    """Return whether the result has a series per cluster; `series` has the labels of every existing series."""
    return _has_clusters(parsed(expression), series)


def _has_clusters(node: Any, series: Mapping[str, frozenset[str]]) -> bool:
    match type(node).__name__:
        case "VectorSelector":
            return "cluster" in series[node.name]
        case "AggregateExpr" if str(node.op) not in {"topk", "bottomk"}:
            return node.modifier is not None and "cluster" in node.modifier.labels
        case _:
            return any(_has_clusters(part, series) for part in _labelled_parts(node))


def _labelled_parts(node: Any) -> list[Any]:
    """Return the parts of an expression whose labels its result has."""
    match type(node).__name__:
        case "MatrixSelector":
            return [node.vector_selector]
        case "Call":
            return list(node.args)
        case "BinaryExpr":
            # The left side has no selector if it is a number or a time. Otherwise a join keeps its labels.
            return [node.lhs if any(_walk(node.lhs, ())) else node.rhs]
        case "NumberLiteral" | "StringLiteral":
            return []
        case _:
            return [node.expr]


def known(recorded: dict[str, str]) -> dict[str, frozenset[str]]:
    """Return the labels of every existing series; `recorded` has the expressions of recording rules by name."""
    own = TARGET_LABELS | CLUSTER_LABELS
    series = {metric.name: frozenset(metric.labels) | own for metric in METRICS} | OTHERS
    for metric in METRICS:
        if metric.kind is MetricKind.HISTOGRAM:
            for end in ("_bucket", "_sum", "_count"):
                series[f"{metric.name}{end}"] = series[metric.name] | {"le"}
    for name, expression in recorded.items():
        series[name] = frozenset[str]().union(*(series[each.metric] for each in asked(expression)))
    return series


def faults(expression: str, series: dict[str, frozenset[str]]) -> list[str]:
    """Return the faults of an expression: series or labels that do not exist, rates of series that are no counters."""
    found = []
    counters = {metric.name for metric in METRICS if metric.kind is MetricKind.COUNTER}
    selectors = asked(expression)
    for each in selectors:
        if each.metric not in series:
            found.append(f"no such series: {each.metric}")
            continue
        found += [f"{each.metric} has no label {label}" for label in sorted(each.labels - series[each.metric])]
        is_counter = each.metric in counters or each.metric.endswith(("_bucket", "_total"))
        if set(each.inside) & {"rate", "increase", "irate"} and not is_counter:
            found.append(f"{each.metric} is no counter, and stands in a rate")
    there = frozenset[str]().union(*(series.get(each.metric, frozenset()) for each in selectors))
    found += [f"no series has the label {label}" for label in sorted(named_labels(expression) - there - {POD})]
    return found
