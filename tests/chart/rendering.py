"""The chart, rendered by Helm's own engine, as the tests of this folder use it."""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
from typing import TYPE_CHECKING, Any, Final

import yaml

from deploy.chart.tools import python_tools
from deploy.chart.values_schema import CHART

if TYPE_CHECKING:
    from pathlib import Path

CASES: Final = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").glob("*-values.yaml"))
"""The sets of values that the chart is rendered with, one file of its folder ci/ each."""

RELEASE: Final = "watch"
NAMESPACE: Final = "kafka"
"""Name and namespace of the rendered release."""
_NOTES: Final = f"{CHART.name}/templates/NOTES.txt"

Object = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Rendered:
    """The objects and notes of a rendered release."""

    objects: tuple[Object, ...]
    notes: str

    def of_kind(self, kind: str) -> list[Object]:
        """Return the objects of one kind."""
        return [one for one in self.objects if one["kind"] == kind]

    def one(self, kind: str) -> Object:
        """Return the only object of its kind, or of several the one with the name of the workload."""
        found = self.of_kind(kind)
        if len(found) > 1:
            own = self.workload["metadata"]["name"]
            found = [one for one in found if one["metadata"]["name"] == own]
        (single,) = found
        return single

    @property
    def service(self) -> Object:
        """The Service of all pods; `shards` adds one for each."""
        spec, name = self.workload["spec"], self.workload["metadata"]["name"]
        (found,) = (one for one in self.of_kind("Service") if one["metadata"]["name"] == spec.get("serviceName", name))
        return found

    @property
    def workload(self) -> Object:
        """The StatefulSet, or with mode operator the SparkApplication."""
        (found,) = self.of_kind("StatefulSet") + self.of_kind("SparkApplication")
        return found

    @property
    def template(self) -> Object:
        """The template of the pod."""
        spec: Object = self.workload["spec"]
        template: Object = spec["template"] if "template" in spec else spec["driverSpec"]["podTemplateSpec"]
        return template

    @property
    def pod(self) -> Object:
        """The specification of the pod."""
        spec: Object = self.template["spec"]
        return spec

    @property
    def container(self) -> Object:
        """The container of lagwarden."""
        (container,) = (one for one in self.pod["containers"] if one["name"] == "lagwarden")
        return dict(container)


def case(name: str) -> Object:
    """Return the values of a case."""
    values: Object = yaml.safe_load((CHART / "ci" / f"{name}-values.yaml").read_text())
    return values


def merged(base: Object, change: Object) -> Object:
    """Return `base` merged with `change`, as Helm merges several values files."""
    both = dict(base)
    for key, value in change.items():
        inner = both.get(key)
        both[key] = merged(inner, value) if isinstance(value, dict) and isinstance(inner, dict) else value
    return both


def render(values: Object, chart: Path = CHART) -> Rendered:
    """Render a release `watch` in the namespace `kafka`. Raises helm_python's HelmError for values that are refused."""
    files = _files(values, chart)
    notes = files.pop(_NOTES)
    objects = [one for text in files.values() for one in yaml.safe_load_all(text) if one]
    return Rendered(tuple(sorted(objects, key=lambda one: (one["kind"], one["metadata"]["name"]))), notes)


def documents(values: Object) -> list[str]:
    """Return the rendered objects as texts, in which a name can occur twice."""
    files = _files(values, CHART)
    files.pop(_NOTES)
    texts = [part for text in files.values() for part in re.split(r"^---$", text, flags=re.MULTILINE)]
    return [text for text in texts if yaml.safe_load(text)]


def lint(values: Object) -> list[str]:
    """Return the errors and warnings of `helm lint --strict`."""
    report = helm_engine().lint(str(CHART), values, strict=True)
    return [*report["errors"], *(one["error"] for one in report["messages"] if one["severity"] > 1)]


def refusal(values: Object, chart: Path = CHART) -> str:
    """Return the error for these values; fails if they are accepted."""
    helm = helm_engine()
    try:
        render(values, chart)
    except helm.HelmError as error:
        return str(error)
    raise AssertionError("these values were not refused")


def _files(values: Object, chart: Path) -> dict[str, str]:
    files: dict[str, str] = helm_engine().Chart.load(str(chart)).render(values, name=RELEASE, namespace=NAMESPACE)
    return files


@functools.cache
def helm_engine() -> Any:
    """Return Helm as a library, the package helm_python."""
    if str(python_tools()) not in sys.path:
        # After the project's own packages, which take precedence.
        sys.path.append(str(python_tools()))
    import helm_python  # noqa: PLC0415 -- it is on the path only now

    return helm_python
