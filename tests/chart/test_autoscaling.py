"""The number of replicas that the queries of docs/autoscaling.md give, by the engine of Prometheus in promtool.

`tests/sandbox/keda` has the formula of the other example, with the same situations.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from tests.deploy.autoscaling import ADAPTER, BY_PROMETHEUS, SITUATIONS, Situation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.chart

QUERIES: Final = {
    "KEDA": BY_PROMETHEUS["spec"]["triggers"][0]["metadata"]["query"],
    "adapter": ADAPTER["rules"]["external"][0]["metricsQuery"].replace("<<.LabelMatchers>>", 'group="billing"'),
}


def series(situation: Situation) -> dict[str, str]:
    """Return the series of the group in promtool's form, and those of another group, which must not count."""
    values = {"members": situation.members, "scalable_lag": situation.scalable_lag}
    values |= {"time_lag_seconds": situation.time_lag}
    own = {f'lagwarden_group_{name}{{group="billing",instance="a"}}': value for name, value in values.items()}
    other = {f'lagwarden_group_{name}{{group="other",instance="a"}}': 99999 for name in values}
    return {name: f"{value:g}x2" for name, value in {**own, **other}.items() if value is not None}


def expected(query: str, wanted: float | None) -> Mapping[str, Any]:
    """Return what promtool shall find for a query."""
    labels = '{group="billing"}' if "by (group)" in query else "{}"
    samples = [] if wanted is None else [{"labels": labels, "value": wanted}]
    return {"expr": query, "eval_time": "1m", "exp_samples": samples}


def promtool_says(promtool: str, folder: Path, situations: tuple[Situation, ...]) -> str | None:
    """Return the objections of promtool to the results that the table expects, None without any."""
    tests = [
        {
            "name": each.name,
            "interval": "30s",
            "input_series": [{"series": name, "values": values} for name, values in series(each).items()],
            "promql_expr_test": [expected(query, each.wanted) for query in QUERIES.values()],
        }
        for each in situations
    ]
    file = folder / "replicas.yaml"
    file.write_text(yaml.safe_dump({"evaluation_interval": "30s", "tests": tests}))
    done = subprocess.run([promtool, "test", "rules", str(file)], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stdout + done.stderr


def test_the_queries_give_the_number_of_replicas(promtool: str, tmp_path: Path) -> None:
    """In every situation; no value where something is not known, so that the autoscaler keeps the number."""
    assert promtool_says(promtool, tmp_path, SITUATIONS) is None


def test_a_wrong_number_is_noticed(promtool: str, tmp_path: Path) -> None:
    """The table can fail: a wrong number, and a number where there is none."""
    known, unknown = SITUATIONS[0], SITUATIONS[-1]
    for wrong in (known._replace(wanted=7), unknown._replace(wanted=4)):
        assert promtool_says(promtool, tmp_path, (wrong,)) is not None
