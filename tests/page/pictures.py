"""Takes pictures of the pages: `python -m tests.page.pictures` writes those of the documentation into docs/pictures.

`python -m tests.page.pictures FOLDER` writes them for all pages, both colour schemes and a phone, to look at them after
a change. They show the demo data of the tests after ten minutes of snapshots, without its hostile names.
"""

import dataclasses
import itertools
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel import Snapshot
from tests.page.chromium import Browser, find
from tests.page.demo_data import demo_snapshot
from tests.page.served import Served

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "pictures"
UPDATED: Final = "performance.getEntriesByType('resource').some((entry) => entry.initiatorType === 'fetch')"
"""True if the page has drawn its charts."""
SECONDS: Final = 600
STEP: Final = 10
MORE: Final = 40
"""Groups without a fault."""


@dataclasses.dataclass(frozen=True, slots=True)
class Picture:
    """A page in a window, width and height in pixels."""

    path: str
    width: int
    height: int
    dark: bool = False


PATHS: Final = {"overview": "", "group": "group?name=billing-invoices", "topic": "topic?name=invoices"}
OF_DOCUMENTATION: Final = {
    "overview": Picture(PATHS["overview"], 1280, 1500),
    "group": Picture(PATHS["group"], 1280, 1290),
}
ALL: Final = {
    f"{name}-{width}-{'dark' if dark else 'light'}": Picture(path, width, height, dark)
    for (name, path), (width, height), dark in itertools.product(
        PATHS.items(), ((1440, 2400), (1280, 2400), (390, 2800)), (False, True)
    )
}


def pictured(now: float, end: float) -> Snapshot:
    """Return the demo snapshot of a time, of groups with plain and short names; lags grow until `end`."""
    snapshot = demo_snapshot(now, MORE, end)
    names = snapshot.groups.column("group").cast(pa.string())
    plain = pc.match_substring_regex(names, r"\A[a-z0-9.-]{1,60}\z")
    return dataclasses.replace(snapshot, groups=snapshot.groups.filter(plain), taken_at=now)


def main(arguments: Sequence[str]) -> None:
    """Write the pictures of the documentation, or all into a folder."""
    program = find()
    if program is None:
        raise SystemExit("no Chromium: sandbox/programs/install_browser.sh gets Debian's")
    folder, pictures = (Path(arguments[0]), ALL) if arguments else (FOLDER, OF_DOCUMENTATION)
    folder.mkdir(parents=True, exist_ok=True)
    now = time.time()
    with Served(pictured(now - SECONDS, now)) as served, Browser(program) as browser:
        served.record(pictured(now - back, now) for back in range(SECONDS, 0, -STEP))
        for name, picture in pictures.items():
            served.record([pictured(time.time(), now)])
            with browser.page(width=picture.width, height=picture.height, dark=picture.dark) as page:
                page.open(served.url + picture.path)
                page.wait_for(UPDATED)
                page.wait_for("document.fonts.status === 'loaded'")
                page.picture(folder / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
