"""The export by OTLP: its files in the pod, and the variables that name them."""

import pytest
import yaml

from tests.chart.rendering import case, merged, render

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]


def test_the_files_of_the_secrets_have_their_variables() -> None:
    """Headers, authorities and client certificate are in one folder, and each variable names a file there."""
    rendered = render(case("otlp"))
    (volume,) = (each["projected"] for each in rendered.pod["volumes"] if each["name"] == "otlp")
    (mount,) = (each for each in rendered.container["volumeMounts"] if each["name"] == "otlp")
    files = {
        f"{mount['mountPath']}/{item['path']}"
        for source in volume["sources"]
        for item in next(iter(source.values()))["items"]
    }
    variables = {each["name"]: each.get("value") for each in rendered.container["env"] if "_OTLP_" in each["name"]}
    assert set(variables) == {f"LAGWARDEN_OTLP_{name}_FILE" for name in ("HEADERS", "CA", "CERTIFICATE", "KEY")}
    assert set(variables.values()) == files
    assert mount["readOnly"] is True


def test_an_endpoint_alone_is_only_configuration() -> None:
    """Endpoint, interval and attributes are those of config.otlp, and need no volume."""
    written = yaml.safe_load(render(case("otlp")).one("ConfigMap")["data"]["lagwarden.yaml"])
    assert written["otlp"] == case("otlp")["config"]["otlp"]
    rendered = render(merged(case("minimal"), {"config": {"otlp": {"endpoint": "http://collector:4318/v1/metrics"}}}))
    assert "otlp" not in [each["name"] for each in rendered.pod["volumes"]]
    assert not [each for each in rendered.container["env"] if "_OTLP_" in each["name"]]


def test_executors_do_not_get_the_headers() -> None:
    """Only the driver exports, so executors do not mount the files."""
    rendered = render(merged(case("cluster"), {name: case("otlp")[name] for name in ("credentials", "config")}))
    executor = yaml.safe_load(rendered.one("ConfigMap")["data"]["executor.yaml"])["spec"]
    assert "otlp" in [each["name"] for each in rendered.pod["volumes"]]
    assert "otlp" not in [each["name"] for each in executor["volumes"]]
    assert "otlp" not in [each["name"] for each in executor["containers"][0]["volumeMounts"]]
