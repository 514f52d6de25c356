"""Every set of values renders to objects that the oldest and the newest supported Kubernetes accept strictly."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from deploy.chart.tools import CUSTOM, ToolsUnreachableError, custom_schema, python_tools
from tests.chart.rendering import CASES, Object, case, every_render, lint, render

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]

OLDEST, NEWEST = "1.25", "1.37"


def _validators() -> Any:
    if str(python_tools()) not in sys.path:
        sys.path.append(str(python_tools()))
    import kubernetes_validate

    return kubernetes_validate


def closed(schema: Any) -> Any:
    """Return a CRD's schema changed to refuse unknown fields, which an API server would silently drop."""
    if not isinstance(schema, dict):
        return [closed(part) for part in schema] if isinstance(schema, list) else schema
    shut = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        shut.setdefault("additionalProperties", False)
    return shut


def faults(schema: Object, value: Object) -> Iterator[str]:
    """Return a CRD schema's complaints about an object. `metadata` is Kubernetes' own and is checked elsewhere."""
    _validators()
    import jsonschema

    checked = closed(schema)
    checked["properties"]["metadata"] = {"type": "object"}
    for error in jsonschema.Draft7Validator(checked).iter_errors(value):
        yield f"{error.json_path}: {error.message}"


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_objects_are_strictly_valid(version: str) -> None:
    """No object has a field that its Kubernetes does not know, or a value of the wrong type."""
    kubernetes = _validators()
    for name, rendered in every_render():
        own = [one for one in rendered.objects if one["kind"] not in {*CUSTOM, "SparkApplication"}]
        assert len(own) >= 3, name
        for one in own:
            kubernetes.validate(one, version, strict=True)


@pytest.mark.parametrize(("kind", "release"), [(kind, release) for kind in CUSTOM for release in CUSTOM[kind].sums])
def test_custom_objects_fit_their_crds(kind: str, release: str) -> None:
    """ServiceMonitor, PrometheusRule and HTTPRoute are valid by their projects' CRDs, without unknown fields."""
    try:
        schema = custom_schema(release, kind)
    except ToolsUnreachableError as error:
        pytest.skip(str(error))
    found = render(case("everything")).of_kind(kind)
    assert found
    assert [fault for one in found for fault in faults(schema, one)] == []
    found[0]["spec"]["surprise"] = 1
    assert any("surprise" in fault for fault in faults(schema, found[0]))


def test_lint_accepts_each_set_of_values() -> None:
    """`helm lint --strict` has no complaint."""
    assert {name: found for name in CASES if (found := lint(case(name)))} == {}
