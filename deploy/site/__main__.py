"""`python -m deploy.site` writes the site to `build/site/html`, and fails on any broken link or foreign resource."""

import os
import subprocess
import sys
from pathlib import Path

from deploy.chart.tools import ToolsError
from deploy.site.build import SiteError, build
from deploy.site.pages import ROOT


def main() -> int:
    """Build the site. SOURCE_URL is the address of the files on the forge. Returns the exit code."""
    try:
        pages = build(ROOT, ROOT / "build" / "site", source=os.environ.get("SOURCE_URL", ""))
    except (ToolsError, SiteError, subprocess.CalledProcessError) as error:
        print(f"docs: {error}", file=sys.stderr)  # noqa: T201 -- the answer of a build
        return 1
    print(f"docs: {pages} pages in {Path('build') / 'site' / 'html'}")  # noqa: T201 -- the answer of a build
    return 0


if __name__ == "__main__":
    sys.exit(main())
