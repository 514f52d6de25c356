"""The number of replicas by the queries of docs/autoscaling.md, evaluated by promtool."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.chart.alerts.case import run_promtool
from tests.deploy.autoscaling import ADAPTER, BY_PROMETHEUS, SITUATIONS, Situation

pytestmark = pytest.mark.chart


def queries(cluster: str = "") -> dict[str, str]:
    """Return the queries; with the matcher of a cluster, as on the page for a Prometheus with several clusters."""
    of_group = 'group="billing"' + (cluster and f", {cluster}")
    return {
        "KEDA": BY_PROMETHEUS["spec"]["triggers"][0]["metadata"]["query"].replace('group="billing"', of_group),
        "adapter": ADAPTER["rules"]["external"][0]["metricsQuery"].replace("<<.LabelMatchers>>", of_group),
    }


def series(situation: Situation, cluster: str = "") -> dict[str, str]:
    """Return the series of the group in promtool's form, and the series of other groups, which must not count.

    With a cluster, a group of another cluster has the same name, job and instance.
    """
    values = {"members": situation.members, "scalable_lag": situation.scalable_lag}
    values |= {"time_lag_seconds": situation.time_lag}
    found = {
        f'lagwarden_group_{name}{{group="billing",instance="a",{cluster}}}': given for name, given in values.items()
    }
    others = ['group="other",instance="a"', *(['group="billing",instance="a",cluster="west"'] if cluster else [])]
    found |= {f"lagwarden_group_{name}{{{labels}}}": 99999 for name in values for labels in others}
    return {name: f"{value:g}x2" for name, value in found.items() if value is not None}


def expected(query: str, wanted: float | None, cluster: str) -> Mapping[str, Any]:
    """Return the result that promtool must find for a query."""
    labels = [cluster] * bool(cluster) + ['group="billing"'] * ("by (cluster, group)" in query)
    samples = [] if wanted is None else [{"labels": f"{{{','.join(labels)}}}", "value": wanted}]
    return {"expr": query, "eval_time": "1m", "exp_samples": samples}


def promtool_complaints(
    promtool: str, folder: Path, situations: tuple[Situation, ...], cluster: str = ""
) -> str | None:
    """Return promtool's complaints about the results that the table expects, or None."""
    tests = [
        {
            "name": each.name,
            "interval": "30s",
            "input_series": [{"series": name, "values": values} for name, values in series(each, cluster).items()],
            "promql_expr_test": [expected(query, each.wanted, cluster) for query in queries(cluster).values()],
        }
        for each in situations
    ]
    return run_promtool(promtool, tests, folder, [])


def test_the_queries_give_the_number_of_replicas(promtool: str, tmp_path: Path) -> None:
    """Each situation has its number. An unknown input gives no value, so that the autoscaler keeps the number."""
    assert promtool_complaints(promtool, tmp_path, SITUATIONS) is None
