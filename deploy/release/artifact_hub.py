"""The annotations of the packaged chart for Artifact Hub that are known at a release only.

`Chart.yaml` has those that do not depend on it. Their names and forms are those of Artifact Hub's documentation,
"Artifact Hub annotations in Helm Chart.yaml file". There is no `signKey`: it is for PGP keys, and releases are signed
by cosign.
"""

from typing import Any, Final

import yaml

PREFIX: Final = "artifacthub.io/"
PLATFORMS: Final = ("linux/amd64", "linux/arm64")
LINKS: Final = {
    "Documentation": "docs/install.md",
    "Metrics": "docs/metrics.md",
    "Comparison with other monitors": "docs/comparison.md",
    "Supported versions": "docs/support.md",
    "Security": "SECURITY.md",
    "Changelog": "CHANGELOG.md",
}
"""Files of the repository that the page of the chart links."""
SCREENSHOTS: Final = {
    "All groups, and the findings of the groups that need attention": "docs/pictures/overview.png",
    "One group: finding, next step, and lag over time": "docs/pictures/group.png",
}
"""Pictures of the repository that the page of the chart shows."""


def release_annotations(image: str, source: str) -> dict[str, str]:
    """Return annotations for a release; without an image or an address of the files, those that need it are absent.

    `image` is NAME@sha256:DIGEST, `source` the address of the repository's files on the forge.
    """
    found: dict[str, Any] = {}
    if image:
        found["images"] = [{"name": "lagwarden", "image": image, "platforms": list(PLATFORMS)}]
    if source:
        base = source.rstrip("/")
        found["links"] = [{"name": name, "url": f"{base}/{path}"} for name, path in LINKS.items()]
        found["screenshots"] = [{"title": name, "url": f"{base}/{path}?raw=true"} for name, path in SCREENSHOTS.items()]
    return {f"{PREFIX}{name}": yaml.safe_dump(value, sort_keys=False, width=1000) for name, value in found.items()}


def with_annotations(chart: str, added: dict[str, str]) -> str:
    """Return the text of Chart.yaml with more annotations; its last key is `annotations`, so they are appended."""
    if not added:
        return chart
    if list(yaml.safe_load(chart))[-1] != "annotations":
        raise ValueError("the last key of Chart.yaml is not annotations")
    lines: list[str] = []
    for name, value in added.items():
        lines += [f"  {name}: |", *(f"    {line}" for line in value.rstrip("\n").splitlines())]
    return "\n".join([chart.rstrip("\n"), *lines, ""])
