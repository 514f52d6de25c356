"""Takes the pictures of the pages for the documentation: `python -m tests.page.pictures` writes into docs/pictures.

They show the demo data of the tests after ten minutes of snapshots, without its hostile names.
"""

from __future__ import annotations

import dataclasses
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from tests.page.chromium import Browser, find
from tests.page.demo_data import Served, demo_snapshot

if TYPE_CHECKING:
    from exporters.readmodel import Snapshot

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "pictures"
UPDATED: Final = "performance.getEntriesByType('resource').some((entry) => entry.initiatorType === 'fetch')"
"""True if the page has drawn its charts."""
SECONDS: Final = 600
STEP: Final = 10
MORE: Final = 40
"""Groups without a fault."""
PICTURES: Final = {"overview": ("", 1280, 1500), "group": ("group?name=billing-invoices", 1280, 1290)}
"""Path, width and height in pixels."""


def pictured(now: float) -> Snapshot:
    """Return the demo snapshot of a time, of groups with plain names."""
    snapshot = demo_snapshot(now, more=MORE)
    names = snapshot.groups.column("group").cast(pa.string())
    plain = pc.match_substring_regex(names, r"\A[a-z0-9.-]+\z")
    return dataclasses.replace(snapshot, groups=snapshot.groups.filter(plain), taken_at=now)


def main() -> None:
    """Write all pictures."""
    program = find()
    if program is None:
        raise SystemExit("no Chromium: sandbox/programs/install_browser.sh gets Debian's")
    now = time.time()
    with Served(pictured(now - SECONDS)) as served, Browser(program) as browser:
        for back in range(SECONDS, -1, -STEP):
            served.show(pictured(now - back))
            with urllib.request.urlopen(served.url + "api/v1/groups") as answer:  # noqa: S310 -- a server of this process
                answer.read()
        for name, (path, width, height) in PICTURES.items():
            with browser.page(width=width, height=height) as page:
                page.open(served.url + path)
                page.wait_for(
                    "performance.getEntriesByType('resource').some((entry) => entry.initiatorType === 'fetch')"
                )
                page.wait_for("document.fonts.status === 'loaded'")
                page.picture(FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
