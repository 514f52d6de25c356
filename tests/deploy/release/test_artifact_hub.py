"""The metadata for Artifact Hub of a release."""

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from deploy.release.artifact_hub import LINKS, PREFIX, SCREENSHOTS, release_annotations, with_annotations

ROOT: Final = Path(__file__).resolve().parents[3]
CHART: Final = (ROOT / "deploy" / "helm" / "lagwarden" / "Chart.yaml").read_text("utf-8")
IMAGE: Final = "registry.example/team/lagwarden@sha256:" + "0123456789abcdef" * 4
SOURCE: Final = "https://forge.example/team/lagwarden/blob/v0.1.0"
TEXTS: Final = frozenset({"license", "category", "operator", "prerelease"})


def chart_annotations(chart: str) -> dict[str, Any]:
    """Return the annotations of Artifact Hub without their prefix, lists parsed."""
    found = yaml.safe_load(chart)["annotations"]
    assert all(isinstance(value, str) for value in found.values())
    return {
        name.removeprefix(PREFIX): value if name.removeprefix(PREFIX) in TEXTS else yaml.safe_load(value)
        for name, value in found.items()
    }


RELEASED: Final = chart_annotations(with_annotations(CHART, release_annotations(IMAGE, SOURCE)))


def test_a_release_adds_only_annotations_to_the_chart() -> None:
    """The chart of the tree names no address. One in which the annotations are not the last key is refused."""
    assert "://" not in CHART
    assert set(chart_annotations(CHART)) == TEXTS | {"changes"}
    assert with_annotations(CHART, release_annotations("", "")) == CHART
    before, after = yaml.safe_load(CHART), yaml.safe_load(with_annotations(CHART, release_annotations(IMAGE, SOURCE)))
    assert {**after, "annotations": None} == {**before, "annotations": None}
    assert before["annotations"].items() <= after["annotations"].items()
    with pytest.raises(ValueError, match="last key"):
        with_annotations(f"{CHART}deprecated: true\n", {"a": "b"})


def test_addresses_and_image_are_those_of_the_release() -> None:
    """Addresses are the given one with existing files; the image has the given digest and the built platforms."""
    paths = [*LINKS.values(), *SCREENSHOTS.values()]
    assert [path for path in paths if not (ROOT / path).is_file()] == []
    urls = [entry["url"] for name in ("links", "screenshots") for entry in RELEASED[name]]
    assert [url.removeprefix(f"{SOURCE}/").removesuffix("?raw=true") for url in urls] == paths
    (image,) = RELEASED["images"]
    assert image["image"] == IMAGE
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert image["platforms"] == re.findall(r"platform: (linux/\w+)", workflow)
