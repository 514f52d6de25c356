"""The number of replicas by the queries of docs/autoscaling.md, evaluated by promtool."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.chart.alerts.case import run_promtool
from tests.deploy.autoscaling import ADAPTER, BY_PROMETHEUS, SITUATIONS, Situation

pytestmark = pytest.mark.chart

GROUP: Final = 'group="billing"'
QUERIES: Final = (
    BY_PROMETHEUS["spec"]["triggers"][0]["metadata"]["query"],
    ADAPTER["rules"]["external"][0]["metricsQuery"].replace("<<.LabelMatchers>>", GROUP),
)


def series(situation: Situation) -> dict[str, str]:
    """Return the series of the group in promtool's form, and the series of another group, which must not count."""
    values = {"members": situation.members, "scalable_lag": situation.scalable_lag}
    values |= {"time_lag_seconds": situation.time_lag}
    found = {f'lagwarden_group_{name}{{{GROUP},instance="a"}}': given for name, given in values.items()}
    found |= {f'lagwarden_group_{name}{{group="other",instance="a"}}': 99999 for name in values}
    return {name: f"{value:g}x2" for name, value in found.items() if value is not None}


def expected(query: str, wanted: float | None) -> Mapping[str, Any]:
    """Return the result that promtool must find for a query."""
    labels = GROUP if "by (cluster, group)" in query else ""
    samples = [] if wanted is None else [{"labels": f"{{{labels}}}", "value": wanted}]
    return {"expr": query, "eval_time": "1m", "exp_samples": samples}


def test_the_queries_give_the_number_of_replicas(promtool: str, tmp_path: Path) -> None:
    """Each situation has its number. An unknown input gives no value, so that the autoscaler keeps the number."""
    tests = [
        {
            "name": each.name,
            "interval": "30s",
            "input_series": [{"series": name, "values": values} for name, values in series(each).items()],
            "promql_expr_test": [expected(query, each.wanted) for query in QUERIES],
        }
        for each in SITUATIONS
    ]
    assert run_promtool(promtool, tests, tmp_path, []) is None
