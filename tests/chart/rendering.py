"""The chart, rendered by Helm's own engine, as the tests of this folder use it."""

import copy
import dataclasses
import functools
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from deploy.chart.tools import python_tools
from deploy.chart.values_schema import CHART

CASES: Final = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").glob("*-values.yaml"))
"""The sets of values that the chart is rendered with, one file of its folder ci/ each."""

RELEASE: Final = "watch"
NAMESPACE: Final = "kafka"
"""Name and namespace of the rendered release."""
ACCEPTED: Final = "(accepted)"
"""What stands for the error of values that are not refused."""
_NOTES: Final = f"{CHART.name}/templates/NOTES.txt"

Object = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Rendered:
    """The objects and notes of a rendered release."""

    objects: tuple[Object, ...]
    notes: str

    def of_kind(self, kind: str) -> list[Object]:
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
        spec: Object = self.workload["spec"]
        return spec["template"] if "template" in spec else spec["driverSpec"]["podTemplateSpec"]

    @property
    def pod(self) -> Object:
        return self.template["spec"]

    @property
    def container(self) -> Object:
        (container,) = (one for one in self.pod["containers"] if one["name"] == "lagwarden")
        return dict(container)


def case(name: str) -> Object:
    return yaml.safe_load((CHART / "ci" / f"{name}-values.yaml").read_text())


def every_render() -> Iterator[tuple[str, Rendered]]:
    """Yield the name and the objects of each case."""
    return ((name, render(case(name))) for name in CASES)


def merged(base: Object, change: Object) -> Object:
    """Return `base` merged with `change`, as Helm merges several values files."""
    both = dict(base)
    for key, value in change.items():
        inner = both.get(key)
        both[key] = merged(inner, value) if isinstance(value, dict) and isinstance(inner, dict) else value
    return both


def render(values: Object, chart: Path = CHART) -> Rendered:
    """Render a release `watch` in the namespace `kafka`. Raises helm_python's HelmError for values that are refused.

    A render takes long, so that of the chart itself is kept. The caller may change the objects.
    """
    return copy.deepcopy(_render_once(json.dumps(values))) if chart == CHART else _render(values, chart)


@functools.cache
def _render_once(values: str) -> Rendered:
    return _render(json.loads(values), CHART)


def _render(values: Object, chart: Path) -> Rendered:
    files = _files(values, chart)
    notes = files.pop(_NOTES)
    objects = [one for text in files.values() for one in yaml.load_all(text, yaml.CSafeLoader) if one]
    return Rendered(tuple(sorted(objects, key=lambda one: (one["kind"], one["metadata"]["name"]))), notes)


def mounted_items(rendered: Rendered) -> Iterator[tuple[str, Object]]:
    """Yield the volume and the item of each key of a Secret or ConfigMap that is mounted as a file."""
    for volume in rendered.pod["volumes"]:
        for source in (volume, *volume.get("projected", {}).get("sources", [])):
            for item in (source.get("secret") or source.get("configMap") or {}).get("items", []):
                yield volume["name"], item


def pod_variables(rendered: Rendered, folder: Path, contents: Mapping[str, str]) -> dict[str, str]:
    """Write the configuration and the mounted files below a folder; return the container's variables as in the pod.

    `contents` are the texts of mounted files by their names. Paths in variables and files are those of the folder.
    """

    def here(text: str) -> str:
        return text.replace("/run/secrets/lagwarden", str(folder)).replace("/etc/lagwarden", str(folder))

    for volume, item in mounted_items(rendered):
        path = folder / volume / item["path"]
        path.parent.mkdir(exist_ok=True)
        path.write_text(contents.get(item["path"], "text"))
    for name, text in rendered.one("ConfigMap")["data"].items():
        (folder / name).write_text(here(text))
    pod = f"{rendered.workload['metadata']['name']}-0"
    found = {}
    for variable in rendered.container["env"]:
        text = variable.get("value", "broker-9:9092" if "SERVERS" in variable["name"] else "from-a-reference")
        found[variable["name"]] = here(text.replace("$(POD_NAME)", pod))
    return found


def documents(values: Object) -> list[str]:
    """Return the rendered objects as texts, in which a name can occur twice."""
    files = _files(values, CHART)
    files.pop(_NOTES)
    texts = [part for text in files.values() for part in re.split(r"^---$", text, flags=re.MULTILINE)]
    return [text for text in texts if yaml.safe_load(text)]


def lint(values: Object) -> list[str]:
    report = helm_engine().lint(str(CHART), values, strict=True)
    return [*report["errors"], *(one["error"] for one in report["messages"] if one["severity"] > 1)]


def refusal(values: Object, chart: Path = CHART) -> str:
    try:
        _files(values, chart)
    except helm_engine().HelmError as error:
        return str(error)
    return ACCEPTED


def _files(values: Object, chart: Path) -> dict[str, str]:
    return helm_engine().Chart.load(str(chart)).render(values, name=RELEASE, namespace=NAMESPACE)


@functools.cache
def helm_engine() -> Any:
    """Return Helm as a library, the package helm_python."""
    if str(python_tools()) not in sys.path:
        # After the project's own packages, which take precedence.
        sys.path.append(str(python_tools()))
    import helm_python

    return helm_python
