"""KEDA's scale handler, which refuses ScaledObjects with faults."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from deploy.chart.tools import KEDA
from sandbox.keda.program import MODULE, build, evaluate, version
from sandbox.programs.go_program import GoProgramMissingError
from tests.deploy.autoscaling import BY_API, BY_PROMETHEUS


def changed(example: dict[str, Any], trigger: int, **metadata: str) -> dict[str, Any]:
    """Return an example with other metadata of one trigger."""
    found = copy.deepcopy(example)
    found["spec"]["triggers"][trigger]["metadata"] |= metadata
    return found


def with_modifiers(**modifiers: str) -> dict[str, Any]:
    """Return the example of the API with other modifiers."""
    found = copy.deepcopy(BY_API)
    found["spec"]["advanced"]["scalingModifiers"] |= modifiers
    return found


@pytest.mark.cluster
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("scaled_object", "reason"),
    [
        pytest.param(with_modifiers(formula="membrs + 1"), "unknown name membrs", id="an unknown trigger"),
        pytest.param(with_modifiers(target="0"), "target for scalingModifiers", id="target 0"),
        pytest.param(changed(BY_API, 0, format="text"), "must be one of", id="an unknown format"),
        pytest.param(changed(BY_PROMETHEUS, 0, threshold="one"), "threshold", id="a threshold that is no number"),
        pytest.param(changed(BY_PROMETHEUS, 0, serverAddress=""), "serverAddress", id="no address"),
    ],
)
def test_faults_of_a_scaled_object_are_found(scaled_object: dict[str, Any], reason: str) -> None:
    """KEDA reports each fault and computes no value, so an error on the page would be found."""
    try:
        program = build()
    except GoProgramMissingError as error:
        pytest.skip(str(error))
    (found,) = evaluate(program, scaled_object)
    assert found.value is None
    assert reason in found.errors


def test_the_version_is_that_of_the_definitions() -> None:
    """The API server validates ScaledObjects by the definition of the same KEDA release."""
    assert version().removeprefix("v") == KEDA.newest.removeprefix("v")


def test_every_module_has_a_checksum() -> None:
    """The direct and the indirect modules of KEDA are in go.sum."""
    sums = (MODULE / "go.sum").read_text()
    lines = (MODULE / "go.mod").read_text().splitlines()
    wanted = [line.split()[:2] for line in lines if line.startswith("\t")]
    replaced = {line.split()[1] for line in lines if line.startswith("replace ")}
    assert [name for name, number in wanted if f"{name} {number}" not in sums and name not in replaced] == []
