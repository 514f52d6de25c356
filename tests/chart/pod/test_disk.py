"""The local disk usage of the pods: requests and limits."""

from typing import Final

import pytest

from tests.chart.rendering import Object, case, every_render, merged, render

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]

STORAGE: Final = "ephemeral-storage"
MEBIBYTES: Final = {"Mi": 1, "Gi": 1024}


def mebibytes(quantity: str) -> int:
    return int(quantity[:-2]) * MEBIBYTES[quantity[-2:]]


def disk_of_volumes(pod: Object) -> int:
    """Return the MiB that the emptyDirs of a pod may have; each of them has a limit."""
    return sum(mebibytes(volume["emptyDir"]["sizeLimit"]) for volume in pod["volumes"] if "emptyDir" in volume)


def test_the_limit_holds_the_volumes_on_the_node_and_the_log() -> None:
    """Kubernetes evicts a pod above its limit, so the limit is above all that the volumes may take."""
    for name, rendered in every_render():
        sizes = rendered.container["resources"]
        limit, request = (mebibytes(sizes[kind][STORAGE]) for kind in ("limits", "requests"))
        assert limit >= disk_of_volumes(rendered.pod) + 256, name
        assert 0 < request <= limit, name


def test_the_limit_follows_the_values() -> None:
    """The default limit grows with the volumes, and a limit in the values is kept."""
    changes: list[tuple[Object, str]] = [
        ({}, "4352Mi"),
        ({"tmp": {"sizeLimit": "8Gi"}}, "8448Mi"),
        ({"persistence": {"enabled": False}}, "9472Mi"),
        ({"resources": {"limits": {STORAGE: "20Gi"}}}, "20Gi"),
    ]
    found = [render(merged(case("minimal"), change)).container["resources"]["limits"][STORAGE] for change, _ in changes]
    assert found == [limit for _, limit in changes]
