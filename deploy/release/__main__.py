"""Writes the files of a release into `dist`: `python -m deploy.release --tag v0.1.0 --image NAME@DIGEST`.

The exit code is 1 if the versions of the tree differ from the tag; nothing is written then.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from deploy.release.artifacts import build_wheel, package_chart, write_checksums, write_constraints, write_sbom
from deploy.release.versions import differing_versions, project_version


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and write the files. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m deploy.release", description="the files of a release")
    parser.add_argument("--tag", default="", help="the git tag, such as v0.1.0; default: that of the tree's version")
    parser.add_argument("--image", default="", metavar="NAME@DIGEST", help="the image that the chart runs")
    parser.add_argument(
        "--source", default="", metavar="URL", help="the repository's files, for the links of the chart"
    )
    parser.add_argument("--into", type=Path, default=Path("dist"), help="the folder; default: dist")
    parser.add_argument("--only-check", action="store_true", help="compare the versions, and write nothing")
    options = parser.parse_args(arguments)
    differing = differing_versions(options.tag or f"v{project_version()}")
    for line in differing:
        print(f"release: {line}", file=sys.stderr)  # noqa: T201 -- the answer of a build
    if differing:
        return 1
    if not options.only_check:
        options.into.mkdir(parents=True, exist_ok=True)
        chart = package_chart(options.into, options.image, options.source)
        written = [build_wheel(options.into), write_constraints(options.into), chart, write_sbom(options.into)]
        for path in (*written, write_checksums(options.into, written)):
            print(f"release: {path}", flush=True)  # noqa: T201 -- the answer of a build
    return 0


if __name__ == "__main__":
    sys.exit(main())
