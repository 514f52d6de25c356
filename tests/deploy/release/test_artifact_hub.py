"""The metadata for Artifact Hub, compared with the forms in its documentation."""

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
CATEGORIES: Final = frozenset(
    {
        *("ai-machine-learning", "database", "integration-delivery", "monitoring-logging", "networking", "security"),
        *("storage", "streaming-messaging", "skip-prediction"),
    }
)
KINDS: Final = frozenset({"added", "changed", "deprecated", "removed", "fixed", "security"})
TEXTS: Final = frozenset({"license", "category", "operator", "prerelease"})
KEYS: Final[dict[str, tuple[set[str], set[str]]]] = {
    "changes": ({"kind", "description"}, {"links"}),
    "images": ({"name", "image"}, {"whitelisted", "platforms"}),
    "links": ({"name", "url"}, set()),
    "screenshots": ({"title", "url"}, set()),
}
"""Lists of entries: the keys that each entry needs, and those that it may have."""


def chart_annotations(chart: str) -> dict[str, Any]:
    """Return the annotations of Artifact Hub without their prefix, lists parsed."""
    found = yaml.safe_load(chart)["annotations"]
    assert all(isinstance(value, str) for value in found.values())
    return {
        name.removeprefix(PREFIX): value if name.removeprefix(PREFIX) in TEXTS else yaml.safe_load(value)
        for name, value in found.items()
    }


RELEASED: Final = chart_annotations(with_annotations(CHART, release_annotations(IMAGE, SOURCE)))


def test_annotations_and_metadata_have_the_documented_forms() -> None:
    """Each entry has the keys that it needs and no others; pre-releases are ignored, releases are not."""
    assert set(RELEASED) == TEXTS | set(KEYS)
    for name, (needed, allowed) in KEYS.items():
        assert RELEASED[name]
        for entry in RELEASED[name]:
            assert needed <= set(entry) <= needed | allowed, name
    assert RELEASED["category"] in CATEGORIES
    assert RELEASED["license"] == "Apache-2.0"
    assert {RELEASED["operator"], RELEASED["prerelease"]} <= {"true", "false"}
    assert {change["kind"] for change in RELEASED["changes"]} <= KINDS
    metadata = yaml.safe_load((ROOT / "deploy" / "helm" / "artifacthub-repo.yml").read_text())
    assert set(metadata) <= {"repositoryID", "owners", "ignore"}
    (ignored,) = metadata["ignore"]
    assert ignored["name"] == yaml.safe_load(CHART)["name"]
    assert re.fullmatch(ignored["version"], "0.2.0-rc.1")
    assert not re.fullmatch(ignored["version"], "0.2.0")


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
