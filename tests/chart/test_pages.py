"""Generated files are current. These tests need no Helm, so they run with the quick tests."""

import tomllib

import yaml

from deploy.chart.readme import PATH as README
from deploy.chart.readme import VALUES, page
from deploy.chart.values_schema import CHART, PATH, text
from stream.config.options import SECTIONS

ROOT = CHART.parents[2]


def test_schema_and_readme_are_current() -> None:
    """Each option has a value with the same limits; the README has every value with its default and its comment."""
    assert PATH.read_text() == text(), "the schema is old: python -m deploy.chart.values_schema"
    current = README.read_text()
    assert current == page(current, VALUES.read_text()), "the table is old: python -m deploy.chart.readme"


def test_the_chart_names_version_and_port_of_the_program() -> None:
    """appVersion, also the image's tag, is the package's version; the container port is the program's default."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert chart["appVersion"] == project["version"]
    port = SECTIONS["http"].model_fields["port"].default
    assert f"containerPort: {port}\n" in (CHART / "templates" / "_pod.tpl").read_text()
    assert f"EXPOSE {port}\n" in (ROOT / "deploy" / "Dockerfile").read_text()


def test_the_build_tools_are_those_of_the_environment() -> None:
    """The requirements of a build have the hashes of requirements/dev.txt."""
    environment = (ROOT / "requirements" / "dev.txt").read_text()
    lines = (ROOT / "requirements" / "build.txt").read_text().splitlines()
    pins = [line.strip(" \\") for line in lines if line.strip() and not line.startswith("#")]
    assert len(pins) > 5
    assert [pin for pin in pins if pin not in environment] == []
