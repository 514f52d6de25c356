"""The formulas of ScaledObjects, evaluated by the libraries of KEDA."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporters.http.api import group_json
from sandbox.keda.program import MODULE, build, formula_results
from sandbox.programs.go_program import GoProgramMissingError
from tests.deploy.autoscaling import BY_API, SITUATIONS, Situation
from tests.exporters.snapshots import snapshot


def answer(situation: Situation) -> str:
    """Return the response of lagwarden about the group."""
    row = {
        "group": "billing",
        "members": situation.members,
        "scalable_lag": situation.scalable_lag,
        "time_lag_max": situation.time_lag,
    }
    body = group_json(snapshot(groups=[row]), "billing", None)
    assert body is not None
    return body.decode()


def results(scaled_object: dict[str, Any], *bodies: str) -> list[float | str]:
    """Return what KEDA makes of responses; skip without the program."""
    try:
        return formula_results(build(), scaled_object, bodies)
    except GoProgramMissingError as error:
        pytest.skip(str(error))


@pytest.mark.cluster
def test_the_formula_gives_the_number_of_replicas() -> None:
    """In every situation that of the queries; an error where something is null, so that KEDA keeps the number."""
    found = results(BY_API, *map(answer, SITUATIONS))
    for situation, result in zip(SITUATIONS, found, strict=True):
        if situation.wanted is None:
            assert "is of type Null" in str(result), situation.name
        else:
            assert result == situation.wanted, situation.name


@pytest.mark.cluster
def test_an_unknown_trigger_is_an_error() -> None:
    """KEDA refuses such a ScaledObject; the check would find a slip on the page."""
    modifiers = {**BY_API["spec"]["advanced"]["scalingModifiers"], "formula": "membrs + 1"}
    wrong = {**BY_API, "spec": {**BY_API["spec"], "advanced": {"scalingModifiers": modifiers}}}
    (found,) = results(wrong, json.dumps({"members": 1, "scalable_lag": 1, "time_lag_max": 1}))
    assert "unknown name membrs" in str(found)


def test_every_module_has_a_checksum() -> None:
    """Of what KEDA uses, and of what that uses."""
    sums = (MODULE / "go.sum").read_text()
    wanted = [line.split() for line in (MODULE / "go.mod").read_text().splitlines() if line.startswith("\t")]
    assert [name for name, *_ in wanted][:2] == ["github.com/expr-lang/expr", "github.com/tidwall/gjson"]
    assert [name for name, version, *_ in wanted if f"{name} {version}" not in sums] == []
